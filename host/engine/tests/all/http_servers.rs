//! Servers on the loopback interface: a good one, and each way to misbehave, by path.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server that runs as long as the tests.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn plain() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        let port = listen(move |stream| {
            count.fetch_add(1, Ordering::Relaxed);
            serve(stream);
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of connections so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }

    /// Returns a port that nobody listens on.
    pub(crate) fn unused() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }
}

/// Starts a server that closes in the middle of a request: since it leaves data unread, the system
/// resets the connection.
pub(crate) fn closing() -> u16 {
    listen(|mut stream| drop(stream.read(&mut [0])))
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    port
}

/// Answers one request; a client that leaves earlier is ignored.
fn serve(stream: impl Read + Write) {
    let mut stream = BufReader::new(stream);
    let (mut lines, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        match stream.read_line(&mut line) {
            Ok(0) => return,
            Ok(_) => {}
            // A client that does not speak HTTP.
            Err(_) => return drop(stream.get_mut().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        lines.push(line);
    }
    let mut body = vec![0; length];
    let _ = stream.read_exact(&mut body);
    let first = lines.remove(0);
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    lines.sort_by_key(|line| line.to_ascii_lowercase());
    let echo = format!("{first}; {}; {} bytes", lines.join("; "), body.len());
    let _ = answer(stream.get_mut(), method, path, query, &echo);
}

fn answer(
    out: &mut impl Write,
    method: &str,
    path: &str,
    query: &str,
    echo: &str,
) -> std::io::Result<()> {
    let pause = || std::thread::sleep(Duration::from_millis(30));
    let whole = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{}",
            body.len(),
            if method == "HEAD" { "" } else { body }
        )
    };
    let text = match path {
        "/plain" | "/" => whole("200 OK", "hello"),
        "/echo" => whole("200 OK", echo),
        "/none" => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        "/big" => whole("200 OK", &"b".repeat(200 << 10)),
        "/most" => whole("200 OK", &"m".repeat(256 << 10)),
        "/over" => whole("200 OK", &"o".repeat((256 << 10) + 1)),
        "/hints" => format!("HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n{}", whole("200 OK", "hello")),
        "/chunks" => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n again\r\n0\r\n\r\n".to_owned(),
        "/away" => format!("HTTP/1.1 302 Found\r\nlocation: {query}\r\ncontent-length: 0\r\n\r\n"),
        "/cut" => "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello".to_owned(),
        "/nonsense" => "HELLO, WHO IS THERE?\r\n\r\n".to_owned(),
        "/long-head" => format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(40 << 10)),
        "/many-heads" => format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", "x: y\r\n".repeat(200)),
        "/silent" => {
            std::thread::sleep(Duration::from_secs(30));
            String::new()
        }
        "/drip" | "/endless" => {
            out.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                if path == "/drip" {
                    pause();
                    out.write_all(b"x")?;
                } else {
                    out.write_all(&[b'x'; 8192])?;
                }
            }
        }
        "/drips-heads" => {
            out.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
            loop {
                pause();
                out.write_all(b"y")?;
            }
        }
        _ => whole("404 Not Found", "not here"),
    };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A certificate authority that signs for servers.
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn der(&self) -> Vec<u8> {
        self.certificate.to_vec()
    }
}

pub(crate) fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().der().clone();
    Authority { certificate, issuer: Issuer::new(params, key) }
}

/// Starts a TLS server with a certificate for that name; returns its port.
pub(crate) fn secure(authority: &Authority, name: &str) -> u16 {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .signed_by(&key, &authority.issuer)
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = Arc::new(
        config
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap(),
    );
    listen(move |stream| {
        serve(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream))
    })
}
