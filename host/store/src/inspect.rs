//! A look at the journal that leaves it as it is: for finding out what is wrong with it.
//!
//! Nothing is made, migrated, repaired or checkpointed. What SQLite itself needs to read a log that others
//! may be writing to, the `-shm` file, which holds nothing of its own, may appear beside it. The chain is
//! not followed: [`Store::verify`] does.

use crate::chain::{Anchored, Hash, SealedStart, Start};
use crate::error::StoreError;
use crate::home::Home;
use crate::seal::Keys;
use crate::store::Store;
use crate::{breakers, grants, migrate, schema};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a look at the journal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The format of the database; an older one is migrated when it is next opened for work.
    pub format: i64,
    /// Bytes of the database.
    pub size: u64,
    /// Bytes of its log.
    pub log_size: u64,
    /// Bytes of the database that are free for later records.
    pub free: u64,
    /// Records.
    pub records: u64,
    /// Sessions that have records.
    pub sessions: u64,
    /// Position and hash of the newest record, as the anchor names it.
    pub head: (u64, Hash),
    /// The time of the newest record, in milliseconds since 1970.
    pub newest_at: Option<u64>,
    /// Where the journal begins, if retention has removed records.
    pub start: Option<Start>,
    /// Live exceptions, expired ones too until they are found to be.
    pub grants: u64,
    /// Work that waits.
    pub work: u64,
    /// Plugins of whose failures something is known.
    pub failed: u64,
    /// What SQLite's quick check has to say against the database.
    pub damage: Option<String>,
}

impl Store {
    /// Looks at the home's journal. Takes some seconds for one of a gigabyte.
    ///
    /// # Errors
    /// It is missing, damaged, of a newer format, changed from outside, locked for more than 2 s, or holds
    /// a log that cannot be read without writing to its folder.
    pub fn inspect(home: &Home) -> Result<Facts, StoreError> {
        let path = home.journal();
        schema::check_file(&path)?;
        let log_size = schema::log_size(&path);
        let outcome = open(&path, log_size).and_then(|connection| look(&connection, &path, &Keys::of(home), log_size));
        match outcome {
            Err(StoreError::ReadOnly { .. }) if log_size == 0 => {
                let connection = open_unchanging(&path).map_err(|error| StoreError::database(&path, &error))?;
                look(&connection, &path, &Keys::of(home), log_size)
            }
            other => other,
        }
    }
}

/// Where there is no log, no other process has the database open, and SQLite would make one.
fn open(path: &Path, log_size: u64) -> Result<Connection, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    if log_size == 0 && !schema::beside(path, "-shm").exists() {
        return open_unchanging(path).map_err(named);
    }
    let mut connection = Connection::open_with_flags(path, FLAGS).map_err(named)?;
    schema::be_patient(&mut connection).map_err(named)?;
    Ok(connection)
}

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Reads the database alone, without locks and without its log.
fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, FLAGS | OpenFlags::SQLITE_OPEN_URI)
}

fn look(connection: &Connection, path: &Path, keys: &Keys, log_size: u64) -> Result<Facts, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let view = connection.unchecked_transaction().map_err(named)?;
    let format = migrate::format(&view, path)?;
    let number = |sql: &str| -> Result<u64, StoreError> { view.query_row(sql, [], |row| row.get(0)).map_err(named) };
    let page = number("PRAGMA page_size")?;
    let verdict: String = view.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(named)?;
    let newest = "SELECT at FROM journal ORDER BY sequence DESC LIMIT 1";
    let mut facts = Facts {
        format,
        size: fs::metadata(path).map_err(|error| StoreError::io("read", path, error))?.len(),
        log_size,
        free: number("PRAGMA freelist_count")? * page,
        records: number("SELECT count(*) FROM journal")?,
        sessions: number("SELECT count(DISTINCT session) FROM journal")?,
        head: (0, crate::chain::GENESIS),
        newest_at: view.query_row(newest, [], |row| row.get(0)).optional().map_err(named)?,
        start: None,
        grants: 0,
        work: 0,
        failed: 0,
        damage: (verdict != "ok").then(|| verdict.replace(['\n', '\r'], " ")),
    };
    let anchored = if format == 1 { Anchored::read_format_1(&view) } else { Anchored::read(&view) };
    let head = Anchored::genuine(anchored.map_err(named)?, keys, path)?;
    facts.head = (head.sequence, head.hash);
    if format > 1 {
        facts.start = SealedStart::read(&view).map_err(named)?.map(|sealed| sealed.genuine(keys, path)).transpose()?;
        facts.grants = grants::live(&view, keys, path)?.len() as u64;
        facts.work = number("SELECT count(*) FROM work")?;
    }
    if format > 2 {
        facts.failed = breakers::all(&view, keys, path)?.len() as u64;
    }
    Ok(facts)
}
