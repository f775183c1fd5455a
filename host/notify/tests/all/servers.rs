//! Servers on the loopback interface with scripted answers, which record their input.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// A server that runs as long as the tests.
pub(crate) struct Server {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Returns the input of each connection.
    pub(crate) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    fn listen(serve: impl Fn(TcpStream, &ConnectionInput) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (heard, serve) = (Arc::clone(&received), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (heard, serve) = (Arc::clone(&heard), Arc::clone(&serve));
                thread::spawn(move || serve(stream.unwrap(), &ConnectionInput::new(heard)));
            }
        });
        Self { port, received }
    }
}

/// The input of one connection so far.
struct ConnectionInput {
    all: Arc<Mutex<Vec<String>>>,
    number: usize,
}

impl ConnectionInput {
    fn new(all: Arc<Mutex<Vec<String>>>) -> Self {
        let number = {
            let mut all = all.lock().unwrap();
            all.push(String::new());
            all.len() - 1
        };
        Self { all, number }
    }

    fn push(&self, text: &str) {
        self.all.lock().unwrap()[self.number].push_str(text);
    }
}

/// Returns a port that nobody listens on.
pub(crate) fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An authority, and a server's keys for `127.0.0.1` and `hooks.test` that it signed.
pub(crate) struct Authority {
    pub(crate) pem: String,
    config: Arc<ServerConfig>,
}

pub(crate) fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).unwrap().der().clone();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned(), "hooks.test".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
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
    let base64 = data_encoding::BASE64.encode(&own);
    Authority {
        pem: format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n"),
        config,
    }
}

impl Authority {
    fn secure(&self, stream: TcpStream) -> Box<dyn Duplex> {
        Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&self.config)).unwrap(), stream))
    }
}

/// The behaviour of a web server.
#[derive(Clone, Copy)]
pub(crate) enum Web {
    /// Sends this answer.
    Says(&'static str),
    /// Sends this status line, with the request's head as the body.
    Echoes(&'static str),
    /// Never answers.
    Silent,
    /// Sends a head, then single bytes with pauses, without end.
    Drips,
    /// Sends a body without end.
    Floods,
}

pub(crate) fn web(answer: Web, authority: Option<Arc<Authority>>) -> Server {
    Server::listen(move |stream, input| {
        let stream = match &authority {
            Some(authority) => authority.secure(stream),
            None => Box::new(stream),
        };
        // A client that leaves earlier is ignored.
        let _ = respond(BufReader::new(stream), answer, input);
    })
}

fn respond(
    mut stream: BufReader<Box<dyn Duplex>>,
    answer: Web,
    input: &ConnectionInput,
) -> std::io::Result<()> {
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        input.push(&line);
        head.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    input.push(&String::from_utf8(body).unwrap());
    let out = stream.get_mut();
    match answer {
        Web::Says(text) => out.write_all(text.as_bytes())?,
        Web::Echoes(status) => {
            write!(out, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{head}", head.len())?
        }
        Web::Silent => loop {
            thread::park();
        },
        Web::Drips | Web::Floods => {
            out.write_all(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")?;
            loop {
                match answer {
                    Web::Drips => thread::sleep(std::time::Duration::from_millis(20)),
                    _ => out.write_all(&[b'x'; 8192])?,
                }
                out.write_all(b"x")?;
                out.flush()?;
            }
        }
    }
    out.flush()
}

/// Starts a proxy that connects every client to that port of this machine, or that answers with
/// this status line.
pub(crate) fn proxy(answer: Result<u16, &'static str>) -> Server {
    Server::listen(move |stream, input| {
        let _ = connect(stream, answer, input);
    })
}

fn connect(
    mut stream: TcpStream,
    answer: Result<u16, &'static str>,
    input: &ConnectionInput,
) -> std::io::Result<()> {
    let mut head = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 0 && line != "\r\n" {
        input.push(&line);
        line.clear();
    }
    let port = match answer {
        Ok(port) => port,
        Err(status) => return write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"),
    };
    let target = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    let (mut back, mut out) = (target.try_clone()?, stream.try_clone()?);
    thread::spawn(move || std::io::copy(&mut back, &mut out));
    std::io::copy(&mut head, &mut &target).map(drop)
}

/// The behaviour of a mail server.
#[derive(Clone, Default)]
pub(crate) struct Post {
    /// Its offers after EHLO.
    pub(crate) offers: &'static [&'static str],
    /// A command and its answer, instead of that of a server that accepts everything; `CONNECT` for
    /// its greeting, `.` for its answer to the end of a mail. An empty answer means silence.
    pub(crate) instead: Option<(&'static str, &'static str)>,
    /// TLS from the first byte.
    pub(crate) wrapped: bool,
    pub(crate) authority: Option<Arc<Authority>>,
}

pub(crate) fn post(post: Post) -> Server {
    Server::listen(move |stream, input| {
        let _ = deliver(stream, &post, input);
    })
}

fn deliver(stream: TcpStream, post: &Post, input: &ConnectionInput) -> std::io::Result<()> {
    let raw = stream.try_clone()?;
    let secure = |raw: TcpStream| BufReader::new(post.authority.as_ref().unwrap().secure(raw));
    let mut stream: BufReader<Box<dyn Duplex>> =
        if post.wrapped { secure(stream) } else { BufReader::new(Box::new(stream)) };
    let says = |out: &mut BufReader<Box<dyn Duplex>>, verb: &str, usual: &str| {
        let reply = post.instead.filter(|(at, _)| *at == verb).map_or(usual, |(_, reply)| reply);
        if reply.is_empty() {
            loop {
                thread::park();
            }
        }
        write!(out.get_mut(), "{reply}\r\n")?;
        out.get_mut().flush()
    };
    says(&mut stream, "CONNECT", "220 mail.test")?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        input.push(&line);
        let verb = line.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match verb.as_str() {
            "EHLO" => {
                let offers: String =
                    post.offers.iter().map(|offer| format!("250-{offer}\r\n")).collect();
                says(&mut stream, "EHLO", &format!("250-mail.test\r\n{offers}250 8BITMIME"))?;
            }
            "STARTTLS" => {
                says(&mut stream, "STARTTLS", "220 go on")?;
                stream = secure(raw.try_clone()?);
            }
            "AUTH" => says(&mut stream, "AUTH", "235 welcome")?,
            "DATA" => {
                says(&mut stream, "DATA", "354 go on")?;
                while post.instead.is_none_or(|(verb, _)| verb != "DATA") {
                    let mut line = String::new();
                    if stream.read_line(&mut line)? == 0 {
                        return Ok(());
                    }
                    input.push(&line);
                    if line == ".\r\n" {
                        break;
                    }
                }
                says(&mut stream, ".", "250 kept")?;
            }
            "QUIT" => return says(&mut stream, "QUIT", "221 bye"),
            other => says(&mut stream, other, "250 ok")?,
        }
    }
}
