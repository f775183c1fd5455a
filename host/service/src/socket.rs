//! The socket of a home's service.

use anyhow::{Context, Result, bail};
use portcullis_fs::open_lock_file;
use portcullis_protocol::SOCKET;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The file that a running service holds locked, below the state folder.
const LOCK: &str = "service.lock";
/// Only its owner may connect.
const MODE: u32 = 0o600;

/// A bound socket, and the lock that no other service of the same home can have.
pub struct OwnSocket {
    /// Taken by the service that serves it.
    pub(crate) listener: Option<UnixListener>,
    path: PathBuf,
    _lock: File,
}

impl OwnSocket {
    /// Binds the socket in a state folder. A socket that a service left behind is replaced.
    ///
    /// # Errors
    /// Fails if another service of this home runs, or if the folder cannot be written.
    pub fn bind(state: &Path) -> Result<Self> {
        let lock = open_lock_file(&state.join(LOCK))
            .with_context(|| format!("cannot open `{}`", state.join(LOCK).display()))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another service runs for `{}`: stop it first", state.display());
        }
        let path = state.join(SOCKET);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot bind the socket `{}`", path.display()))?;
        // The state folder is its owner's alone, so nobody else gets here before this.
        fs::set_permissions(&path, Permissions::from_mode(MODE))
            .with_context(|| format!("cannot protect `{}`", path.display()))?;
        Ok(Self { listener: Some(listener), path, _lock: lock })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        // A hook that finds a dead socket reviews by itself, and records that as a failure.
        let _ = fs::remove_file(&self.path);
    }
}
