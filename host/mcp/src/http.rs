//! A server behind an address: streamable HTTP, in the form of version 2025-11-25, with sessions
//! and streams that can be resumed, and in that of 2026-07-28, which has neither.
//!
//! Each message is posted, in the order in which they came: a request waits until the notifications
//! before it were accepted. Each request has a thread, which reads its answer or its stream.

mod address;
mod event_stream;
mod exchange;
mod listener;
mod mirrored;
mod open;
mod posted;
mod refusal;
mod requests;
mod session;

pub use address::ServerAddress;

use crate::message::{MessageKind, RpcMessage};
use crate::relay::CANCELLED;
use crate::request_id::RequestId;
use crate::transport::{ServerInbox, ServerTransport};
use exchange::Exchanges;
use open::OpenRequests;
use posted::PostedMessage;
use session::HttpSession;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::Duration;
use ureq::http::header::{HeaderMap, HeaderName, HeaderValue};
use ureq::tls::{Certificate, PemItem, parse_pem};

/// Headers that belong to the transport: nobody else can set them.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The longest waits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// For a connection.
    pub connect: Duration,
    /// For the whole answer to a message that needs none, and for each write.
    pub accept: Duration,
    /// For the answer to a request, and for the next bytes of it.
    pub silence: Duration,
    /// For the answers to open requests once the client sends nothing more.
    pub last_answers: Duration,
    /// For the end of the session.
    pub farewell: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            accept: Duration::from_secs(10),
            silence: Duration::from_secs(600),
            last_answers: Duration::from_secs(10),
            farewell: Duration::from_secs(2),
        }
    }
}

/// A server that speaks streamable HTTP.
pub struct HttpServer {
    connection: Arc<HttpConnection>,
    outgoing: Sender<Outgoing>,
    /// `None` once the messages are posted.
    waiting: Mutex<Option<Receiver<Outgoing>>>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpServer")
    }
}

/// Work for the thread that posts.
enum Outgoing {
    Message(PostedMessage),
    /// Gives up a request of a session.
    Cancellation(PostedMessage, RequestId),
    Close,
}

/// Everything that the threads of one connection share.
struct HttpConnection {
    exchanges: Exchanges,
    session: Mutex<HttpSession>,
    open: OpenRequests,
    /// By tool, the arguments that are headers too.
    mirrored: Mutex<HashMap<String, Vec<mirrored::MirroredArgument>>>,
    inbox: OnceLock<Arc<dyn ServerInbox>>,
}

impl HttpServer {
    /// Prepares the connection to a server; nothing is sent yet. `headers` are sent with each
    /// request. `authorities` is a text in PEM: with it only these certificate authorities are
    /// trusted, without it Mozilla's.
    ///
    /// # Errors
    /// Fails with the reason if a header cannot be sent, or if there is no certificate. No value of
    /// a header is quoted.
    pub fn new(
        address: ServerAddress,
        headers: &[(String, String)],
        authorities: Option<&[u8]>,
        limits: HttpLimits,
    ) -> Result<Self, String> {
        let headers = read_headers(headers)?;
        let authorities = authorities.map(read_authorities).transpose()?;
        let (outgoing, waiting) = channel();
        let connection = HttpConnection {
            exchanges: Exchanges::new(address, headers, authorities, limits),
            session: Mutex::default(),
            open: OpenRequests::default(),
            mirrored: Mutex::default(),
            inbox: OnceLock::new(),
        };
        Ok(Self { connection: Arc::new(connection), outgoing, waiting: Mutex::new(Some(waiting)) })
    }

    /// Ends the connection now: open requests are given up, and the server is told that the session
    /// has ended.
    pub fn end_session(&self) {
        self.connection.end();
    }
}

impl ServerTransport for HttpServer {
    fn start(&self, inbox: Arc<dyn ServerInbox>) -> io::Result<()> {
        let Some(waiting) = lock(&self.waiting).take() else { return Ok(()) };
        let _first = self.connection.inbox.set(inbox);
        let connection = Arc::clone(&self.connection);
        let post = move || connection.post_messages(&waiting);
        Builder::new().name("portcullis-post".into()).spawn(post).map(drop)
    }

    fn send(&self, message: &RpcMessage) {
        let posted = PostedMessage::new(message, &lock(&self.connection.mirrored));
        let outgoing = match cancelled_request(message) {
            // The end of its stream is all that the server is told.
            Some(id) if self.connection.open.cancel_without_session(&id) => return,
            Some(id) => Outgoing::Cancellation(posted, id),
            None => Outgoing::Message(posted),
        };
        // The thread that posts ends with the connection.
        let _ = self.outgoing.send(outgoing);
    }

    fn close(&self) {
        let _ = self.outgoing.send(Outgoing::Close);
    }
}

impl HttpConnection {
    fn post_messages(self: Arc<Self>, waiting: &Receiver<Outgoing>) {
        for outgoing in waiting {
            match outgoing {
                Outgoing::Message(message) => match message.id.clone() {
                    Some(id) => self.start_request(id, message),
                    None => self.post_notice(&message),
                },
                Outgoing::Cancellation(message, id) => {
                    // In a session, only this notification gives the request up; a closed stream is
                    // taken for a lost one.
                    self.post_notice(&message);
                    self.open.cancel(&id);
                }
                Outgoing::Close => break,
            }
        }
        self.open.await_answers(self.exchanges.limits().last_answers);
        self.end();
        if let Some(inbox) = self.inbox.get() {
            inbox.end();
        }
    }

    fn report(&self, what: &str) {
        if let Some(inbox) = self.inbox.get() {
            inbox.report(what);
        }
    }
}

/// Returns the id of the request that a message of the client gives up.
fn cancelled_request(message: &RpcMessage) -> Option<RequestId> {
    match &message.kind {
        MessageKind::Notification { method } if method == CANCELLED => {
            RequestId::from_value(message.params()?.get("requestId")?)
        }
        _ => None,
    }
}

fn read_headers(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut read = HeaderMap::new();
    for (name, value) in headers {
        let shown = name.escape_debug();
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{shown}` is not the name of a header"))?;
        if RESERVED.contains(&known.as_str()) {
            return Err(format!("the header `{shown}` belongs to the gateway itself"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{shown}` has letters that no header may have")
        })?;
        value.set_sensitive(true);
        if read.insert(known, value).is_some() {
            return Err(format!("the header `{shown}` is named twice"));
        }
    }
    Ok(read)
}

fn read_authorities(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(pem).filter_map(certificate).collect();
    if found.is_empty() { Err("it holds no certificate in PEM".into()) } else { Ok(found) }
}

/// Locks a value that no panic leaves half-changed.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
