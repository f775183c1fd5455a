//! A receiver on the loopback interface: a web service, with TLS or without, or a syslog server. A
//! script says what it does with each delivery.

use anyhow::{Context, Result, anyhow};
use flate2::read::MultiGzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use prost::Message;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver as Waiting, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The longest wait of a test for something that has to happen.
pub const LONG: Duration = Duration::from_secs(60);

/// What a receiver speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    Webhook,
    Otlp,
    Splunk,
    Syslog,
}

/// What a receiver does with a delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// It takes it.
    Take,
    /// It refuses it for now, and takes nothing.
    Refuse,
    /// It refuses it for good, and takes nothing.
    Reject,
    /// It refuses the credential.
    Deny,
    /// It takes it, and hangs up without an answer.
    Lose,
    /// It takes it, and answers when the test says so.
    Hold,
}

/// A delivery that was taken.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The request's line and headers.
    pub head: String,
    pub body: Vec<u8>,
}

pub struct Receiver {
    pub port: u16,
    protocol: Protocol,
    taken: Arc<Mutex<Vec<Delivery>>>,
    /// A message for each delivery that is held.
    held: Mutex<Waiting<()>>,
    release: Sender<()>,
}

impl Receiver {
    /// Starts a receiver; `script` gets the number of a delivery, from 0, and its body.
    pub fn start(
        protocol: Protocol,
        authority: Option<&Authority>,
        script: impl Fn(usize, &[u8]) -> Step + Send + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (tell_held, held) = channel();
        let (release, released) = channel();
        let config = authority.map(|authority| Arc::clone(&authority.config));
        let mut served =
            Served { protocol, taken: Arc::clone(&taken), count: 0, tell_held, released };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A sender that was killed breaks its connection.
                let _broken = match &config {
                    Some(config) => served.serve_encrypted(stream, config, &script),
                    None => served.serve(&mut Plain(stream), &script).map(drop),
                };
            }
        });
        Ok(Self { port, protocol, taken, held: Mutex::new(held), release })
    }

    /// Returns what was taken.
    pub fn taken(&self) -> Vec<Delivery> {
        self.taken.lock().unwrap().clone()
    }

    /// Waits until a delivery is held.
    pub fn await_held(&self) -> Result<()> {
        self.held.lock().unwrap().recv_timeout(LONG).context("no delivery is held")
    }

    pub fn release(&self) {
        // The receiver lives as long as the test.
        let _sent = self.release.send(());
    }

    /// Returns the positions of the records of each delivery.
    pub fn sequences(&self) -> Result<Vec<Vec<u64>>> {
        self.taken().iter().map(|delivery| read_sequences(self.protocol, &delivery.body)).collect()
    }
}

/// The receiver's side of connections.
struct Served {
    protocol: Protocol,
    taken: Arc<Mutex<Vec<Delivery>>>,
    count: usize,
    tell_held: Sender<()>,
    released: Waiting<()>,
}

type Script = dyn Fn(usize, &[u8]) -> Step;

impl Served {
    fn serve_encrypted(
        &mut self,
        stream: TcpStream,
        config: &Arc<ServerConfig>,
        script: &Script,
    ) -> Result<()> {
        let connection = ServerConnection::new(Arc::clone(config))?;
        let mut stream = StreamOwned::new(connection, stream);
        if self.serve(&mut stream, script)? {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        Ok(())
    }

    /// Serves one connection; returns true if it is to end well.
    fn serve(&mut self, stream: &mut dyn Duplex, script: &Script) -> Result<bool> {
        let delivery = match self.protocol {
            Protocol::Syslog => {
                let mut body = Vec::new();
                stream.read_to_end(&mut body)?;
                Delivery { head: String::new(), body }
            }
            _ => read_request(stream)?,
        };
        let is_question = delivery.head.starts_with("POST /services/collector/ack");
        if is_question {
            answer(stream, "200 OK", "{\"acks\":{\"1\":true}}")?;
            return Ok(true);
        }
        let step = script(self.count, &delivery.body);
        self.count += 1;
        if !matches!(step, Step::Refuse | Step::Reject | Step::Deny) {
            self.taken.lock().unwrap().push(delivery);
        }
        match step {
            Step::Lose => return Ok(false),
            Step::Hold => {
                let _heard = self.tell_held.send(());
                self.released.recv().context("the test has ended")?;
            }
            _ => {}
        }
        match (self.protocol, step) {
            (Protocol::Syslog, Step::Refuse | Step::Reject | Step::Deny) => return Ok(false),
            (Protocol::Syslog, _) => {}
            (_, Step::Refuse) => answer(stream, "503 Busy", "")?,
            (_, Step::Deny) => answer(stream, "401 Unauthorized", "")?,
            (_, Step::Reject) => answer(stream, "400 Bad Request", "no such thing")?,
            (Protocol::Splunk, _) => {
                answer(stream, "200 OK", "{\"text\":\"Success\",\"code\":0,\"ackId\":1}")?;
            }
            _ => answer(stream, "200 OK", "")?,
        }
        Ok(true)
    }
}

pub trait Duplex: Read + Write {}
impl<T: Read + Write> Duplex for T {}

/// A connection without TLS.
struct Plain(TcpStream);

impl Read for Plain {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn read_request(stream: &mut dyn Duplex) -> Result<Delivery> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head)?;
    let length = head.to_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.context("no length")?.trim().parse()?];
    stream.read_exact(&mut body)?;
    if head.to_lowercase().contains("content-encoding: gzip\r\n") {
        let packed = std::mem::take(&mut body);
        MultiGzDecoder::new(&packed[..]).read_to_end(&mut body)?;
    }
    Ok(Delivery { head, body })
}

