//! A registry that serves what a test defines, with faults, and records its requests.

use crate::authority::secure;
use crate::sample::at;
use portcullis_bundle::media_type::{INDEX, MANIFEST, SIGNATURE};
use portcullis_bundle::{Bundle, Digest, OciDescriptor, Signature};
use portcullis_registry::Reference;
use rustls::ServerConfig;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A response of the registry.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Status, additional headers, body.
    Says(&'static str, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes, including a header, after which the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, and then nothing.
    Stalls(Vec<u8>),
    /// These bytes, and then endlessly one after another.
    Drips(Vec<u8>),
    /// These bytes, and then as many as the client reads.
    Floods(Vec<u8>),
    /// The second response for requests with this value of the header, the first for all others.
    Knows(String, Box<Reply>, Box<Reply>),
}

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Method and target.
    pub(crate) line: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// A server that runs as long as the tests. It answers "not found" for everything without a route.
pub(crate) struct Fake {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Responses by method and path; each of several is given once, and the last one repeatedly.
    routes: BTreeMap<String, Vec<Reply>>,
    requests: Vec<Request>,
}

pub(crate) fn says(status: &'static str, body: impl Into<Vec<u8>>) -> Reply {
    Reply::Says(status, Vec::new(), body.into())
}

pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Reply {
    says("200 OK", body)
}

pub(crate) fn leads(to: impl Into<String>) -> Reply {
    Reply::Says("307 Temporary Redirect", vec![("location", to.into())], Vec::new())
}

pub(crate) fn challenges(with: impl Into<String>) -> Reply {
    Reply::Says("401 Unauthorized", vec![("www-authenticate", with.into())], Vec::new())
}

/// Returns a header that announces this many bytes.
pub(crate) fn head(length: u64) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

