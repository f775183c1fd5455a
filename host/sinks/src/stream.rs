//! A connection to a server, with TLS or without, whose every step ends at a deadline.

use crate::failure::SinkFailure;
use portcullis_network::find_own_address;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes that a server may send us before it ends the connection.
const MOST_SAID: usize = 64 << 10;
/// The time between two looks at a connection that ends.
const POLL: Duration = Duration::from_millis(1);

/// A TCP stream that gives up at the deadline.
struct TimedStream {
    stream: TcpStream,
    deadline: Instant,
}

impl TimedStream {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for TimedStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The TLS of a connection.
pub(crate) struct StreamTls {
    pub(crate) settings: Arc<ClientConfig>,
    /// True if only `close_notify` is an end, not that of the TCP stream alone.
    pub(crate) demands_notice: bool,
}

/// Sends bytes over a connection of their own, and returns when the server has read them all: it
/// ends its side after ours has ended.
pub(crate) fn send_all(
    host: &str,
    port: u16,
    tls: Option<&StreamTls>,
    bytes: &[u8],
    deadline: Instant,
) -> Result<(), SinkFailure> {
    let place = format!("{host}:{port}");
    let stream = connect(host, port, deadline, &place)?;
    let timed = TimedStream { stream, deadline };
    let outcome = match tls {
        Some(tls) => send_encrypted(host, timed, tls, bytes),
        None => send_plain(timed, bytes),
    };
    outcome.map_err(|error| describe(&place, &error))
}

fn connect(
    host: &str,
    port: u16,
    deadline: Instant,
    place: &str,
) -> Result<TcpStream, SinkFailure> {
    let unknown = |error: &dyn std::fmt::Display| {
        SinkFailure::later(
            format!("the host of `{place}` is not known ({error})"),
            "check the name and the network",
        )
    };
    let addresses: Vec<SocketAddr> = match find_own_address(host) {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            (host, port).to_socket_addrs().map_err(|error| unknown(&error))?.collect()
        }
    };
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SinkFailure::late(place));
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(describe(place, &last))
}

fn send_encrypted(
    host: &str,
    stream: TimedStream,
    tls: &StreamTls,
    bytes: &[u8],
) -> io::Result<()> {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a server")
    })?;
    let connection =
        ClientConnection::new(Arc::clone(&tls.settings), name).map_err(io::Error::other)?;
    let mut encrypted = StreamOwned::new(connection, stream);
    encrypted.write_all(bytes)?;
    encrypted.conn.send_close_notify();
    encrypted.flush()?;
    encrypted.sock.stream.shutdown(Shutdown::Write)?;
    match await_end(&mut encrypted) {
        // Some servers end without `close_notify`, as an attacker on the way could.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !tls.demands_notice => {
            await_acknowledged(&encrypted.sock)
        }
        ended => ended,
    }
}

fn send_plain(mut stream: TimedStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()?;
    stream.stream.shutdown(Shutdown::Write)?;
    await_end(&mut stream)?;
    await_acknowledged(&stream)
}

/// Waits until the other machine has acknowledged all that we sent. The system of a server that ended
/// without reading all of it answers with a reset instead. So an end and no reset means that it was
/// read.
fn await_acknowledged(timed: &TimedStream) -> io::Result<()> {
    // The socket has no peer any more as soon as both sides have ended and everything is acknowledged.
    while timed.stream.peer_addr().is_ok() {
        timed.left()?;
        std::thread::sleep(POLL);
    }
    timed.stream.take_error()?.map_or(Ok(()), Err)
}

/// Reads until the server ends its side. It has nothing to say to us.
fn await_end(stream: &mut impl Read) -> io::Result<()> {
    let mut said = [0; 1024];
    let mut all = 0_usize;
    loop {
        let read = stream.read(&mut said)?;
        all = all.saturating_add(read);
        if read == 0 {
            return Ok(());
        }
        if all > MOST_SAID {
            return Err(io::Error::other("it talks without an end"));
        }
    }
}

fn describe(place: &str, error: &io::Error) -> SinkFailure {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => SinkFailure::late(place),
        io::ErrorKind::InvalidInput => SinkFailure::settings(
            format!("`{place}` cannot be a server ({error})"),
            "correct `host`",
        ),
        // An error of TLS: the authority, the name or the certificate.
        io::ErrorKind::InvalidData => SinkFailure::later(
            format!("no secure connection to `{place}` ({error})"),
            "name its authority in `authorities`, or have its certificate renewed",
        ),
        io::ErrorKind::UnexpectedEof => SinkFailure::later(
            format!("`{place}` ended the connection without a sign that it read everything"),
            "nothing to do: it will be retried; check the server if this continues",
        ),
        _ => SinkFailure::later(
            format!("`{place}` cannot be reached ({error})"),
            "check `host`, `port`, `encryption` and the network",
        ),
    }
}
