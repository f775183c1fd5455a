//! The database file: creating and opening it. Its tables are defined in `migrate`.
//!
//! It is created completely under a temporary name in the same folder, and then renamed: an
//! existing journal is complete, and an empty one was damaged.

use crate::chain::Head;
use crate::error::StoreError;
use crate::format::FORMAT;
use crate::home::{Home, PATIENCE};
use crate::mark::Mark;
use crate::migrate;
use crate::seal::Keys;
use portcullis_fs::{Flush, Replacement, sync_folder};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The page size. Small pages keep the log short: a commit rewrites whole pages, and every first
/// opener reads the log.
const PAGE_SIZE: u32 = 2048;

/// The most statements that a connection keeps compiled: more than a review and its commit use.
const STATEMENTS: usize = 32;

/// The action if the database is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// Create one, unless there is evidence that one existed.
    Create,
    /// Create one in any case, because a person wants it.
    Begin,
    /// Fail.
    Refuse,
}

/// Opens the database of a home, and migrates an older one to the current format.
pub(crate) fn open(home: &Home, keys: &Keys, missing: IfMissing) -> Result<Connection, StoreError> {
    let path = home.journal();
    match check_file(&path) {
        Err(StoreError::Missing { .. }) if missing != IfMissing::Refuse => {
            create(home, keys, missing)?
        }
        other => other?,
    }
    let mut connection = connect(&path)?;
    migrate::migrate(home, keys, &mut connection)?;
    Ok(connection)
}

/// Checks that the path is a file with content.
pub(crate) fn check_file(path: &Path) -> Result<(), StoreError> {
    let path_owned = || path.to_owned();
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::Missing { path: path_owned() })
        }
        Err(error) => Err(StoreError::io("read", path, error)),
        Ok(found) if !found.is_file() => {
            Err(StoreError::WrongKind { path: path_owned(), wanted: "file" })
        }
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
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    set_busy_handler(&mut connection).map_err(named)?;
    // The end of a hook must not wait for the disk: maintenance empties the log.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(named)?;
    // A trigger that somebody planted in the file must not run with a commit.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).map_err(named)?;
    // Without it, a statement that could use a partial index is compiled again for each new value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(named)?;
    Ok(connection)
}

/// Sets a timeout for locks, with retries after short pauses: parallel hooks hold them for well
/// under a millisecond.
pub(crate) fn set_busy_handler(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut since = Instant::now();
    connection.busy_handler(Some(move |count: i32| {
        if count == 0 {
            since = Instant::now();
        }
        let patient = since.elapsed() < PATIENCE;
        if patient {
            std::thread::sleep(Duration::from_micros(
                u64::try_from(count).unwrap_or(0).clamp(1, 20) * 100,
            ));
        }
        patient
    }))
}

fn create(home: &Home, keys: &Keys, missing: IfMissing) -> Result<(), StoreError> {
    let _lock = home.lock()?;
    let path = home.journal();
    if path.exists() {
        return Ok(());
    }
    match home.journal_evidence() {
        Some(trace) if missing != IfMissing::Begin => {
            return Err(StoreError::Vanished { path, trace });
        }
        // The mark refers to the journal that existed before.
        _ => Mark::remove(home.path())?,
    }
    let draft = with_suffix(&path, ".new");
    let fail = |error| StoreError::io("create", &path, error);
    // SQLite keeps the mode of an existing file.
    let empty = Replacement::new(&draft, 0o600).under_lock().with_flush(Flush::Nothing);
    empty.write_with(|_| Ok(())).map_err(fail)?;
    // A log that outlived its database would be read as the new one's.
    for left_over in [
        with_suffix(&draft, "-wal"),
        with_suffix(&draft, "-shm"),
        with_suffix(&path, "-wal"),
        with_suffix(&path, "-shm"),
    ] {
        match fs::remove_file(&left_over) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
    }
    fill(&draft, keys).map_err(|error| StoreError::database(&path, &error))?;
    fs::rename(&draft, &path).and_then(|()| sync_folder(home.path())).map_err(fail)?;
    // A process that is killed before this leaves an empty journal, and the next opener writes the
    // mark.
    Mark::of(FORMAT).write(home.path(), keys)
}

fn fill(draft: &Path, keys: &Keys) -> rusqlite::Result<()> {
    let mut connection = Connection::open(draft)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    // Needed so that retention can release pages; it must be set before the first table is created.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    migrate::fill(&mut connection)?;
    let head = Head::EMPTY;
    connection.execute(
        "INSERT INTO anchor (only, sequence, hash, code) VALUES (1, 0, ?1, ?2)",
        params![head.hash, head.mac(keys)],
    )?;
    mark(&connection)?;
    connection.close().map_err(|(_, error)| error)
}

/// Writes the number by which `file` and similar tools recognise our databases: a write that
/// changes nothing.
pub(crate) fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", i32::from_be_bytes(*b"Port"))
}

/// Returns the size of the log next to a database, in bytes.
pub(crate) fn log_size(path: &Path) -> u64 {
    fs::metadata(with_suffix(path, "-wal")).map_or(0, |found| found.len())
}

/// Returns a file's path with a suffix appended.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
