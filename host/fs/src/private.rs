//! Folders and lock files that only their owner can open, and the wait for a lock.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Creates a folder with access for its owner alone, and its missing parents alike. An existing
/// folder stays as it is.
///
/// # Errors
/// The name is taken by something else, or the system refuses.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file to hold a lock on, and creates it with access for its owner alone.
///
/// # Errors
/// The system refuses.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    // Read access is needed too: opening a pipe of that name for writing only would block until it
    // is read.
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The pause between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// Tries to take a lock until it succeeds or `patience` is over: nobody waits for ever for a lock that an
/// agent of the same user may hold. `try_lock` is [`File::try_lock`] or [`File::try_lock_shared`] of the
/// open lock file.
///
/// # Errors
/// Fails with [`TryLockError::WouldBlock`] if somebody else held it for all that time, or if the system
/// refuses.
pub fn wait_for_lock(
    patience: Duration,
    try_lock: impl Fn() -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    let start = Instant::now();
    loop {
        match try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            taken => return taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (first, second) = (open_lock_file(&path).unwrap(), open_lock_file(&path).unwrap());
        wait_for_lock(Duration::ZERO, || first.try_lock()).unwrap();
        let taken = wait_for_lock(Duration::from_millis(20), || second.try_lock());
        assert!(matches!(taken, Err(TryLockError::WouldBlock)), "{taken:?}");
        let waiting = std::thread::spawn(move || {
            wait_for_lock(Duration::from_secs(60), || second.try_lock_shared()).is_ok()
        });
        drop(first);
        assert!(waiting.join().unwrap());
    }
}
