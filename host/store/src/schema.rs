//! The database file: its tables, how it comes to be and how it is opened.
//!
//! It is made beside its place, in one piece, and renamed: a journal that is there is complete, and one
//! that is empty was damaged.

use crate::chain::{Head, Keys};
use crate::error::StoreError;
use crate::home::{self, Home, PATIENCE};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The newest format that this version reads, kept in `user_version`.
pub(crate) const FORMAT: i64 = 1;

/// Small pages keep the log short: a commit rewrites whole pages, and every first opener reads the log.
const PAGE_SIZE: u32 = 2048;

/// In `states`, the part '' holds a session's head, 's' its state, 'a' and a name an agent's; they are
/// one table so that a commit touches one leaf.
const TABLES: &str = "
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

/// Opens the database of a home, making it first where there is none.
pub(crate) fn open(home: &Home, keys: &Keys) -> Result<Connection, StoreError> {
    let path = home.journal();
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(home, keys)?,
        Err(error) => return Err(StoreError::io("read", &path, error)),
        Ok(found) if !found.is_file() => return Err(StoreError::WrongKind { path, wanted: "file" }),
        Ok(found) if found.len() == 0 => return Err(StoreError::corrupt(&path, "the file is empty")),
        Ok(_) => {}
    }
    connect(&path)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(named)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(named)? {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    be_patient(&mut connection).map_err(named)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(named)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(named)?;
    match connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(named)? {
        FORMAT => Ok(connection),
        0 => Err(StoreError::corrupt(path, "it is a database of something else")),
        found if found > FORMAT => Err(StoreError::Newer { path: path.to_owned(), found, supported: FORMAT }),
        found => Err(StoreError::corrupt(path, format!("there is no format {found}"))),
    }
}

/// Waits for locks in short steps: parallel hooks hold them for well under a millisecond.
pub(crate) fn be_patient(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut since = Instant::now();
    connection.busy_handler(Some(move |count: i32| {
        if count == 0 {
            since = Instant::now();
        }
        let patient = since.elapsed() < PATIENCE;
        if patient {
            std::thread::sleep(Duration::from_micros(u64::try_from(count).unwrap_or(0).clamp(1, 20) * 100));
        }
        patient
    }))
}

fn create(home: &Home, keys: &Keys) -> Result<(), StoreError> {
    let _lock = home.lock()?;
    let path = home.journal();
    if path.exists() {
        return Ok(());
    }
    let draft = beside(&path, ".new");
    let fail = |error| StoreError::io("create", &path, error);
    home::private_file(&draft).map_err(fail)?;
    // A log that outlived its database would be taken for the new one's.
    for left_over in [beside(&draft, "-wal"), beside(&draft, "-shm"), beside(&path, "-wal"), beside(&path, "-shm")] {
        match fs::remove_file(&left_over) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
    }
    fill(&draft, keys).map_err(|error| StoreError::database(&path, &error))?;
    fs::rename(&draft, &path).and_then(|()| home::sync_folder(home.path())).map_err(fail)
}

fn fill(draft: &Path, keys: &Keys) -> rusqlite::Result<()> {
    let connection = Connection::open(draft)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(TABLES)?;
    let head = Head::EMPTY;
    connection.execute("INSERT INTO anchor VALUES (1, 0, ?1, ?2)", params![head.hash, head.mac(keys)])?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    mark(&connection)?;
    connection.close().map_err(|(_, error)| error)
}

/// Writes the number by which `file` and the like know our databases: a write that changes nothing.
pub(crate) fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", i32::from_be_bytes(*b"Port"))
}

/// The name of a file with something after it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
