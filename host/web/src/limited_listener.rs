//! The connections to the page, of which each user of this machine has a share.
//!
//! Every user can connect to a port of loopback. One of them must not take all connections, nor the
//! descriptors that the service needs for reviews. And a cookie counts only for the user whose browser
//! got it: a browser sends it to every port of the page's host, of which others can take one. Whose a
//! connection is, the system's table of connections says; elsewhere `lsof`, of the connections of the
//! service's own user, and the others are nobody's.

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The most connections of one user at once; a browser makes six, and one for each open page.
const MOST_OF_USER: usize = 32;
/// The most connections of all users.
const MOST: usize = 192;
/// The pause after a failure to accept.
const PAUSE: Duration = Duration::from_millis(100);
/// The system's table of connections.
#[cfg(target_os = "linux")]
const TABLE: &str = "/proc/net/tcp";
/// The state of a connection in that table that both ends have made.
#[cfg(any(target_os = "linux", test))]
const ESTABLISHED: &str = "01";

/// The user who made a connection; `None` where the system does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionOwner(pub(crate) Option<u32>);

/// The connections of each user.
type Counts = BTreeMap<ConnectionOwner, usize>;

/// A port with a share for each user.
pub(crate) struct LimitedListener {
    listener: TcpListener,
    counts: Arc<Mutex<Counts>>,
}

/// A connection, which counts until it is dropped.
pub(crate) struct LimitedConnection {
    stream: TcpStream,
    owner: ConnectionOwner,
    counts: Arc<Mutex<Counts>>,
}

impl LimitedListener {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, counts: Arc::default() }
    }
}

impl axum::serve::Listener for LimitedListener {
    type Io = LimitedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LimitedConnection, SocketAddr) {
        loop {
            let Ok((stream, peer)) = self.listener.accept().await else {
                // It was given up at once, or descriptors are short.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let user = stream.local_addr().ok().and_then(|own| find_user(peer, own));
            let owner = ConnectionOwner(user);
            if take_share(&mut lock(&self.counts), owner) {
                return (
                    LimitedConnection { stream, owner, counts: Arc::clone(&self.counts) },
                    peer,
                );
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for ConnectionOwner {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        stream.io().owner
    }
}

impl Drop for LimitedConnection {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.owner);
            }
        }
    }
}

impl AsyncRead for LimitedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Takes one of a user's connections; returns false if that user, or all together, have too many.
fn take_share(counts: &mut Counts, owner: ConnectionOwner) -> bool {
    let all: usize = counts.values().sum();
    let own = counts.get(&owner).copied().unwrap_or_default();
    if own >= MOST_OF_USER || all >= MOST {
        return false;
    }
    counts.insert(owner, own + 1);
    true
}

/// Returns the user who made a connection; `None` where the system does not say.
fn find_user(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let (SocketAddr::V4(peer), SocketAddr::V4(own)) = (peer, own) else { return None };
    look_up_user(peer, own)
}

#[cfg(target_os = "linux")]
fn look_up_user(peer: SocketAddrV4, own: SocketAddrV4) -> Option<u32> {
    user_in(&std::fs::read_to_string(TABLE).ok()?, peer, own)
}

#[cfg(not(target_os = "linux"))]
fn look_up_user(peer: SocketAddrV4, own: SocketAddrV4) -> Option<u32> {
    let mut command = std::process::Command::new("/usr/sbin/lsof");
    command.args(["-nP", "-a", "-sTCP:ESTABLISHED", "-Fun"]).arg(format!("-iTCP@{own}"));
    let output = command.env_clear().stdin(std::process::Stdio::null()).output().ok()?;
    user_in_list(&String::from_utf8_lossy(&output.stdout), peer, own)
}

/// Returns the user of a connection in the lines of `lsof -Fun`: the user of each process before the
/// names of its connections, from their own end.
#[cfg(any(not(target_os = "linux"), test))]
fn user_in_list(lines: &str, peer: SocketAddrV4, own: SocketAddrV4) -> Option<u32> {
    let name = format!("{peer}->{own}");
    let mut user = None;
    for line in lines.lines() {
        match line.split_at_checked(1) {
            Some(("p", _)) => user = None,
            Some(("u", id)) => user = id.parse().ok(),
            Some(("n", found)) if found == name => return user,
            _ => {}
        }
    }
    None
}

#[cfg(any(target_os = "linux", test))]
fn user_in(table: &str, peer: SocketAddrV4, own: SocketAddrV4) -> Option<u32> {
    let (peer, own) = (name_in_table(peer), name_in_table(own));
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_it = fields.next() == Some(&*peer)
            && fields.next() == Some(&*own)
            && fields.next() == Some(ESTABLISHED);
        // Queues, timers and retransmissions are between the state and the user.
        fields.nth(3).filter(|_| is_it)?.parse().ok()
    })
}

/// Returns an address as the table has it: the bytes as this machine stores a number.
#[cfg(any(target_os = "linux", test))]
fn name_in_table(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

/// Locks the counts. A panic leaves none half-changed.
fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_share() {
        let mut counts = Counts::new();
        let mut take = |user| take_share(&mut counts, ConnectionOwner(user));
        for _ in 0..MOST_OF_USER {
            assert!(take(Some(1000)));
        }
        assert!(!take(Some(1000)));
        assert!(take(Some(0)) && take(None));
        let taken = (0..MOST).filter(|user| take(Some(2000 + *user as u32))).count();
        assert_eq!(taken, MOST - MOST_OF_USER - 2);
        assert!(!take(Some(0)));
    }

    #[test]
    fn the_table_says_whose_a_connection_is() {
        let end = u32::from_ne_bytes([127, 0, 0, 1]);
        let line = |from: u16, to: u16, state: &str, user: u32| {
            format!(
                "   1: {end:08X}:{from:04X} {end:08X}:{to:04X} {state} 00000000:00000000 \
                 00:00000000 00000000  {user}        0 12345 1 0000 20 4 30 10 -1\n"
            )
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
        let table = [
            head.to_owned(),
            line(4747, 0, "0A", 993),
            line(4747, 50_000, "01", 993),
            line(50_000, 4747, "06", 0),
            line(50_000, 4747, "01", 1000),
            line(50_001, 4747, "06", 0),
            line(50_002, 4748, "01", 1002),
        ]
        .concat();
        let at = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        for (port, user) in [(50_000, Some(1000)), (50_001, None), (50_002, None), (1, None)] {
            assert_eq!(user_in(&table, at(port), at(4747)), user, "{port}");
        }
        assert_eq!(user_in("nonsense\n1: a b\n", at(1), at(2)), None);
    }

    #[test]
    fn the_list_says_whose_a_connection_is() {
        let list = "p70\nu501\nf12\nn127.0.0.1:4747->127.0.0.1:50000\n\
                    p71\nu502\nf9\nn127.0.0.1:50001->127.0.0.1:4747\nf10\nn127.0.0.1:50000->127.0.0.1:4747\n\
                    p72\nf3\nn127.0.0.1:50002->127.0.0.1:4747\n";
        let at = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        for (port, user) in [(50_000, Some(502)), (50_001, Some(502)), (50_002, None), (1, None)] {
            assert_eq!(user_in_list(list, at(port), at(4747)), user, "{port}");
        }
    }
}
