//! Which user runs the process at the other end of a socket.

use rustix::net::sockopt::socket_peercred;
use std::os::unix::net::UnixStream;

/// The other end is not who it has to be.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The system does not say who it is.
    #[error("the system does not say who is at the other end: {0}")]
    Unknown(#[from] rustix::io::Errno),
    /// Another user runs it.
    #[error("user {found} is at the other end, not user {expected}")]
    OtherUser {
        /// The user who runs it.
        found: u32,
        /// The user who has to.
        expected: u32,
    },
}

/// Checks that a user runs the process at the other end; returns its process id. The system fills
/// in both when the connection is made, so neither can be claimed.
///
/// # Errors
/// Fails if another user runs it.
pub fn check_peer(stream: &UnixStream, expected: u32) -> Result<u32, PeerError> {
    let found = socket_peercred(stream)?;
    let user = found.uid.as_raw();
    if user != expected {
        return Err(PeerError::OtherUser { found: user, expected });
    }
    Ok(found.pid.as_raw_nonzero().get().unsigned_abs())
}
