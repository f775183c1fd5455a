//! Reading and committing: the database as one process uses it.
//!
//! All writes of a commit (states, records, anchor, the session's head) are one transaction.

use crate::chain::{self, Columns, Head, Keys};
use crate::error::{CommitError, StoreError};
use crate::home::{Home, PATIENCE};
use crate::record::{NewRecord, Stored};
use crate::schema;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. A power cut may take the newest commits, never the journal's order.
    #[default]
    Process,
    /// The death of the machine, at the cost of a disk flush for each commit.
    Full,
}

/// A session as it stood when a review began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The session.
    pub session_id: String,
    /// The subagent; none for the main agent.
    pub agent_id: Option<String>,
    /// Counts the session's commits, those of all its agents; 0 for a session not seen before.
    pub head: u64,
    /// The session's state.
    pub session: Option<Vec<u8>>,
    /// The agent's own state; the main agent has one too.
    pub agent: Option<Vec<u8>>,
}

/// What a review leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The session's new state; none keeps the old one.
    pub session_state: Option<Vec<u8>>,
    /// The agent's new state; none keeps the old one.
    pub agent_state: Option<Vec<u8>>,
    /// Records, in order.
    pub records: Vec<NewRecord>,
}

/// The database of a home.
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) keys: Keys,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the home's database, making it where there is none.
    ///
    /// # Errors
    /// The database is damaged, of a newer format, read-only or locked for more than 2 s, or the disk is
    /// full.
    pub fn open(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        let keys = Keys {
            seal: home.derive_key("portcullis 2026 journal record seal"),
            anchor: home.derive_key("portcullis 2026 journal anchor"),
        };
        let connection = schema::open(home, &keys)?;
        let store = Self { connection, path: home.journal(), keys };
        let level = match durability {
            Durability::Process => "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0",
            Durability::Full => "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0",
        };
        store.connection.execute_batch(level).map_err(|error| store.named(&error))?;
        Ok(store)
    }

    /// A session as it stands now. An empty agent name is the main agent.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn snapshot(&self, session: &str, agent: Option<&str>) -> Result<Snapshot, StoreError> {
        snapshot(&self.connection, session, agent).map_err(|error| self.named(&error))
    }

    /// Commits what a review on `snapshot` leaves behind, unless the session moved since.
    ///
    /// # Errors
    /// [`CommitError::Moved`] when it moved: nothing was written. Otherwise as for [`Store::append`].
    pub fn commit(&mut self, snapshot: &Snapshot, commit: Commit) -> Result<Vec<Stored>, CommitError> {
        self.write(|writer| {
            let found = head(&writer.transaction, &snapshot.session_id).map_err(|error| writer.named(&error))?;
            if found != snapshot.head {
                return Err(CommitError::Moved { session: snapshot.session_id.clone(), expected: snapshot.head, found });
            }
            Ok(writer.commit(snapshot, commit)?)
        })
    }

    /// Reviews and commits under the write lock, where nobody can move the session: `review` gets the
    /// snapshot, and other writers wait for it, for at most 2 s.
    ///
    /// # Errors
    /// What `review` fails with, in which case nothing is written, or as for [`Store::append`].
    pub fn commit_locked<T, E: From<StoreError>>(
        &mut self,
        session: &str,
        agent: Option<&str>,
        review: impl FnOnce(&Snapshot) -> Result<(Commit, T), E>,
    ) -> Result<(Vec<Stored>, T), E> {
        self.write(|writer| {
            let snapshot = snapshot(&writer.transaction, session, agent).map_err(|error| writer.named(&error))?;
            let (commit, value) = review(&snapshot)?;
            Ok((writer.commit(&snapshot, commit)?, value))
        })
    }

    /// Appends records that belong to no session.
    ///
    /// # Errors
    /// A record's id is taken or the record cannot be stored; the journal was changed from outside; the
    /// database is damaged, read-only or locked for more than 2 s, or the disk is full. Nothing is
    /// written then.
    pub fn append(&mut self, records: Vec<NewRecord>) -> Result<Vec<Stored>, StoreError> {
        self.write(|writer| writer.append(None, None, records))
    }

    /// Moves the log into the database and empties it. For maintenance: it flushes the disk.
    ///
    /// # Errors
    /// A reader or writer was in the way for more than 2 s, or the database cannot be written.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        let start = Instant::now();
        loop {
            match self.empty_log() {
                Ok(true) => return Ok(()),
                Ok(false) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
                Ok(false) => return Err(StoreError::Busy { path: self.path.clone() }),
                Err(error) => return Err(self.named(&error)),
            }
        }
    }

    /// The log is long enough (512 KiB) that reading it slows the next process down.
    #[must_use]
    pub fn checkpoint_due(&self) -> bool {
        self.log_size() >= DUE
    }

    /// The size of the log that the next process has to read, in bytes.
    #[must_use]
    pub fn log_size(&self) -> u64 {
        fs::metadata(schema::beside(&self.path, "-wal")).map_or(0, |found| found.len())
    }

    pub(crate) fn named(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, error)
    }

    /// Empties the log if nobody is in the way: it never waits while it holds the lock that hooks need.
    fn empty_log(&mut self) -> rusqlite::Result<bool> {
        self.connection.busy_handler(None::<fn(i32) -> bool>)?;
        let outcome = self.copy_and_cut();
        schema::be_patient(&mut self.connection)?;
        outcome
    }

    /// Copies while others go on writing, so that the lock is held for the rest alone.
    fn copy_and_cut(&self) -> rusqlite::Result<bool> {
        let mut copy = self.connection.prepare("PRAGMA wal_checkpoint(PASSIVE)")?;
        for _ in 0..COPIES {
            let (written, copied): (i64, i64) = copy.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?;
            if written == copied {
                break;
            }
        }
        let busy: i64 = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy == 0 {
            // The first frame of an empty log costs a disk flush: better here than in the next hook. If
            // another process is writing it already, that is as good.
            let _first_frame = schema::mark(&self.connection);
        }
        Ok(busy == 0)
    }

    /// Runs one write transaction; an error rolls it back.
    fn write<T, E: From<StoreError>>(&mut self, body: impl FnOnce(&Writer<'_>) -> Result<T, E>) -> Result<T, E> {
        let value = {
            let path = &self.path;
            let named = |error: rusqlite::Error| StoreError::database(path, &error);
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(named)?;
            let writer = Writer { transaction, path, keys: &self.keys };
            let value = body(&writer)?;
            writer.transaction.commit().map_err(named)?;
            value
        };
        self.relieve();
        Ok(value)
    }

    /// Empties a log that maintenance has left to grow, if that can be had without waiting. What was
    /// committed is durable either way, so a failure changes nothing.
    fn relieve(&mut self) {
        if self.log_size() < OVERDUE {
            return;
        }
        let _emptied = self.empty_log();
    }
}

