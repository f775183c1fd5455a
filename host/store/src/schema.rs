//! The database file: how it comes to be and how it is opened. Its tables stand in `migrate`.
//!
//! It is made beside its place, in one piece, and renamed: a journal that is there is complete, and one
//! that is empty was damaged.

use crate::chain::Head;
use crate::error::StoreError;
use crate::home::{self, Home, PATIENCE};
use crate::migrate;
use crate::seal::Keys;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Small pages keep the log short: a commit rewrites whole pages, and every first opener reads the log.
const PAGE_SIZE: u32 = 2048;

/// What to do where there is no database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// Opens the database of a home, bringing an older one to our format.
pub(crate) fn open(home: &Home, keys: &Keys, missing: Missing) -> Result<Connection, StoreError> {
    let path = home.journal();
    match check_file(&path) {
        Err(StoreError::Missing { .. }) if missing == Missing::Create => create(home, keys)?,
        other => other?,
    }
    let mut connection = connect(&path)?;
    migrate::migrate(home, &mut connection)?;
    Ok(connection)
}

/// A file is there, with something in it.
pub(crate) fn check_file(path: &Path) -> Result<(), StoreError> {
    let path_owned = || path.to_owned();
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::Missing { path: path_owned() }),
        Err(error) => Err(StoreError::io("read", path, error)),
        Ok(found) if !found.is_file() => Err(StoreError::WrongKind { path: path_owned(), wanted: "file" }),
        Ok(found) if found.len() == 0 => Err(StoreError::corrupt(path, "the file is empty")),
        Ok(_) => Ok(()),
    }
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
    Ok(connection)
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
    let mut connection = Connection::open(draft)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    // So that retention can give pages back; it must stand before the first table.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    migrate::fill(&mut connection)?;
    let head = Head::EMPTY;
    connection.execute("INSERT INTO anchor (only, sequence, hash, mac) VALUES (1, 0, ?1, ?2)", params![head.hash, head.mac(keys)])?;
    mark(&connection)?;
    connection.close().map_err(|(_, error)| error)
}

/// Writes the number by which `file` and the like know our databases: a write that changes nothing.
pub(crate) fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", i32::from_be_bytes(*b"Port"))
}

/// The size of the log beside a database, in bytes.
pub(crate) fn log_size(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |found| found.len())
}

/// The name of a file with something after it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
