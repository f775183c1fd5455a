//! The presence of a person: the one who watches holds a lock, which the system drops with their
//! process.

use anyhow::{Context, Result};
use portcullis_fs::open_lock_file;
use portcullis_store::Home;
use std::fs::{File, OpenOptions, TryLockError};
use std::time::{Duration, Instant};

/// The lock's file in the home, for the terminal.
const TERMINAL: &str = "approvals.watched";
/// The lock's file for the service that asks the approvers of a fleet.
const FLEET: &str = "approvals.relayed";
/// The longest time that a question of [`is_watched`] is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lock of the terminal on which a person watches, or of the service that asks the fleet's
/// approvers.
#[derive(Debug)]
pub struct WatchLock {
    _file: File,
}

impl WatchLock {
    /// Takes the lock; `None` if another terminal has it.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn take(home: &Home) -> Result<Option<Self>> {
        Self::take_file(home, TERMINAL)
    }

    /// Takes the lock of the service that asks the approvers of a fleet; `None` if another process
    /// has it.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn take_for_fleet(home: &Home) -> Result<Option<Self>> {
        Self::take_file(home, FLEET)
    }

    fn take_file(home: &Home, name: &str) -> Result<Option<Self>> {
        let path = home.path().join(name);
        let shown = || format!("cannot lock `{}`", path.display());
        let file = open_lock_file(&path).with_context(shown)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: file })),
                // A process that looks whether somebody is there has it for a moment.
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error).with_context(shown),
            }
        }
    }
}

/// Returns true if a person watches at a terminal, or the approvers of a fleet are asked. Where that
/// cannot be found out, nobody does.
#[must_use]
pub fn is_watched(home: &Home) -> bool {
    // Those who look share the lock, so that they do not take each other for a person.
    [TERMINAL, FLEET].into_iter().any(|name| {
        let opened = OpenOptions::new().read(true).open(home.path().join(name));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_terminal_watches_and_its_end_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        assert!(!is_watched(&home), "before the file is there");
        let watch = WatchLock::take(&home).unwrap().unwrap();
        assert!(is_watched(&home) && is_watched(&home));
        assert!(WatchLock::take(&home).unwrap().is_none(), "another terminal");
        let relay = WatchLock::take_for_fleet(&home).unwrap().unwrap();
        drop(watch);
        assert!(is_watched(&home), "the fleet's approvers are asked");
        drop(relay);
        assert!(!is_watched(&home));
        assert!(WatchLock::take(&home).unwrap().is_some());
    }
}