const DUE: u64 = 512 << 10;
const OVERDUE: u64 = 4 << 20;
const COPIES: u32 = 4;

/// A write transaction.
struct Writer<'a> {
    transaction: Transaction<'a>,
    path: &'a Path,
    keys: &'a Keys,
}

impl Writer<'_> {
    fn named(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::database(self.path, error)
    }

    fn commit(&self, snapshot: &Snapshot, commit: Commit) -> Result<Vec<Stored>, StoreError> {
        let agent = snapshot.agent_id.as_deref();
        self.put_states(snapshot, &commit).map_err(|error| self.named(&error))?;
        self.append(Some(&snapshot.session_id), agent, commit.records)
    }

    fn put_states(&self, snapshot: &Snapshot, commit: &Commit) -> rusqlite::Result<()> {
        let mut put = self
            .transaction
            .prepare("INSERT INTO states VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET head = excluded.head, state = excluded.state")?;
        let session = &snapshot.session_id;
        put.execute(params![session, HEAD, snapshot.head.saturating_add(1), None::<&[u8]>])?;
        if let Some(state) = &commit.session_state {
            put.execute(params![session, SESSION, None::<i64>, state])?;
        }
        if let Some(state) = &commit.agent_state {
            put.execute(params![session, agent_part(snapshot.agent_id.as_deref()), None::<i64>, state])?;
        }
        Ok(())
    }

    fn append(&self, session: Option<&str>, agent: Option<&str>, records: Vec<NewRecord>) -> Result<Vec<Stored>, StoreError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let mut head = self.anchor()?;
        let mut insert = self.transaction.prepare(INSERT).map_err(|error| self.named(&error))?;
        let mut stored = Vec::with_capacity(records.len());
        for record in records {
            let (at, step) = checked(&record)?;
            let (previous, sequence) = (head.hash, head.sequence.saturating_add(1));
            let hash = chain::hash(&previous, sequence, record.document.as_bytes());
            let seal = Columns::of(&record, session, agent, at, step).seal(&hash, self.keys);
            let NewRecord { id, kind, call_id, subject, verdict, document, .. } = &record;
            insert
                .execute(params![sequence, id, at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash, seal])
                .map_err(|error| self.refused(&error, id))?;
            head = Head { sequence, hash };
            let (session, agent) = (session.map(str::to_owned), agent.map(str::to_owned));
            stored.push(Stored { sequence, session, agent, record, previous, hash });
        }
        self.move_anchor(&head).map_err(|error| self.named(&error))?;
        Ok(stored)
    }

    /// The journal goes on from its anchor, not from the newest row, so that a cut-off end stays visible
    /// as a gap.
    fn anchor(&self) -> Result<Head, StoreError> {
        match read_anchor(&self.transaction).map_err(|error| self.named(&error))? {
            Some((head, mac)) if head.holds(&mac, self.keys) => Ok(head),
            Some(_) => Err(StoreError::tampered(self.path, "its anchor does not match the home's key")),
            None => Err(StoreError::tampered(self.path, "its anchor is missing")),
        }
    }

    fn move_anchor(&self, head: &Head) -> rusqlite::Result<()> {
        self.transaction
            .execute("UPDATE anchor SET sequence = ?1, hash = ?2, mac = ?3", params![head.sequence, head.hash, head.mac(self.keys)])?;
        Ok(())
    }

    fn refused(&self, error: &rusqlite::Error, id: &str) -> StoreError {
        match error.sqlite_error().map(|failure| failure.extended_code) {
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE) => StoreError::DuplicateId { id: id.to_owned() },
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => StoreError::tampered(self.path, "it has records after its anchor"),
            Some(rusqlite::ffi::SQLITE_TOOBIG) => {
                StoreError::BadRecord { id: id.to_owned(), reason: "it is larger than the database takes" }
            }
            _ => self.named(error),
        }
    }
}

