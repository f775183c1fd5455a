//! The place of the service's socket.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The socket, below the state folder.
pub const SOCKET: &str = "service.sock";

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
    let folder = path.parent().unwrap_or(path);
    for (checked, is_folder) in [(folder, true), (path, false)] {
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
        } else if found.uid() != user {
            "belongs to another user"
        } else if found.mode() & 0o022 != 0 {
            "can be changed by other users"
        } else {
            continue;
        };
        return Err(SocketError::Unsafe { path: checked.to_owned(), problem });
    }
    Ok(())
}
