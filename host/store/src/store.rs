//! The database as one process uses it: opened, written in transactions, and its log emptied.

use crate::chain::{Head, StoredAnchor};
use crate::error::StoreError;
use crate::format::{FORMAT, read_format};
use crate::home::{self, Home, PATIENCE};
use crate::mark::{self, Mark, MarkState};
use crate::record::{NewRecord, StoredRecord};
use crate::schema::{self, IfMissing};
use crate::seal::Keys;
use crate::shared_commits::{CommitBody, CommitResult, CommitTarget, SharedCommits, commit_each};
use crate::writer::Writer;
use rusqlite::{Connection, TransactionBehavior};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The failures that a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. A power cut may take the newest commits, never the journal's
    /// order.
    #[default]
    Process,
    /// The death of the machine, at the cost of a disk flush for each commit.
    Full,
}

/// The database of a home.
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) keys: Keys,
    /// The home's mark of its journal.
    pub(crate) mark: MarkState,
    /// The identity of the open file, regardless of its current name.
    file: Option<(u64, u64)>,
    durability: Durability,
    /// The stores of this process that it commits together with; none if it commits alone.
    shared: Option<SharedCommits>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the home's database; creates it if there never was one, and migrates it if an older
    /// version created it.
    ///
    /// # Errors
    /// Fails with [`StoreError::Vanished`] if the database is missing although the home has had
    /// one, or if the database is damaged, of a newer format, read-only or locked for more than 2
    /// s, or the disk is full.
    pub fn open_database(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        Self::open_where(home, durability, IfMissing::Create)
    }

    /// Opens the home's database and creates it if it is missing, even if the home has had one: for
    /// a person who wants a new one.
    ///
    /// # Errors
    /// Fails in the same cases as [`Store::open_database`], except for [`StoreError::Vanished`].
    pub fn open_or_recreate(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        Self::open_where(home, durability, IfMissing::Begin)
    }

    /// Opens the home's database if it exists, and migrates it if an older version created it.
    ///
    /// # Errors
    /// Fails with [`StoreError::Missing`] if it does not exist, and in the same cases as
    /// [`Store::open_database`].
    pub fn open_existing(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        Self::open_where(home, durability, IfMissing::Refuse)
    }

    fn open_where(
        home: &Home,
        durability: Durability,
        missing: IfMissing,
    ) -> Result<Self, StoreError> {
        let keys = Keys::of(home);
        let connection = schema::open(home, &keys, missing)?;
        let mark = mark::ensure_mark(home, &keys, FORMAT, &connection)?;
        let file = identity(&home.journal());
        let path = home.journal();
        let store = Self { connection, path, keys, mark, file, durability, shared: None };
        let level = match durability {
            // SQLite's own checkpoints would make some commit of a hook wait for the disk.
            Durability::Process => "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0",
            Durability::Full => "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0",
        };
        store.connection.execute_batch(level).map_err(|error| store.named(&error))?;
        Ok(store)
    }

    /// Prepares a store that this process keeps for another review: what opening it would find out
    /// is found out again. Returns false if the home's database has to be opened instead, since the
    /// file, the home's key or the format is another one by now.
    ///
    /// # Errors
    /// Fails if the home's mark cannot be read.
    pub fn renew(&mut self, home: &Home) -> Result<bool, StoreError> {
        let is_same = home.journal() == self.path
            && identity(&self.path) == self.file
            && self.file.is_some()
            && self.keys.are_of(home)
            && schema::check_file(&self.path).is_ok();
        if !is_same || read_format(&self.connection, &self.path)? != FORMAT {
            return Ok(false);
        }
        self.mark = mark::ensure_mark(home, &self.keys, FORMAT, &self.connection)?;
        Ok(true)
    }

    /// Lets its reviews commit together with those of other stores.
    pub fn share_commits(&mut self, shared: &SharedCommits) {
        self.shared = Some(shared.clone());
    }

    /// Returns the crashes that its commits survive.
    #[must_use]
    pub const fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the path of its file.
    #[must_use]
    pub fn journal(&self) -> &Path {
        &self.path
    }

    /// Appends records that belong to no session.
    ///
    /// # Errors
    /// Fails if a record's id is taken or the record cannot be stored, the journal was changed from
    /// outside, the database is damaged, read-only or locked for more than 2 s, or the disk is
    /// full. Nothing is written then.
    pub fn append_records(
        &mut self,
        records: Vec<NewRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.write(|writer| writer.append(None, None, records))
    }

    /// Moves the log into the database and empties it. For maintenance: it flushes the disk.
    ///
    /// # Errors
    /// Fails if a reader or writer blocked it for more than 2 s, or the database cannot be written.
    pub fn checkpoint_log(&mut self) -> Result<(), StoreError> {
        let start = Instant::now();
        while !self.try_checkpoint_log()? {
            if start.elapsed() >= PATIENCE {
                return Err(StoreError::Busy { path: self.path.clone() });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Moves the log into the database and empties it, unless another connection uses it just now;
    /// returns false in that case. Never waits for others, but flushes the disk.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub fn try_checkpoint_log(&mut self) -> Result<bool, StoreError> {
        // This record is on disk once the log is empty; one that is committed meanwhile may not be.
        let durable = StoredAnchor::read(&self.connection).map_err(|error| self.named(&error))?;
        let is_empty = self.empty_log().map_err(|error| self.named(&error))?;
        if is_empty {
            self.remember(durable)?;
        }
        Ok(is_empty)
    }

    /// Updates the home's mark to a record that is on disk by now. If the mark is invalid, or this
    /// is not the home's own journal, the mark stays unchanged.
    fn remember(&mut self, durable: Option<StoredAnchor>) -> Result<(), StoreError> {
        let Some(head) =
            durable.filter(|anchored| anchored.holds(&self.keys)).map(|anchored| anchored.head)
        else {
            return Ok(());
        };
        let contradicted = mark::find_contradiction(self.mark, &self.connection, &head, FORMAT)
            .map_err(|error| self.named(&error))?;
        if contradicted.is_some() { Ok(()) } else { self.put_mark(&head, Mark::is_before) }
    }

    /// Accepts the journal as the home's own, for example one that a person restored from a backup.
    ///
    /// # Errors
    /// Fails if its anchor is invalid, or the mark cannot be written.
    pub fn accept_state(&mut self) -> Result<(), StoreError> {
        let anchored = StoredAnchor::read(&self.connection).map_err(|error| self.named(&error))?;
        let head = StoredAnchor::genuine(anchored, &self.keys, &self.path)?;
        self.put_mark(&head, |_, _| true)
    }

    fn put_mark(
        &mut self,
        head: &Head,
        unless: impl FnOnce(&Mark, &Mark) -> bool,
    ) -> Result<(), StoreError> {
        let Some(root) = self.path.parent() else { return Ok(()) };
        let _lock = home::lock(root)?;
        let mark = Mark { format: FORMAT, sequence: head.sequence, hash: head.hash };
        let overtaken = matches!(Mark::read(root, &self.keys)?, Some(MarkState::Mark(found)) if !unless(&found, &mark));
        // Another journal may have taken its place by now.
        if overtaken || identity(&self.path) != self.file {
            return Ok(());
        }
        mark.write(root, &self.keys)?;
        self.mark = MarkState::Mark(mark);
        Ok(())
    }

    /// Returns true if the log is so long (512 KiB) that reading it slows the next process down.
    #[must_use]
    pub fn checkpoint_due(&self) -> bool {
        self.log_size() >= DUE
    }

    /// Returns the size of the log that the next process has to read, in bytes.
    #[must_use]
    pub fn log_size(&self) -> u64 {
        schema::log_size(&self.path)
    }

    pub(crate) fn named(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, error)
    }

    /// Empties the log if no other process blocks it: it never waits while it holds the lock that
    /// hooks need.
    pub(crate) fn empty_log(&mut self) -> rusqlite::Result<bool> {
        self.connection.busy_handler(None::<fn(i32) -> bool>)?;
        let outcome = self.copy_and_cut();
        schema::set_busy_handler(&mut self.connection)?;
        outcome
    }

    /// Copies while others continue to write, so that the lock is held only for the rest.
    fn copy_and_cut(&self) -> rusqlite::Result<bool> {
        let mut copy = self.connection.prepare("PRAGMA wal_checkpoint(PASSIVE)")?;
        for _ in 0..COPIES {
            let (written, copied): (i64, i64) =
                copy.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?;
            if written == copied {
                break;
            }
        }
        let busy: i64 =
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 {
            // The first frame of an empty log costs a disk flush: better here than in the next
            // hook. If another process is writing it already, that is just as good.
            let _first_frame = schema::mark(&self.connection);
        }
        Ok(busy == 0)
    }

    /// Runs one write transaction; an error rolls it back.
    pub(crate) fn write<T, E: From<StoreError>>(
        &mut self,
        body: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let value = {
            let path = &self.path;
            let named = |error: rusqlite::Error| StoreError::database(path, &error);
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(named)?;
            let writer = Writer { transaction, path, keys: &self.keys, mark: Some(self.mark) };
            let value = body(&writer)?;
            writer.transaction.commit().map_err(named)?;
            value
        };
        self.relieve();
        Ok(value)
    }

    /// Makes the commit of a review: together with those of other stores that wait, if this one
    /// shares its commits.
    pub(crate) fn write_commit(&mut self, commit: CommitBody) -> CommitResult {
        match (self.shared.clone(), self.commit_target()) {
            (Some(shared), Some(target)) => {
                shared.commit(&target, commit, |commits| self.write_bodies(commits))
            }
            _ => self.write(commit),
        }
    }

    /// Returns the journal that it commits to; none if its file has no identity.
    pub(crate) fn commit_target(&self) -> Option<CommitTarget> {
        Some(CommitTarget {
            path: self.path.clone(),
            file: self.file?,
            flushes: self.durability == Durability::Full,
            key: self.keys.anchor,
            mark: self.mark,
        })
    }

    /// Makes commits in one transaction; returns the result of each.
    pub(crate) fn write_bodies(
        &mut self,
        commits: Vec<CommitBody>,
    ) -> Result<Vec<CommitResult>, StoreError> {
        match <[CommitBody; 1]>::try_from(commits) {
            Ok([commit]) => Ok(vec![self.write(commit)]),
            Err(commits) => self.write(|writer| commit_each(writer, commits)),
        }
    }

    /// Empties a log that maintenance has let grow, if that is possible without waiting. Commits
    /// are durable either way, so a failure changes nothing.
    fn relieve(&mut self) {
        if self.log_size() < OVERDUE {
            return;
        }
        let _emptied = self.empty_log();
    }
}

