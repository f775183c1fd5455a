//! Asking a service how it is.

use crate::frame::{FrameError, read_message, write_message};
use crate::message::{Reply, Request, ServiceStatus};
use crate::peer::{PeerError, check_peer};
use crate::socket::{SOCKET, SocketError, check_socket};
use rustix::process::getuid;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a service has for its status.
const PATIENCE: Duration = Duration::from_secs(3);

/// There is a socket, and no service that answers as one.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The socket must not be used.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Nobody serves it.
    #[error("nobody serves `{}`: {error}", .path.display())]
    Dead {
        /// The socket.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Somebody else serves it.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The answer is not one.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Asks the service of a state folder how it is; `None` if no service is set up there.
///
/// # Errors
/// Fails if there is a socket and no service that answers, or one of somebody else.
pub fn ask_status(state: &Path) -> Result<Option<ServiceStatus>, StatusError> {
    let path = state.join(SOCKET);
    let user = getuid().as_raw();
    match check_socket(&path, user) {
        Err(SocketError::Missing(_)) => return Ok(None),
        checked => checked?,
    }
    let mut stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => return Err(StatusError::Dead { path, error }),
    };
    check_peer(&stream, user)?;
    let timeouts = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    timeouts.map_err(FrameError::Io)?;
    write_message(&mut stream, &Request::Status)?;
    match read_message(&mut stream)? {
        Reply::Status(status) => Ok(Some(status)),
        _ => Err(FrameError::Malformed("another reply than asked for").into()),
    }
}