fn answer(stream: &mut dyn Duplex, status: &str, body: &str) -> Result<()> {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes())?;
    Ok(stream.flush()?)
}

/// Reads the positions of records as a receiver of that protocol does.
pub fn read_sequences(protocol: Protocol, body: &[u8]) -> Result<Vec<u64>> {
    let number = |value: &Value| value.as_u64().context("no position");
    match protocol {
        Protocol::Webhook => {
            let lines = std::str::from_utf8(body)?.lines();
            lines.map(|line| number(&serde_json::from_str::<Value>(line)?["sequence"])).collect()
        }
        Protocol::Splunk => {
            let lines = std::str::from_utf8(body)?.lines();
            let event = |line| number(&serde_json::from_str::<Value>(line)?["event"]["sequence"]);
            lines.map(event).collect()
        }
        Protocol::Otlp => {
            let request = ExportLogsServiceRequest::decode(body)?;
            let logs = request.resource_logs.iter().flat_map(|logs| &logs.scope_logs);
            logs.flat_map(|scope| &scope.log_records)
                .map(|record| {
                    let mut all = record.attributes.iter();
                    let found = all.find(|pair| pair.key == "portcullis.record.sequence");
                    match found.and_then(|pair| pair.value.clone()?.value) {
                        Some(AnyValue::IntValue(position)) => Ok(position.cast_unsigned()),
                        other => Err(anyhow!("no position: {other:?}")),
                    }
                })
                .collect()
        }
        Protocol::Syslog => read_frames(body)?.iter().map(|line| read_position(line)).collect(),
    }
}

/// Returns the position in an event of CEF.
pub fn read_position(line: &str) -> Result<u64> {
    let rest = line.split(" cn1=").nth(1).with_context(|| format!("no position in {line}"))?;
    Ok(rest.split(' ').next().unwrap_or_default().parse()?)
}

/// Splits frames by their lengths.
fn read_frames(body: &[u8]) -> Result<Vec<String>> {
    let mut rest = body;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ').context("no length")?;
        let length: usize = std::str::from_utf8(&rest[..blank])?.parse()?;
        let frame = rest.get(blank + 1..blank + 1 + length).context("a frame is cut")?;
        frames.push(String::from_utf8(frame.to_vec())?);
        rest = &rest[blank + 1 + length..];
    }
    Ok(frames)
}

/// An authority, and a server's keys for `127.0.0.1` that it signed.
pub struct Authority {
    pub path: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
    config: Arc<ServerConfig>,
}

impl Authority {
    /// Makes one, and writes its certificate and the server's into a folder.
    pub fn make(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key)?.der().clone();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate()?;
        let signed =
            CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
        let secret =
            PrivateKeyDer::try_from(key.serialize_der()).map_err(|error| anyhow!(error))?;
        let write = |name: &str, kind: &str, der: &[u8]| -> Result<PathBuf> {
            let base64 = data_encoding::BASE64.encode(der);
            let lines: Vec<&str> = base64
                .as_bytes()
                .chunks(64)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect();
            let text = lines.join("\n");
            let path = folder.join(name);
            fs::write(&path, format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n"))?;
            Ok(path)
        };
        let path = write("authority.pem", "CERTIFICATE", &own)?;
        let certificate = write("server.pem", "CERTIFICATE", signed.der())?;
        let key = write("server.key", "PRIVATE KEY", secret.secret_der())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![signed.der().clone()], secret)?;
        Ok(Self { path, certificate, key, config: Arc::new(config) })
    }
}
