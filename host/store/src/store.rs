//! Reading and committing: the database as one process uses it.
//!
//! All writes of a commit (states, records, anchor, spent exceptions, work, the session's head) are one
//! transaction.

use crate::breakers::{self, BreakerChange, Breakers};
use crate::error::{CommitError, StoreError};
use crate::grants::{self, Grant};
use crate::home::{Home, PATIENCE};
use crate::outbox::NewWork;
use crate::past::Past;
use crate::record::{NewRecord, Stored};
use crate::schema::{self, Missing};
use crate::seal::Keys;
use crate::writer::{Overtaken, Writer};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
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
    /// The exceptions that are live and hold for this session. Their time is the reviewer's to check.
    pub grants: Vec<Grant>,
    /// What is known of plugins that failed.
    pub breakers: Breakers,
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
    /// Ids of the exceptions that the review relied on. Those that count once end with this commit; all
    /// of them must still be live.
    pub spend: Vec<String>,
    /// Work to be kept with it.
    pub work: Vec<NewWork>,
    /// What is known from now on of plugins that failed, at most one change for each.
    pub breakers: Vec<BreakerChange>,
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
    /// Opens the home's database, making it where there is none and migrating it where an older version
    /// made it.
    ///
    /// # Errors
    /// The database is damaged, of a newer format, read-only or locked for more than 2 s, or the disk is
    /// full.
    pub fn open(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        Self::open_where(home, durability, Missing::Create)
    }

    /// Opens the home's database where there is one, migrating it where an older version made it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none, or as for [`Store::open`].
    pub fn open_existing(home: &Home, durability: Durability) -> Result<Self, StoreError> {
        Self::open_where(home, durability, Missing::Refuse)
    }

    fn open_where(home: &Home, durability: Durability, missing: Missing) -> Result<Self, StoreError> {
        let keys = Keys::of(home);
        let connection = schema::open(home, &keys, missing)?;
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
    /// The exceptions were changed from outside, or the database cannot be read.
    pub fn snapshot(&self, session: &str, agent: Option<&str>) -> Result<Snapshot, StoreError> {
        snapshot(&self.connection, &self.keys, &self.path, session, agent)
    }

    /// Commits what a review on `snapshot` leaves behind, unless the session moved since.
    ///
    /// # Errors
    /// [`CommitError::Moved`] when it moved, [`CommitError::Spent`] when an exception that the review relied
    /// on is no longer live, [`CommitError::Learned`] when more is known of a plugin: nothing was written. Otherwise as for [`Store::append`].
    pub fn commit(&mut self, snapshot: &Snapshot, commit: Commit) -> Result<Vec<Stored>, CommitError> {
        self.write(|writer| {
            let found = head(&writer.transaction, &snapshot.session_id).map_err(|error| writer.named(&error))?;
            if found != snapshot.head {
                return Err(CommitError::Moved { session: snapshot.session_id.clone(), expected: snapshot.head, found });
            }
            writer.commit(snapshot, commit)?.map_err(|overtaken| match overtaken {
                Overtaken::Grant(id) => CommitError::Spent { id },
                Overtaken::Breaker(plugin) => CommitError::Learned { plugin },
            })
        })
    }

    /// The past steps of an agent; an empty name is the main agent.
    #[must_use]
    pub fn past<'a>(&'a self, session: &'a str, agent: Option<&'a str>) -> Past<'a> {
        Past::new(&self.connection, &self.path, session, agent)
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
        review: impl FnOnce(&Snapshot, &Past<'_>) -> Result<(Commit, T), E>,
    ) -> Result<(Vec<Stored>, T), E> {
        self.write(|writer| {
            let snapshot = snapshot(&writer.transaction, writer.keys, writer.path, session, agent)?;
            let past = Past::new(&writer.transaction, writer.path, session, agent);
            let (commit, value) = review(&snapshot, &past)?;
            drop(past);
            // Nobody else can have ended it, so it never was in the snapshot.
            let foreign = |overtaken| match overtaken {
                Overtaken::Grant(id) => StoreError::BadGrant { id, reason: "it is not live in this session" },
                Overtaken::Breaker(plugin) => StoreError::BadBreaker { plugin, reason: "they are not as the snapshot says" },
            };
            Ok((writer.commit(&snapshot, commit)?.map_err(foreign)?, value))
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
        schema::log_size(&self.path)
    }

    pub(crate) fn named(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, error)
    }

    /// Empties the log if nobody is in the way: it never waits while it holds the lock that hooks need.
    pub(crate) fn empty_log(&mut self) -> rusqlite::Result<bool> {
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
    pub(crate) fn write<T, E: From<StoreError>>(&mut self, body: impl FnOnce(&Writer<'_>) -> Result<T, E>) -> Result<T, E> {
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
pub(crate) const OVERDUE: u64 = 4 << 20;
const COPIES: u32 = 4;

pub(crate) const HEAD: &str = "";
pub(crate) const SESSION: &str = "s";

pub(crate) fn agent_part(agent: Option<&str>) -> String {
    format!("a{}", agent.unwrap_or_default())
}

/// The states are of one view, and so are the exceptions. Those of the two may differ: a commit checks
/// both again.
fn snapshot(connection: &Connection, keys: &Keys, path: &Path, session: &str, agent: Option<&str>) -> Result<Snapshot, StoreError> {
    let mut snapshot = states(connection, session, agent).map_err(|error| StoreError::database(path, &error))?;
    snapshot.grants = grants::live(connection, keys, path)?;
    snapshot.breakers = breakers::all(connection, keys, path)?;
    snapshot.grants.retain(|grant| grant.session.as_deref().is_none_or(|only| only == session));
    Ok(snapshot)
}

fn states(connection: &Connection, session: &str, agent: Option<&str>) -> rusqlite::Result<Snapshot> {
    let agent = agent.filter(|name| !name.is_empty());
    let (session_id, agent_id) = (session.to_owned(), agent.map(str::to_owned));
    let mut snapshot =
        Snapshot { session_id, agent_id, head: 0, session: None, agent: None, grants: Vec::new(), breakers: Breakers::new() };
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
        Commit { session_state: Some(id.as_bytes().repeat(20_000)), records: vec![record], ..Commit::default() }
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
