//! The database's formats, and the way from an older one to ours.
//!
//! The number of the format stands in `user_version`. A step to the next format is one transaction, so
//! whoever is killed leaves the old format or the new one, each whole. A new database goes the same way,
//! from format 1 up, so that there is one description of each table.
//!
//! Formats 2 and 3 only add: a process of a version before, that had the database open while it was migrated,
//! still commits what a reader of ours takes.

use crate::error::StoreError;
use crate::home::Home;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// The newest format that this version reads and the only one it writes.
pub(crate) const FORMAT: i64 = 3;

/// In `states`, the part '' holds a session's head, 's' its state, 'a' and a name an agent's; they are
/// one table so that a commit touches one leaf.
const FORMAT_1: &str = "
CREATE TABLE states (
    session TEXT NOT NULL, part TEXT NOT NULL, head INTEGER, state BLOB,
    PRIMARY KEY (session, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    session TEXT, agent TEXT, step INTEGER, call_id TEXT, subject TEXT NOT NULL, verdict TEXT,
    document TEXT NOT NULL, previous BLOB NOT NULL, hash BLOB NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX journal_id ON journal (id);
CREATE INDEX journal_step ON journal (session, agent, step) WHERE session IS NOT NULL;
CREATE INDEX journal_call ON journal (session, call_id) WHERE call_id IS NOT NULL;
CREATE TABLE anchor (
    only INTEGER PRIMARY KEY CHECK (only = 1), sequence INTEGER NOT NULL, hash BLOB NOT NULL, mac BLOB NOT NULL
) STRICT;
";

/// Where the journal begins once retention has removed records, exceptions, and work that waits. An anchor
/// without live exceptions is one of format 1.
const FORMAT_2: &str = "
ALTER TABLE anchor ADD COLUMN grants BLOB NOT NULL DEFAULT x'';
CREATE TABLE start (
    only INTEGER PRIMARY KEY CHECK (only = 1), sequence INTEGER NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL,
    pruned_at INTEGER NOT NULL, mac BLOB NOT NULL
) STRICT;
CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY, session TEXT, once INTEGER NOT NULL, granted_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    document TEXT NOT NULL, ended TEXT, ended_at INTEGER, seal BLOB NOT NULL
) STRICT;
CREATE INDEX grants_live ON grants (id) WHERE ended IS NULL;
CREATE TABLE work (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL,
    last_error TEXT, document TEXT NOT NULL, seal BLOB NOT NULL,
    UNIQUE (kind, key)
) STRICT;
CREATE INDEX work_due ON work (due_at);
";

/// What is known of plugins that failed.
const FORMAT_3: &str = "
CREATE TABLE breakers (
    plugin TEXT NOT NULL PRIMARY KEY, document TEXT NOT NULL, seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What each format adds to the one before it.
const STEPS: &[&str] = &[FORMAT_1, FORMAT_2, FORMAT_3];

/// Brings an empty database to our format.
pub(crate) fn fill(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    STEPS.iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// The format of a database, where it is one of ours.
pub(crate) fn format(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    match connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|error| StoreError::database(path, &error))? {
        found @ 1..=FORMAT => Ok(found),
        0 => Err(StoreError::corrupt(path, "it is a database of something else")),
        found if found > FORMAT => Err(StoreError::Newer { path: path.to_owned(), found, supported: FORMAT }),
        found => Err(StoreError::corrupt(path, format!("there is no format {found}"))),
    }
}

/// Brings an older database of ours to our format, unless another process does it first.
pub(crate) fn migrate(home: &Home, connection: &mut Connection) -> Result<(), StoreError> {
    let path = home.journal();
    if format(connection, &path)? == FORMAT {
        return Ok(());
    }
    let _lock = home.lock()?;
    step(connection, &path)
}

fn step(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(named)?;
    // Another process may have been faster.
    let done = usize::try_from(format(&transaction, path)?).unwrap_or_default();
    STEPS.iter().skip(done).try_for_each(|step| transaction.execute_batch(step)).map_err(named)?;
    transaction.pragma_update(None, "user_version", FORMAT).map_err(named)?;
    transaction.commit().map_err(named)
}
