//! A message on its way to the server: its body, and the headers that repeat parts of it.

use super::mirrored::{MirroredArgument, encode_header};
use crate::message::{MessageKind, RpcMessage};
use crate::request_id::RequestId;
use crate::tool_call::{CALL, PROMPT, READ, VERSION};
use serde_json::{Map, Value};
use std::collections::HashMap;
use ureq::http::header::{HeaderMap, HeaderName, HeaderValue};

/// The header with the version of the protocol.
pub(super) const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The headers that repeat a request's method, and the name of its tool, resource or prompt.
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
/// The methods with a name, and the parameter that holds it.
const NAMED: &[(&str, &str)] = &[(CALL, "name"), (READ, "uri"), (PROMPT, "name")];

/// The methods that the transport knows.
pub(super) const INITIALIZE: &str = "initialize";
pub(super) const INITIALIZED: &str = "notifications/initialized";
const LISTEN: &str = "subscriptions/listen";
const LIST: &str = "tools/list";

/// A message that is posted.
#[derive(Debug)]
pub(super) struct PostedMessage {
    /// The message without its line's end.
    pub(super) body: Vec<u8>,
    /// Its method; empty for an answer.
    pub(super) method: String,
    /// Its id, if the server answers it.
    pub(super) id: Option<RequestId>,
    /// The headers that repeat parts of it.
    pub(super) headers: HeaderMap,
    /// True if it says its version of the protocol itself: then there are no sessions, and the end
    /// of its stream gives it up.
    pub(super) says_version: bool,
}

impl PostedMessage {
    /// Prepares a message. `mirrored` has the arguments of each tool that are headers too.
    pub(super) fn new(
        message: &RpcMessage,
        mirrored: &HashMap<String, Vec<MirroredArgument>>,
    ) -> Self {
        let (id, method) = match &message.kind {
            MessageKind::Request { id, method } => (Some(id.clone()), method.clone()),
            MessageKind::Notification { method } => (None, method.clone()),
            MessageKind::Response { .. } => (None, String::new()),
        };
        let end = message.bytes.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        let body = message.bytes.get(..end.map_or(0, |at| at + 1)).unwrap_or_default().to_vec();
        let params = message.params();
        let version = params
            .and_then(|params| params.get("_meta")?.get(VERSION)?.as_str())
            .and_then(|version| HeaderValue::from_str(version).ok());
        let mut posted =
            Self { body, method, id, headers: HeaderMap::new(), says_version: version.is_some() };
        if let Some(version) = version {
            posted.headers.insert(VERSION_HEADER, version);
            posted.repeat(params, mirrored);
        }
        posted
    }

    /// Returns true for a request whose stream stays open without end.
    pub(super) fn listens(&self) -> bool {
        self.method == LISTEN
    }

    /// Returns true for a request for a page of tools.
    pub(super) fn lists_tools(&self) -> bool {
        self.method == LIST
    }

    fn repeat(
        &mut self,
        params: Option<&Map<String, Value>>,
        mirrored: &HashMap<String, Vec<MirroredArgument>>,
    ) {
        let method = self.method.clone();
        self.add(METHOD_HEADER, &method);
        let key = NAMED.iter().find(|(named, _)| *named == method).map(|(_, key)| *key);
        let name = key.and_then(|key| params?.get(key)?.as_str());
        let Some(name) = name else { return };
        self.add(NAME_HEADER, name);
        let arguments = params.and_then(|params| params.get("arguments")?.as_object());
        let Some(arguments) = arguments.filter(|_| method == CALL) else { return };
        for argument in mirrored.get(name).into_iter().flatten() {
            let Some((header, value)) = argument.header(arguments) else { continue };
            if let (Ok(header), Ok(value)) =
                (HeaderName::from_bytes(header.as_bytes()), HeaderValue::from_str(&value))
            {
                self.headers.insert(header, value);
            }
        }
    }

    fn add(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(&encode_header(value)) {
            self.headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(text: &str) -> PostedMessage {
        PostedMessage::new(&RpcMessage::parse(text.as_bytes().to_vec()).unwrap(), &HashMap::new())
    }

    #[test]
    fn only_messages_that_say_their_version_have_headers() {
        let old = posted("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\r\n");
        assert!(old.headers.is_empty() && !old.says_version);
        assert!(old.body.ends_with(b"}}"));
        let version = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        for (method, params, name) in [
            ("tools/call", r#""name":"a","#, Some("a")),
            ("resources/read", r#""uri":"file:///ä","#, Some("=?base64?ZmlsZTovLy/DpA==?=")),
            ("prompts/get", r#""name":" x","#, Some("=?base64?IHg=?=")),
            ("tools/list", r#""name":"a","#, None),
        ] {
            let text = format!(r#"{{"id":1,"method":"{method}","params":{{{params}{version}}}}}"#);
            let posted = posted(&text);
            let header = |name: HeaderName| posted.headers.get(name).map(|v| v.to_str().unwrap());
            assert_eq!(header(VERSION_HEADER), Some("2026-07-28"));
            assert_eq!(header(METHOD_HEADER), Some(method));
            assert_eq!(header(NAME_HEADER), name);
        }
    }
}
