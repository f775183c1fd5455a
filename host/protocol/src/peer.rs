//! Which user runs the process at the other end of a socket.

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
#[cfg(target_os = "linux")]
pub fn read_peer(stream: &UnixStream) -> Result<Peer, PeerError> {
    let found = rustix::net::sockopt::socket_peercred(stream)?;
    let process = found.pid.as_raw_nonzero().get().unsigned_abs();
    Ok(Peer { user: found.uid.as_raw(), process })
}

/// Returns the process at the other end. On systems other than Linux and macOS nobody is known, so
/// that there is no service and each hook reviews by itself.
///
/// # Errors
/// Fails if the system does not say who it is.
#[cfg(not(target_os = "linux"))]
pub fn read_peer(stream: &UnixStream) -> Result<Peer, PeerError> {
    #[cfg(target_os = "macos")]
    {
        use nix::sys::socket::{getsockopt, sockopt};
        let unknown = |error: nix::Error| rustix::io::Errno::from_raw_os_error(error as i32);
        let user = getsockopt(stream, sockopt::LocalPeerCred).map_err(unknown)?.uid();
        let process = getsockopt(stream, sockopt::LocalPeerPid).map_err(unknown)?.unsigned_abs();
        Ok(Peer { user, process })
    }
    #[cfg(not(target_os = "macos"))]
    {
        let _nobody = stream;
        Err(rustix::io::Errno::OPNOTSUPP.into())
    }
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
