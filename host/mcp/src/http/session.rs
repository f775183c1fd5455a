//! The session with a server: its id, the agreed version, and its end.

use super::exchange::RequestParts;
use super::posted::VERSION_HEADER;
use super::{HttpConnection, lock};
use ureq::http::Method;
use ureq::http::header::{HeaderMap, HeaderName, HeaderValue};

/// The header with the session's id.
pub(super) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// The most bytes of a session's id.
const MOST_ID: usize = 1024;

/// The session, as far as the server has told it.
#[derive(Debug, Default)]
pub(super) struct HttpSession {
    /// The session's number: a new one begins with each `initialize`.
    number: u64,
    id: Option<HeaderValue>,
    /// The agreed version of the protocol.
    version: Option<HeaderValue>,
}

impl HttpConnection {
    /// Forgets the session, since the client begins another one.
    pub(super) fn renew_session(&self) {
        let mut session = lock(&self.session);
        *session = HttpSession { number: session.number + 1, ..HttpSession::default() };
    }

    /// Takes the session's id from the answer to `initialize`.
    pub(super) fn take_session_id(&self, headers: &HeaderMap) -> Result<(), String> {
        let Some(id) = headers.get(SESSION_HEADER) else { return Ok(()) };
        let visible = id.as_bytes().iter().all(u8::is_ascii_graphic);
        if !visible || id.is_empty() || id.len() > MOST_ID {
            return Err("the server's session has an id that cannot be used".into());
        }
        let mut id = id.clone();
        id.set_sensitive(true);
        lock(&self.session).id = Some(id);
        Ok(())
    }

    /// Takes the version of the protocol from the result of `initialize`.
    pub(super) fn take_version(&self, version: &str) {
        lock(&self.session).version = HeaderValue::from_str(version).ok();
    }

    /// Returns the headers of the session, and its number.
    pub(super) fn session_headers(&self) -> (HeaderMap, u64) {
        let session = lock(&self.session);
        let mut headers = HeaderMap::new();
        if let Some(id) = &session.id {
            headers.insert(SESSION_HEADER, id.clone());
        }
        if let Some(version) = &session.version {
            headers.insert(VERSION_HEADER, version.clone());
        }
        (headers, session.number)
    }

    /// Returns true if the session with this number is still the client's.
    pub(super) fn is_current(&self, number: u64) -> bool {
        lock(&self.session).number == number
    }

    /// Ends everything: streams are closed, and the server is told. Only the first call does it.
    pub(super) fn end(&self) {
        if !self.open.end() {
            return;
        }
        let (headers, _) = self.session_headers();
        if !headers.contains_key(SESSION_HEADER) {
            return;
        }
        let limit = Some(self.exchanges.limits().farewell);
        let parts = RequestParts {
            method: Method::DELETE,
            headers,
            body: None,
            patience: limit,
            body_limit: limit,
        };
        // A server need not support it, and may be gone.
        let _ended = self.exchanges.send(&self.exchanges.take_agent(), &parts);
    }
}
