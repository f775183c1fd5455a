//! The database's formats, and the migration from an older one to the current one.
//!
//! The format's number is stored in `user_version`. A step to the next format is one transaction,
//! so a killed process leaves either the old format or the new one, each complete. A new database
//! goes through the same steps, from format 1 up, so that each table is described only once.
//!
//! Formats 2, 3, 5 and 6 only add tables, and format 7 only adds columns: a process of an earlier version that had the database open
//! during the migration can still make commits that current readers accept. Format 4 seals the
//! states, which such a process cannot do, so it renames the tables that each commit writes to:
//! such a process then fails, and its action is refused.
//!
//! Format 4 seals states as it finds them. A change made before that is sealed too; the migration
//! leaves work for the journal that records the sealing, in the same transaction.

use crate::error::StoreError;
use crate::format::{FORMAT, read_format};
use crate::home::Home;
use crate::mark::{Mark, MarkState};
use crate::seal::Keys;
use crate::sessions;
use crate::work::NewWork;
use crate::writer::Writer;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// The kind of the work that a migration leaves: a record that states were sealed as they were
/// found.
pub const SEALED: &str = "states-sealed";

/// In `states`, the part '' holds a session's head, 's' its state, 'a' and a name an agent's; they
/// are one table so that a commit touches one leaf.
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

/// The tables of the journal's start after retention, of exceptions, and of queued work. An anchor
/// without live exceptions is the same as in format 1.
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

/// The failure records of plugins.
const FORMAT_3: &str = "
CREATE TABLE breakers (
    plugin TEXT NOT NULL PRIMARY KEY, document TEXT NOT NULL, seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// The seals of the states that count for each session: see `sessions`. The heads move out of
/// `states`.
const FORMAT_4: &str = "
CREATE TABLE heads (
    bucket INTEGER NOT NULL, session TEXT NOT NULL, seal BLOB NOT NULL, head INTEGER NOT NULL, parts BLOB NOT NULL,
    PRIMARY KEY (bucket, session)
) STRICT, WITHOUT ROWID;
ALTER TABLE states RENAME COLUMN head TO written;
ALTER TABLE anchor RENAME COLUMN mac TO code;
ALTER TABLE anchor ADD COLUMN sessions BLOB NOT NULL DEFAULT x'';
";
/// The first format whose states are sealed.
pub(crate) const SEALS: i64 = 4;

/// The actions that wait for a person.
const FORMAT_5: &str = "
CREATE TABLE approvals (
    id TEXT NOT NULL PRIMARY KEY, session TEXT NOT NULL, digest TEXT NOT NULL, asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, document TEXT NOT NULL, state TEXT NOT NULL, ended_at INTEGER,
    reason TEXT NOT NULL, seal BLOB NOT NULL
) STRICT;
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';
";

/// The cursors of exports.
const FORMAT_6: &str = "
CREATE TABLE exports (
    name TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, hash BLOB NOT NULL, document TEXT NOT NULL,
    seal BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What a record that is stored encrypted has in place of its document: the number of its key, the
/// commitment to the document, and the ciphertext; after an erasure, the hash of the ciphertext and the
/// time. The key's number stands before the ciphertext, so that reading all numbers reads no ciphertext.
const FORMAT_7: &str = "
ALTER TABLE journal ADD COLUMN key INTEGER;
ALTER TABLE journal ADD COLUMN commitment BLOB;
ALTER TABLE journal ADD COLUMN erased_at INTEGER;
ALTER TABLE journal ADD COLUMN sealed BLOB;
";

/// The additions of each format to the one before it.
const STEPS: &[&str] = &[FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, FORMAT_6, FORMAT_7];

/// Brings an empty database to the current format.
pub(crate) fn fill(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    STEPS.iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Migrates an older database to the current format, unless another process does it first.
pub(crate) fn migrate(
    home: &Home,
    keys: &Keys,
    connection: &mut Connection,
) -> Result<(), StoreError> {
    let path = home.journal();
    if read_format(connection, &path)? == FORMAT {
        return Ok(());
    }
    let _lock = home.lock()?;
    let found = read_format(connection, &path)?;
    match Mark::read(home.path(), keys)? {
        // Sealing a planted database would make it look genuine.
        Some(MarkState::Mark(mark)) if mark.format > found => {
            let reason = "its format is older than the one this home migrated it to: an older copy \
                 was put in its place";
            return Err(StoreError::tampered(&path, reason));
        }
        Some(_) => {}
        // A process that is killed during the migration leaves a mark that fits either format.
        None => Mark::of(found).write(home.path(), keys)?,
    }
    step(connection, keys, &path)
}

fn step(connection: &mut Connection, keys: &Keys, path: &Path) -> Result<(), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(named)?;
    // Another process may have been faster.
    let found = read_format(&transaction, path)?;
    let done = usize::try_from(found).unwrap_or_default();
    STEPS.iter().skip(done).try_for_each(|step| transaction.execute_batch(step)).map_err(named)?;
    transaction.pragma_update(None, "user_version", FORMAT).map_err(named)?;
    let writer = Writer { transaction, path, keys, mark: None };
    if found < SEALS {
        let sessions = sessions::seal_all(&writer.transaction, keys).map_err(named)?;
        writer.enqueue(&NewWork {
            kind: SEALED.to_owned(),
            document: sessions.to_string(),
            ..NewWork::default()
        })?;
    }
    writer.transaction.commit().map_err(named)
}
