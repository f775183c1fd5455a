//! The lock for compiling a component: held by one process, on a file named after the component.
//!
//! The lock ends with its process, so nobody waits for a dead one. The file is removed with the
//! guard. A process that still has the old file open and one that creates it again may then both
//! compile, which costs time and nothing else.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The interval at which a waiting process tries again.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock guard.
pub(crate) struct CompileLock {
    /// True if another process held it before.
    pub(crate) waited: bool,
    path: PathBuf,
    _file: File,
}

/// Another process compiled for longer than this one could wait.
#[derive(Debug)]
pub(crate) struct LockTimeout;

impl CompileLock {
    pub(super) fn take(file: File, path: PathBuf, most: Duration) -> Result<Self, LockTimeout> {
        let (begun, mut waited) = (Instant::now(), false);
        // If the file system has no locks, do not wait.
        while flock(&file, FlockOperation::NonBlockingLockExclusive)
            == Err(rustix::io::Errno::WOULDBLOCK)
        {
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(LockTimeout);
            }
            waited = true;
            std::thread::sleep(PAUSE.min(left));
        }
        Ok(Self { waited, path, _file: file })
    }
}

impl Drop for CompileLock {
    fn drop(&mut self) {
        // A file that cannot be removed here is removed by a sweep.
        let _ = std::fs::remove_file(&self.path);
    }
}