impl Fake {
    pub(crate) fn new(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (state, tls) = (Arc::clone(&shared), tls.clone());
                // A client that closes the connection early is ignored.
                thread::spawn(move || {
                    let stream: TcpStream = stream?;
                    match tls {
                        Some(config) => serve(BufReader::new(secure(&config, stream)), &state),
                        None => serve(BufReader::new(stream), &state),
                    }
                });
            }
        });
        Self { port, state }
    }

    /// Creates a registry that serves a bundle with its signatures, under `:1` and by digest.
    pub(crate) fn serving(bundle: &Bundle, signatures: &[Signature]) -> Self {
        let fake = Self::new(None);
        fake.lay(bundle, signatures);
        fake
    }

    pub(crate) fn lay(&self, bundle: &Bundle, signatures: &[Signature]) {
        let index = bundle.index();
        for under in ["1".to_owned(), index.digest().to_string()] {
            self.on(&format!("GET {}", manifest(&under)), [ok(index.bytes())]);
        }
        for (digest, bytes) in bundle.blobs() {
            let is_manifest = index.manifests().iter().any(|manifest| manifest.digest == digest);
            let path = if is_manifest { manifest(&digest.to_string()) } else { blob(digest) };
            self.on(&format!("GET {path}"), [ok(bytes)]);
        }
        let entries: Vec<_> =
            signatures.iter().map(|signature| self.lay_signature(bundle, signature)).collect();
        self.list(bundle, &entries);
    }

    /// Serves a signature; returns its entry for a list of referrers.
    pub(crate) fn lay_signature(
        &self,
        bundle: &Bundle,
        signature: &Signature,
    ) -> serde_json::Value {
        let (document, parts) = signature.to_artifact(&described(bundle)).unwrap();
        for part in &parts {
            self.on(&format!("GET {}", blob(Digest::of_bytes(part))), [ok(part.as_slice())]);
        }
        let digest = Digest::of_bytes(&document);
        let entry = json!({ "mediaType": MANIFEST, "digest": digest, "size": document.len(), "artifactType": SIGNATURE });
        self.on(&format!("GET {}", manifest(&digest.to_string())), [ok(document)]);
        entry
    }

    /// Sets the list of artifacts that refer to a bundle.
    pub(crate) fn list(&self, bundle: &Bundle, entries: &[serde_json::Value]) {
        self.on(&format!("GET {}", referrers(bundle)), [ok(list(entries))]);
    }

    pub(crate) fn on(&self, route: &str, replies: impl Into<Vec<Reply>>) {
        self.state.lock().unwrap().routes.insert(route.to_owned(), replies.into());
    }

    /// Wraps the responses of this route.
    pub(crate) fn wrap(&self, route: &str, wrap: impl Fn(Reply) -> Reply) {
        for reply in self
            .state
            .lock()
            .unwrap()
            .routes
            .get_mut(route)
            .unwrap_or_else(|| panic!("no route {route}"))
        {
            *reply = wrap(reply.clone());
        }
    }

    /// Wraps the responses of all routes.
    pub(crate) fn wrap_all(&self, wrap: impl Fn(Reply) -> Reply) {
        for reply in self.state.lock().unwrap().routes.values_mut().flatten() {
            *reply = wrap(reply.clone());
        }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Counts the requests that begin with this text.
    pub(crate) fn count(&self, begins: &str) -> usize {
        self.requests().iter().filter(|request| request.line.starts_with(begins)).count()
    }

    pub(crate) fn at(&self, rest: &str) -> Reference {
        at(self.port, rest)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

pub(crate) fn manifest(under: &str) -> String {
    format!("/v2/acme/checks/manifests/{under}")
}

pub(crate) fn blob(digest: Digest) -> String {
    format!("/v2/acme/checks/blobs/{digest}")
}

pub(crate) fn referrers(bundle: &Bundle) -> String {
    format!("/v2/acme/checks/referrers/{}", bundle.index().digest())
}

pub(crate) fn list(entries: &[serde_json::Value]) -> Vec<u8> {
    serde_json::to_vec(&json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": entries }))
        .unwrap()
}

/// Returns the route of a bundle's component.
pub(crate) fn component(bundle: &Bundle, number: usize) -> String {
    format!("GET {}", blob(bundle.about().components[number].digest))
}

pub(crate) fn described(bundle: &Bundle) -> OciDescriptor {
    let index = bundle.index();
    OciDescriptor {
        media_type: INDEX.into(),
        digest: index.digest(),
        size: index.bytes().len() as u64,
        annotations: BTreeMap::new(),
    }
}

fn serve(mut stream: BufReader<impl Read + Write>, state: &Mutex<State>) -> std::io::Result<()> {
    let (mut line, mut length, mut authorization) = (String::new(), 0, None);
    if stream.read_line(&mut line).is_err() {
        // TLS sent to a plain server: the answer of servers that only know HTTP.
        return stream
            .get_mut()
            .write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    loop {
        let mut header = String::new();
        if stream.read_line(&mut header)? == 0 || header == "\r\n" {
            break;
        }
        match header.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap()
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                authorization = Some(value.trim().to_owned())
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let path = line.split('?').next().unwrap().to_owned();
    let reply = {
        let mut state = state.lock().unwrap();
        state.requests.push(Request {
            line: line.clone(),
            authorization: authorization.clone(),
            body,
        });
        match state.routes.get_mut(&path) {
            Some(replies) if replies.len() > 1 => replies.remove(0),
            Some(replies) => replies[0].clone(),
            None => says("404 Not Found", ""),
        }
    };
    respond(stream.get_mut(), reply, authorization.as_deref(), line.starts_with("HEAD"))
}

fn respond(
    out: &mut impl Write,
    reply: Reply,
    authorization: Option<&str>,
    bare: bool,
) -> std::io::Result<()> {
    match reply {
        Reply::Knows(who, others, known) => {
            return respond(
                out,
                if authorization == Some(who.as_str()) { *known } else { *others },
                authorization,
                bare,
            );
        }
        Reply::Says(status, headers, body) => {
            write!(
                out,
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n",
                body.len()
            )?;
            for (name, value) in headers {
                write!(out, "{name}: {value}\r\n")?;
            }
            out.write_all(b"\r\n")?;
            out.write_all(if bare { &[] } else { &body })?;
        }
        Reply::Raw(bytes) => out.write_all(&bytes)?,
        Reply::Stalls(bytes) => {
            out.write_all(&bytes)?;
            out.flush()?;
            loop {
                thread::park();
            }
        }
        Reply::Drips(bytes) => {
            out.write_all(&bytes)?;
            loop {
                out.write_all(b"x")?;
                out.flush()?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        Reply::Floods(bytes) => {
            out.write_all(&bytes)?;
            loop {
                out.write_all(&[b'x'; 8192])?;
            }
        }
    }
    out.flush()
}
