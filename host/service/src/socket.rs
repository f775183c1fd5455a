//! The socket of a home's service.

use anyhow::{Context, Result, bail};
use portcullis_fs::open_lock_file;
use portcullis_protocol::{
    FrameError, Reply, Request, SOCKET, ServiceStatus, SocketError, check_peer, check_socket,
    read_message, write_message,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::getuid;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that a running service holds locked, below the state folder.
const LOCK: &str = "service.lock";
/// Only its owner may connect.
const MODE: u32 = 0o600;
/// The time that a service has for its status.
const PATIENCE: Duration = Duration::from_secs(3);

/// A bound socket, and the lock that no other service of the same home can have.
pub struct OwnSocket {
    pub(crate) listener: UnixListener,
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
        Ok(Self { listener, path, _lock: lock })
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

/// Asks the service of a state folder how it is; `None` if no service is set up there.
///
/// # Errors
/// Fails if there is a socket and no service that answers, or one of somebody else.
pub fn ask_status(state: &Path) -> Result<Option<ServiceStatus>> {
    let path = state.join(SOCKET);
    let user = getuid().as_raw();
    match check_socket(&path, user) {
        Err(SocketError::Missing(_)) => return Ok(None),
        checked => checked?,
    }
    let mut stream =
        UnixStream::connect(&path).with_context(|| format!("`{}` is dead", path.display()))?;
    check_peer(&stream, user)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write_message(&mut stream, &Request::Status)?;
    match read_message(&mut stream)? {
        Reply::Status(status) => Ok(Some(status)),
        _ => Err(FrameError::Malformed("another reply than asked for").into()),
    }
}
