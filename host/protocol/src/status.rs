//! Asking a service something other than a review.

use crate::frame::{FrameError, read_message, write_message};
use crate::message::{Reply, Request, ServiceStatus};
use crate::peer::{PeerError, check_peer, read_peer};
use crate::socket::{
    BOUNDARY_SOCKET, ROOT, SOCKET, SocketError, check_boundary_socket, check_socket,
};
use crate::socket_path::connect_socket;
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

/// Asks the service of this machine's boundary, which `keeper` runs, for a link to what it keeps of a
/// user's agents.
///
/// # Errors
/// Fails like [`connect_across`], if the service has no page, or if it gives this process none.
pub fn ask_link_across(keeper: u32, user: u32, purpose: &str) -> Result<String, StatusError> {
    match exchange(connect_across(keeper)?, &Request::LinkOf(user, purpose.to_owned()))? {
        Reply::Link(link) => Ok(link),
        other => Err(refusal(other)),
    }
}

/// Connects to the service of this machine's boundary, which `user` runs.
///
/// # Errors
/// Fails if nobody serves the socket, or if somebody else could have put it there.
pub fn connect_across(user: u32) -> Result<UnixStream, StatusError> {
    let path = Path::new(BOUNDARY_SOCKET);
    check_boundary_socket(path, user)?;
    let stream =
        connect_socket(path).map_err(|error| StatusError::Dead { path: path.to_owned(), error })?;
    let found = read_peer(&stream)?.user;
    // A manager of services that holds the socket for the service is root's.
    if found != user && found != ROOT {
        return Err(PeerError::OtherUser { found, expected: user }.into());
    }
    Ok(stream)
}

/// Asks the service of this machine's boundary how it is.
///
/// # Errors
/// Fails like [`connect_across`], and if it does not answer.
pub fn ask_status_across(user: u32) -> Result<ServiceStatus, StatusError> {
    match exchange(connect_across(user)?, &Request::Status)? {
        Reply::Status(status) => Ok(status),
        other => Err(refusal(other)),
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
    let stream = match connect_socket(&path) {
        Ok(stream) => stream,
        Err(error) => return Err(StatusError::Dead { path, error }),
    };
    check_peer(&stream, user)?;
    exchange(stream, request).map(Some)
}

fn exchange(mut stream: UnixStream, request: &Request) -> Result<Reply, StatusError> {
    let timeouts = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    timeouts.map_err(FrameError::Io)?;
    write_message(&mut stream, request)?;
    Ok(read_message(&mut stream)?)
}

fn refusal(reply: Reply) -> StatusError {
    match reply {
        Reply::Unable(reason) => StatusError::Unable(reason),
        _ => FrameError::Malformed("another reply than asked for").into(),
    }
}