const DUE: u64 = 512 << 10;
pub(crate) const OVERDUE: u64 = 4 << 20;
const COPIES: u32 = 4;

/// Returns the values that distinguish a file from another one with the same name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::Commit;
    use crate::error::CommitError;

    fn place() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let store = Store::open_database(&home, Durability::Process).unwrap();
        (folder, store)
    }

    fn large(id: &str) -> Commit {
        let record = NewRecord {
            id: id.into(),
            kind: "review".into(),
            document: "x".repeat(50_000),
            ..NewRecord::default()
        };
        Commit {
            session_state: Some(id.as_bytes().repeat(20_000)),
            records: vec![record],
            ..Commit::default()
        }
    }

    fn put(store: &mut Store, id: &str) -> Result<Vec<StoredRecord>, CommitError> {
        store.commit_review(&store.take_snapshot("s", None)?, large(id))
    }

    #[test]
    fn a_write_that_fails_leaves_the_store_as_it_was() {
        let table: [(&str, &str, &str); 2] = [
            (
                "PRAGMA max_page_count = 60",
                "PRAGMA max_page_count = 1000000",
                "no room left to write",
            ),
            ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "is read-only: make it"),
        ];
        for (fail, fix, message) in table {
            let (_folder, mut store) = place();
            put(&mut store, "first").unwrap();
            let before = store.take_snapshot("s", None).unwrap();
            // The first of them answers with a row.
            store.connection.prepare(fail).unwrap().query([]).unwrap().next().unwrap();
            let error = put(&mut store, "second").unwrap_err().to_string();
            assert!(error.contains(message), "{fail}: {error}");
            assert_eq!(store.take_snapshot("s", None).unwrap(), before, "{fail}");
            assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, None, "{fail}");
            store.connection.prepare(fix).unwrap().query([]).unwrap().next().unwrap();
            assert_eq!(put(&mut store, "second").unwrap()[0].sequence, 2, "{fail}");
        }
    }

    /// A service keeps its statements; one that SQLite compiles again each time costs as much as the
    /// rest of a snapshot.
    #[test]
    fn what_a_review_reads_is_compiled_once() {
        let (_folder, store) = place();
        for session in ["one", "two", "three", "four"] {
            store.take_snapshot(session, None).unwrap();
            let history = store.session_history(session, None);
            history.step_records(1).unwrap();
            history.step_hashes(1).unwrap();
        }
        for sql in [crate::sessions::BUCKET, crate::past::RECORDS, crate::past::HASHES] {
            let statement = store.connection.prepare_cached(sql).unwrap();
            let count = |status| statement.get_status(status);
            assert_eq!(count(rusqlite::StatementStatus::Run), 4, "{sql}");
            assert_eq!(count(rusqlite::StatementStatus::RePrepare), 0, "{sql}");
        }
    }

    #[test]
    fn durability_sets_what_sqlite_flushes() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        for (durability, level) in [(Durability::Process, 1), (Durability::Full, 2)] {
            let store = Store::open_database(&home, durability).unwrap();
            let pragma = |name: &str| {
                store
                    .connection
                    .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
                    .unwrap()
            };
            assert_eq!((pragma("synchronous"), pragma("wal_autocheckpoint")), (level, 0));
        }
    }
}
