//! The exchange between systemd and the service: sockets that are bound already, and that the
//! service is ready.

use anyhow::{Context, Result};
use listenfd::ListenFd;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

/// The variable that names the manager's socket.
const NOTIFY: &str = "NOTIFY_SOCKET";

/// The sockets that the manager has bound for this process, in the order of its unit.
pub struct BoundSockets {
    /// That of the service.
    pub service: Option<UnixListener>,
    /// That of the page.
    pub page: Option<TcpListener>,
}

/// Returns the sockets that the manager has bound for this process, if there are any.
pub fn take_sockets() -> Result<BoundSockets> {
    let mut bound = ListenFd::from_env();
    let service = bound.take_unix_listener(0).context("cannot use the socket of the manager")?;
    let page = bound.take_tcp_listener(1).context("cannot use the manager's port for the page")?;
    Ok(BoundSockets { service, page })
}

/// Tells the manager that the service answers. Without a manager nobody waits for that.
pub fn tell_ready() -> Result<()> {
    let Some(name) = env::var_os(NOTIFY).filter(|name| !name.is_empty()) else { return Ok(()) };
    let sent = find_address(&name)
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address));
    sent.with_context(|| format!("cannot tell `{}`", name.display())).map(drop)
}

/// Returns the address of a socket that has a path, or a name without one behind `@`.
#[cfg(target_os = "linux")]
fn find_address(name: &OsStr) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}

/// Returns the address of a socket that has a path.
#[cfg(not(target_os = "linux"))]
fn find_address(name: &OsStr) -> io::Result<SocketAddr> {
    SocketAddr::from_pathname(name)
}
