//! Read-only inspection of the journal, for diagnosing problems with it.
//!
//! Nothing is created, migrated, repaired or checkpointed. The `-shm` file, which SQLite needs to
//! read a log that others may be writing to and which holds no data of its own, may appear next to
//! it. The chain is not followed: [`Store::verify_chain`] does that.

use crate::chain::{JournalStart, SealedStart, StoredAnchor};
use crate::error::StoreError;
use crate::format::{FORMAT, read_format};
use crate::hash::{GENESIS, Hash};
use crate::home::Home;
use crate::mark::{self, Mark, MarkState};
use crate::migrate::SEALS;
use crate::seal::Keys;
use crate::store::Store;
use crate::{breakers, exceptions, schema};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The result of an inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSummary {
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
    /// The beginning of the journal, if retention has removed records.
    pub start: Option<JournalStart>,
    /// Live exceptions, including expired ones until their expiry is noticed.
    pub grants: u64,
    /// Queued work.
    pub work: u64,
    /// Plugins with a failure record.
    pub failed: u64,
    /// The damage that SQLite's quick check reports.
    pub damage: Option<String>,
    /// The reason that this is not the home's own journal, such as being an older copy; none if it
    /// is.
    pub replaced: Option<String>,
}

impl Store {
    /// Inspects the home's journal. Takes some seconds for one of a gigabyte.
    ///
    /// # Errors
    /// Fails if it is missing, damaged, of a newer format, changed from outside, locked for more
    /// than 2 s, or has a log that cannot be read without writing to its folder.
    pub fn inspect_journal(home: &Home) -> Result<JournalSummary, StoreError> {
        let path = home.journal();
        schema::check_file(&path)?;
        let log_size = schema::log_size(&path);
        let outcome = open(&path, log_size)
            .and_then(|connection| look(&connection, &path, &Keys::of(home), log_size));
        match outcome {
            Err(StoreError::ReadOnly { .. }) if log_size == 0 => {
                let connection =
                    open_unchanging(&path).map_err(|error| StoreError::database(&path, &error))?;
                look(&connection, &path, &Keys::of(home), log_size)
            }
            other => other,
        }
    }
}

/// Opens the database. A database without a log is opened as immutable: no other process has it
/// open then, and a normal open would make SQLite create a log.
fn open(path: &Path, log_size: u64) -> Result<Connection, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    if log_size == 0 && !schema::with_suffix(path, "-shm").exists() {
        return open_unchanging(path).map_err(named);
    }
    let mut connection = Connection::open_with_flags(path, FLAGS).map_err(named)?;
    schema::set_busy_handler(&mut connection).map_err(named)?;
    Ok(connection)
}

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Opens only the database for reading, without locks and without its log.
fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, FLAGS | OpenFlags::SQLITE_OPEN_URI)
}

fn look(
    connection: &Connection,
    path: &Path,
    keys: &Keys,
    log_size: u64,
) -> Result<JournalSummary, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let view = connection.unchecked_transaction().map_err(named)?;
    let format = read_format(&view, path)?;
    let number = |sql: &str| -> Result<u64, StoreError> {
        view.query_row(sql, [], |row| row.get(0)).map_err(named)
    };
    let page = number("PRAGMA page_size")?;
    let verdict: String =
        view.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(named)?;
    let newest = "SELECT at FROM journal ORDER BY sequence DESC LIMIT 1";
    let mut facts = JournalSummary {
        format,
        size: fs::metadata(path).map_err(|error| StoreError::io("read", path, error))?.len(),
        log_size,
        free: number("PRAGMA freelist_count")? * page,
        records: number("SELECT count(*) FROM journal")?,
        sessions: number("SELECT count(DISTINCT session) FROM journal")?,
        head: (0, GENESIS),
        newest_at: view.query_row(newest, [], |row| row.get(0)).optional().map_err(named)?,
        start: None,
        grants: 0,
        work: 0,
        failed: 0,
        replaced: None,
        damage: (verdict != "ok").then(|| verdict.replace(['\n', '\r'], " ")),
    };
    let anchored = if format < SEALS {
        StoredAnchor::read_older(&view, format)
    } else {
        StoredAnchor::read(&view)
    };
    let head = StoredAnchor::genuine(anchored.map_err(named)?, keys, path)?;
    facts.head = (head.sequence, head.hash);
    if format > 1 {
        facts.start = SealedStart::read(&view)
            .map_err(named)?
            .map(|sealed| sealed.genuine(keys, path))
            .transpose()?;
        // Those of an older format are checked during the migration.
        facts.grants = number("SELECT count(*) FROM grants WHERE ended IS NULL")?;
        facts.work = number("SELECT count(*) FROM work")?;
    }
    if format > 2 {
        facts.failed = breakers::all_breakers(&view, keys, path)?.len() as u64;
    }
    if format >= SEALS {
        exceptions::live_exceptions(&view, keys, path)?;
    }
    let mark = match path.parent().map(|root| Mark::read(root, keys)).transpose()?.flatten() {
        Some(found) => Some(found),
        // A journal of an older format has no mark yet.
        None => (format == FORMAT && head.sequence > 0).then_some(MarkState::Gone),
    };
    let replaced = mark
        .map(|mark| mark::find_contradiction(mark, &view, &head, format))
        .transpose()
        .map_err(named)?;
    facts.replaced = replaced.flatten().map(str::to_owned);
    Ok(facts)
}
