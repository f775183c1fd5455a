//! The place of the service's socket.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The socket, below the state folder.
pub const SOCKET: &str = "service.sock";

/// The file in which root sets up the boundary of this machine. A hook that sees it hands its
/// events to the machine's service and to no other.
#[cfg(target_os = "macos")]
pub const BOUNDARY_FILE: &str = "/Library/Application Support/Portcullis/boundary.toml";
/// The file in which root sets up the boundary of this machine. A hook that sees it hands its
/// events to the machine's service and to no other.
#[cfg(not(target_os = "macos"))]
pub const BOUNDARY_FILE: &str = "/etc/portcullis/boundary.toml";
/// The socket of the machine's service; macOS has no `/run`.
#[cfg(target_os = "macos")]
pub const BOUNDARY_SOCKET: &str = "/var/run/portcullis/service.sock";
/// The socket of the machine's service.
#[cfg(not(target_os = "macos"))]
pub const BOUNDARY_SOCKET: &str = "/run/portcullis/service.sock";

/// The folder below those of the XDG rules.
const OWN_FOLDER: &str = "portcullis";

/// A socket that must not be used.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// There is none.
    #[error("there is no socket `{}`", .0.display())]
    Missing(PathBuf),
    /// It cannot be looked at.
    #[error("cannot look at `{}`: {error}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Another user owns it or could replace it, or it is not a socket.
    #[error("`{}` {problem}", .path.display())]
    Unsafe {
        /// The file or folder.
        path: PathBuf,
        /// The problem.
        problem: &'static str,
    },
}

/// Returns the socket's path for a hook: in the pinned state folder, else in the one that the
/// environment names, by the rules that the other program has. `None` if nothing determines it.
#[must_use]
pub fn find_socket(
    pinned_state: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = match pinned_state {
        Some(state) => state.is_absolute().then(|| state.to_owned()),
        None => match variable("PORTCULLIS_HOME").filter(|home| !home.is_empty()) {
            Some(home) => Some(PathBuf::from(home)).filter(|home| home.is_absolute()),
            None => absolute("HOME").map(|home| {
                let state = absolute("XDG_STATE_HOME");
                state.unwrap_or_else(|| home.join(".local/state")).join(OWN_FOLDER)
            }),
        },
    }?;
    Some(state.join(SOCKET))
}

/// Checks that a socket and its folder belong to a user, and that nobody else can replace them.
///
/// # Errors
/// Fails if it does not exist, or if somebody else could have put it there.
pub fn check_socket(path: &Path, user: u32) -> Result<(), SocketError> {
    check_owners(path, &[user], OTHERS_WRITE)
}

/// Checks that the machine's socket and its folder belong to the service's user or to root, and
/// that nobody else can replace them. Everybody may connect to it.
///
/// # Errors
/// Fails if it does not exist, or if somebody else could have put it there.
pub fn check_boundary_socket(path: &Path, user: u32) -> Result<(), SocketError> {
    // Who connects to a socket needs the right to write it.
    check_owners(path, &[user, ROOT], 0)
}

/// The user whom no boundary holds.
pub const ROOT: u32 = 0;
/// The mode bits that let other users write.
const OTHERS_WRITE: u32 = 0o022;

/// Checks a socket and its folder. `of_socket` are the mode bits that the socket must not have.
fn check_owners(path: &Path, owners: &[u32], of_socket: u32) -> Result<(), SocketError> {
    let folder = path.parent().unwrap_or(path);
    for (checked, is_folder, forbidden) in [(folder, true, OTHERS_WRITE), (path, false, of_socket)]
    {
        let found = fs::symlink_metadata(checked).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                SocketError::Missing(path.to_owned())
            } else {
                SocketError::Unreadable { path: checked.to_owned(), error }
            }
        })?;
        let problem = if is_folder && !found.is_dir() {
            "is not a folder"
        } else if !is_folder && !found.file_type().is_socket() {
            "is not a socket"
        } else if !owners.contains(&found.uid()) {
            "belongs to another user"
        } else if found.mode() & forbidden != 0 {
            "can be changed by other users"
        } else {
            continue;
        };
        return Err(SocketError::Unsafe { path: checked.to_owned(), problem });
    }
    Ok(())
}
