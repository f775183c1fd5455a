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

/// The process at the other end of a socket. The system fills in both when the connection is made,
/// so neither can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The user who runs it.
    pub user: u32,
    /// Its id.
    pub process: u32,
}

/// Returns the process at the other end.
///
/// # Errors
/// Fails if the system does not say who it is.
pub fn read_peer(stream: &UnixStream) -> Result<Peer, PeerError> {
    let found = socket_peercred(stream)?;
    let process = found.pid.as_raw_nonzero().get().unsigned_abs();
    Ok(Peer { user: found.uid.as_raw(), process })
}

/// Checks that a user runs the process at the other end; returns its process id.
///
/// # Errors
/// Fails if another user runs it.
pub fn check_peer(stream: &UnixStream, expected: u32) -> Result<u32, PeerError> {
    let Peer { user, process } = read_peer(stream)?;
    if user != expected {
        return Err(PeerError::OtherUser { found: user, expected });
    }
    Ok(process)
}
