//! Servers on the loopback interface with scripted answers, which record their input.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// A server that runs as long as the tests.
pub(crate) struct Server {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Returns what was received on each connection, in order, as soon as there are so many.
    pub(crate) fn await_received(&self, count: usize) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let received = self.received.lock().unwrap().clone();
            if received.len() >= count {
                return received;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{received:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Serves each connection in turn; `serve` gets its number, and returns what it read.
    pub(crate) fn listen(
        authority: Option<&Authority>,
        serve: impl Fn(&mut dyn Duplex, usize) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&received);
        let ends_well = authority.is_some_and(|authority| authority.ends_well);
        let config = authority.map(|authority| Arc::clone(&authority.config));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                let read = match &config {
                    Some(config) => {
                        let connection = ServerConnection::new(Arc::clone(config)).unwrap();
                        let mut stream = StreamOwned::new(connection, stream);
                        let read = serve(&mut stream, number);
                        if ends_well {
                            stream.conn.send_close_notify();
                            let _left = stream.flush();
                        }
                        read
                    }
                    None => serve(&mut PlainStream(stream), number),
                };
                heard.lock().unwrap().push(String::from_utf8_lossy(&read).into_owned());
            }
        });
        Self { port, received }
    }
}

struct PlainStream(TcpStream);

impl Read for PlainStream {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for PlainStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Reads a request with its body.
pub(crate) fn read_request(stream: &mut dyn Duplex) -> Vec<u8> {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => all.push(byte[0]),
            _ => return all,
        }
    }
    let head = String::from_utf8_lossy(&all).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    all.extend(body);
    all
}

/// Writes an answer; the client may have left.
pub(crate) fn answer(stream: &mut dyn Duplex, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    );
    let _left = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// An authority, and a server's keys for `127.0.0.1` that it signed.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) config: Arc<ServerConfig>,
    /// True if its server ends a connection with `close_notify`.
    pub(crate) ends_well: bool,
}

impl Authority {
    pub(crate) fn make() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap();
        let pem = pem(own.der());
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = config
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap();
        Self { pem, config: Arc::new(config), ends_well: true }
    }

    /// Writes the authority's certificate.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("authority.pem");
        std::fs::write(&path, &self.pem).unwrap();
        path
    }
}

fn pem(der: &[u8]) -> String {
    let base64 = data_encoding::BASE64.encode(der);
    format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
}
