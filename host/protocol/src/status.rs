//! Asking a service something other than a review.

use crate::frame::{FrameError, read_message, write_message};
use crate::message::{Reply, Request, ServiceStatus};
use crate::peer::{PeerError, check_peer};
use crate::socket::{SOCKET, SocketError, check_socket};
use rustix::process::getuid;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a service has for its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// There is a socket, and no service that answers as asked.
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
    /// It says why it does not answer.
    #[error("the service cannot: {0}")]
    Unable(String),
}

/// Asks the service of a state folder how it is; `None` if no service is set up there.
///
/// # Errors
/// Fails if there is a socket and no service that answers, or one of somebody else.
pub fn ask_status(state: &Path) -> Result<Option<ServiceStatus>, StatusError> {
    match ask(state, &Request::Status)? {
        None => Ok(None),
        Some(Reply::Status(status)) => Ok(Some(status)),
        Some(other) => Err(refusal(other)),
    }
}

/// Asks the service of a state folder for a link to its page; `None` if no service is set up there.
///
/// # Errors
/// Fails like [`ask_status`], and if the service has no page or does not know the purpose.
pub fn ask_link(state: &Path, purpose: &str) -> Result<Option<String>, StatusError> {
    match ask(state, &Request::Link(purpose.to_owned()))? {
        None => Ok(None),
        Some(Reply::Link(link)) => Ok(Some(link)),
        Some(other) => Err(refusal(other)),
    }
}

/// Sends a request that has one reply.
fn ask(state: &Path, request: &Request) -> Result<Option<Reply>, StatusError> {
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
    write_message(&mut stream, request)?;
    Ok(Some(read_message(&mut stream)?))
}

fn refusal(reply: Reply) -> StatusError {
    match reply {
        Reply::Unable(reason) => StatusError::Unable(reason),
        _ => FrameError::Malformed("another reply than asked for").into(),
    }
}
