//! Putting a journal aside: a person's way on when it is damaged, without losing it as evidence.

use crate::error::StoreError;
use crate::home::{Home, sync_folder};
use crate::schema::beside;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Renames the home's journal and its log to `journal.db.damaged-<now>`, so that the next opener makes a
/// new one. None when there is no journal. The new journal knows nothing of the old one: its first record
/// should say what happened, and that is the caller's to write.
///
/// A process that has the journal open goes on with the one that was put aside. Whoever is killed leaves
/// the journal in its place, or put aside with its log.
///
/// # Errors
/// The home's lock was held for more than 2 s, or the system refuses.
pub fn set_aside(home: &Home, now: u64) -> Result<Option<PathBuf>, StoreError> {
    let _lock = home.lock()?;
    let path = home.journal();
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", &path, error)),
        Ok(_) => {}
    }
    let target = free_name(&path, now);
    rename_all(&path, &target).and_then(|()| sync_folder(home.path())).map_err(|error| StoreError::io("rename", &path, error))?;
    Ok(Some(target))
}

/// A second one in the same millisecond gets a later name.
fn free_name(path: &Path, now: u64) -> PathBuf {
    let names = (now..).map(|time| beside(path, &format!(".damaged-{time}")));
    let taken = |name: &PathBuf| ["", "-wal", "-shm"].iter().any(|end| fs::symlink_metadata(beside(name, end)).is_ok());
    names.into_iter().find(|name| !taken(name)).unwrap_or_else(|| beside(path, ".damaged"))
}

/// The log gets its second name before the database moves: SQLite finds it only beside its database, and
/// whoever makes a new database clears the old name.
fn rename_all(path: &Path, target: &Path) -> io::Result<()> {
    let (log, shared) = (beside(path, "-wal"), beside(path, "-shm"));
    let linked = match fs::hard_link(&log, beside(target, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        other => other.is_ok(),
    };
    fs::rename(path, target)?;
    let moved = if linked { fs::remove_file(&log) } else { fs::rename(&log, beside(target, "-wal")) };
    // What the log's index says is made anew from the log.
    for outcome in [moved, fs::remove_file(&shared)] {
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