const INSERT: &str = "INSERT INTO journal \
    (sequence, id, at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash, seal) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

const HEAD: &str = "";
const SESSION: &str = "s";

fn agent_part(agent: Option<&str>) -> String {
    format!("a{}", agent.unwrap_or_default())
}

/// One statement, so one view of the session.
fn snapshot(connection: &Connection, session: &str, agent: Option<&str>) -> rusqlite::Result<Snapshot> {
    let agent = agent.filter(|name| !name.is_empty());
    let mut snapshot = Snapshot { session_id: session.to_owned(), agent_id: agent.map(str::to_owned), head: 0, session: None, agent: None };
    let mut parts = connection.prepare("SELECT part, head, state FROM states WHERE session = ?1 AND part IN ('', 's', ?2)")?;
    let mut rows = parts.query(params![session, agent_part(agent)])?;
    while let Some(row) = rows.next()? {
        match row.get_ref(0)?.as_str()? {
            HEAD => snapshot.head = row.get(1)?,
            SESSION => snapshot.session = row.get(2)?,
            _ => snapshot.agent = row.get(2)?,
        }
    }
    Ok(snapshot)
}

fn head(connection: &Connection, session: &str) -> rusqlite::Result<u64> {
    let found = connection.query_row("SELECT head FROM states WHERE session = ?1 AND part = ''", [session], |row| row.get(0));
    Ok(found.optional()?.unwrap_or(0))
}

/// The anchor and its code, unchecked.
pub(crate) fn read_anchor(connection: &Connection) -> rusqlite::Result<Option<(Head, chain::Hash)>> {
    connection
        .query_row("SELECT sequence, hash, mac FROM anchor", [], |row| Ok((Head { sequence: row.get(0)?, hash: row.get(1)? }, row.get(2)?)))
        .optional()
}

fn checked(record: &NewRecord) -> Result<(i64, Option<i64>), StoreError> {
    let bad = |reason| StoreError::BadRecord { id: record.id.clone(), reason };
    if record.id.is_empty() || record.kind.is_empty() {
        return Err(bad("it needs an id and a kind"));
    }
    let at = i64::try_from(record.at).map_err(|_| bad("its time is beyond the year 292 million: give milliseconds"))?;
    let step = record.step.map(i64::try_from).transpose().map_err(|_| bad("its step is beyond 2^63"))?;
    Ok((at, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let store = Store::open(&home, Durability::Process).unwrap();
        (folder, store)
    }

    fn large(id: &str) -> Commit {
        let record = NewRecord { id: id.into(), kind: "review".into(), document: "x".repeat(50_000), ..NewRecord::default() };
        Commit { session_state: Some(id.as_bytes().repeat(20_000)), agent_state: None, records: vec![record] }
    }

    fn put(store: &mut Store, id: &str) -> Result<Vec<Stored>, CommitError> {
        store.commit(&store.snapshot("s", None)?, large(id))
    }

    #[test]
    fn a_write_that_fails_leaves_the_store_as_it_was() {
        let table: [(&str, &str, &str); 2] = [
            ("PRAGMA max_page_count = 60", "PRAGMA max_page_count = 1000000", "no room left to write"),
            ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "is read-only: make it"),
        ];
        for (fail, mend, message) in table {
            let (_folder, mut store) = place();
            put(&mut store, "first").unwrap();
            let before = store.snapshot("s", None).unwrap();
            // The first of them answers with a row.
            store.connection.prepare(fail).unwrap().query([]).unwrap().next().unwrap();
            let error = put(&mut store, "second").unwrap_err().to_string();
            assert!(error.contains(message), "{fail}: {error}");
            assert_eq!(store.snapshot("s", None).unwrap(), before, "{fail}");
            assert_eq!(store.verify(|_| {}).unwrap().first_bad, None, "{fail}");
            store.connection.prepare(mend).unwrap().query([]).unwrap().next().unwrap();
            assert_eq!(put(&mut store, "second").unwrap()[0].sequence, 2, "{fail}");
        }
    }

    #[test]
    fn durability_sets_what_sqlite_flushes() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        for (durability, level) in [(Durability::Process, 1), (Durability::Full, 2)] {
            let store = Store::open(&home, durability).unwrap();
            let pragma = |name: &str| store.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!((pragma("synchronous"), pragma("wal_autocheckpoint")), (level, 0));
        }
    }
}
