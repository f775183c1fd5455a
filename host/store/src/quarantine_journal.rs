//! Quarantines a damaged journal: a person can continue without losing it as evidence.

use crate::error::StoreError;
use crate::home::Home;
use crate::mark::Mark;
use crate::schema::with_suffix;
use portcullis_fs::sync_folder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Renames the home's journal and its log to `journal.db.damaged-<now>`, so that the next opener
/// creates a new one. Returns none if no journal exists. The new journal has no link to the old
/// one: the caller should record the event as its first record.
///
/// A process that has the journal open continues with the renamed one. If this process is killed,
/// the journal is either unchanged or renamed together with its log; in the second case only
/// [`crate::Store::open_or_recreate`] creates the new one, since the home's mark still refers to
/// the old one.
///
/// # Errors
/// Fails if the home's lock was held for more than 2 s, or the system refuses.
pub fn quarantine_journal(home: &Home, now: u64) -> Result<Option<PathBuf>, StoreError> {
    let _lock = home.lock()?;
    let path = home.journal();
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", &path, error)),
        Ok(_) => {}
    }
    let target = free_name(&path, now);
    rename_all(&path, &target)
        .and_then(|()| sync_folder(home.path()))
        .map_err(|error| StoreError::io("rename", &path, error))?;
    Mark::remove(home.path())?;
    Ok(Some(target))
}

/// Returns a free name: a second journal in the same millisecond gets a later one.
fn free_name(path: &Path, now: u64) -> PathBuf {
    let names = (now..).map(|time| with_suffix(path, &format!(".damaged-{time}")));
    let taken = |name: &PathBuf| {
        ["", "-wal", "-shm"].iter().any(|end| fs::symlink_metadata(with_suffix(name, end)).is_ok())
    };
    names.into_iter().find(|name| !taken(name)).unwrap_or_else(|| with_suffix(path, ".damaged"))
}

/// Renames the journal and its log. The log gets its second name before the database moves, because
/// SQLite finds a log only next to its database; the creator of a new database removes the old
/// name.
fn rename_all(path: &Path, target: &Path) -> io::Result<()> {
    let (log, shared) = (with_suffix(path, "-wal"), with_suffix(path, "-shm"));
    let linked = match fs::hard_link(&log, with_suffix(target, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        // A file system may have no hard links: then the log is renamed after its database.
        other => other.is_ok(),
    };
    fs::rename(path, target)?;
    let moved =
        if linked { fs::remove_file(&log) } else { fs::rename(&log, with_suffix(target, "-wal")) };
    // The log's index is rebuilt from the log.
    for outcome in [moved, fs::remove_file(&shared)] {
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
