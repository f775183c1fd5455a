//! Whose turn it is to compile a component: that of the process which holds a lock on a file named after it.
//!
//! The lock ends with its process, so nobody waits for one that died. The file goes with the turn; whoever held on
//! to it before, and whoever makes it anew, may then compile both, which costs time and nothing else.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long it is until a process that waits looks again.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held.
pub(crate) struct Turn {
    /// Another process had it before.
    pub(crate) waited: bool,
    path: PathBuf,
    _file: File,
}

/// Another process compiled longer than one could wait.
#[derive(Debug)]
pub(crate) struct Late;

impl Turn {
    pub(super) fn take(file: File, path: PathBuf, most: Duration) -> Result<Self, Late> {
        let (begun, mut waited) = (Instant::now(), false);
        // A file system without locks is none to wait for.
        while flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(Late);
            }
            waited = true;
            std::thread::sleep(PAUSE.min(left));
        }
        Ok(Self { waited, path, _file: file })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // What stays is swept.
        let _ = std::fs::remove_file(&self.path);
    }
}
