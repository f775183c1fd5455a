//! The socket of a home's service.

use anyhow::{Context, Result, bail};
use portcullis_config::boundary::{Boundary, STATE};
use portcullis_fs::open_lock_file;
use portcullis_protocol::{BOUNDARY_SOCKET, SOCKET, bind_socket};
use rustix::fs::{FlockOperation, fcntl_lock};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The file that a running service holds locked, below the state folder.
const LOCK: &str = "service.lock";
/// The mode of a home's socket: only its owner may connect.
const OWN_MODE: u32 = 0o600;
/// The mode of the socket of a boundary: everybody may connect, and the service sees who it is.
const BOUNDARY_MODE: u32 = 0o666;

/// A bound socket, and the lock that no other service of the same home can have.
pub struct OwnSocket {
    /// Taken by the service that serves it.
    pub(crate) listener: Option<UnixListener>,
    path: PathBuf,
    /// False if a manager has bound it, which goes on to hold it when the service ends.
    is_ours: bool,
    _lock: File,
}

impl OwnSocket {
    /// Binds the socket in a state folder, or takes one that is `bound` there already. A socket that
    /// a service left behind is replaced.
    ///
    /// # Errors
    /// Fails if another service of this home runs, or if the folder cannot be written.
    pub fn bind(state: &Path, bound: Option<UnixListener>) -> Result<Self> {
        Self::take_or_bind(state, state.join(SOCKET), OWN_MODE, bound)
    }

    /// Binds the socket of this machine's boundary, as the user of its service, or takes one that is
    /// `bound` there already.
    ///
    /// # Errors
    /// Fails if another service runs, if the folders do not exist or belong to others.
    pub fn bind_boundary(boundary: &Boundary, bound: Option<UnixListener>) -> Result<Self> {
        let state = Path::new(STATE);
        let path = Path::new(BOUNDARY_SOCKET);
        let made = "create it with the service's user as its owner, or let the unit do it";
        let own_folder = path.parent().filter(|_| bound.is_none());
        for folder in [Some(state), own_folder].into_iter().flatten() {
            let found = fs::metadata(folder)
                .with_context(|| format!("cannot use `{}`; {made}", folder.display()))?;
            if found.uid() != boundary.user || found.mode() & 0o022 != 0 {
                bail!(
                    "`{}` does not belong to `{}` alone; {made}",
                    folder.display(),
                    boundary.user_name
                );
            }
        }
        Self::take_or_bind(state, path.to_owned(), BOUNDARY_MODE, bound)
    }

    fn take_or_bind(
        state: &Path,
        path: PathBuf,
        mode: u32,
        bound: Option<UnixListener>,
    ) -> Result<Self> {
        let lock = open_lock_file(&state.join(LOCK))
            .with_context(|| format!("cannot open `{}`", state.join(LOCK).display()))?;
        // A lock of the process, not of the open file: a child that is just being started has the
        // descriptor too, and would keep the lock of a service that was killed.
        if fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another service runs for `{}`: stop it first", state.display());
        }
        if let Some(listener) = bound {
            let address = listener.local_addr().context("cannot look at the socket")?;
            if address.as_pathname() != Some(&path) {
                bail!("the socket that is bound already is not `{}`", path.display());
            }
            return Ok(Self { listener: Some(listener), path, is_ours: false, _lock: lock });
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
        let listener = bind_socket(&path)
            .with_context(|| format!("cannot bind the socket `{}`", path.display()))?;
        // Nobody else can write the folder, and what this opens up, the service checks itself.
        fs::set_permissions(&path, Permissions::from_mode(mode))
            .with_context(|| format!("cannot protect `{}`", path.display()))?;
        Ok(Self { listener: Some(listener), path, is_ours: true, _lock: lock })
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
        if self.is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OwnSocket;
    use rustix::io::{FdFlags, fcntl_setfd};
    use std::process::{Command, Stdio};

    /// The next service starts although a child of the killed one still has its descriptors.
    #[test]
    fn a_child_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let killed = OwnSocket::bind(folder.path(), None).unwrap();
        fcntl_setfd(&killed._lock, FdFlags::empty()).unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        drop(killed);
        let next = OwnSocket::bind(folder.path(), None).map(drop);
        child.kill().unwrap();
        child.wait().unwrap();
        next.unwrap();
    }
}
