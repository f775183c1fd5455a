//! Answers with a status that says that the server did not take a message.

use super::exchange::JSON;
use crate::message::{MessageKind, RpcMessage};
use crate::reply::to_line;
use crate::request_id::RequestId;
use serde_json::{Value, json};
use std::io::Read;
use ureq::Body;
use ureq::http::Response;
use ureq::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};

/// The most bytes of a refusal that are read.
const MAX_REFUSAL: u64 = 64 << 10;
/// The most letters of a server's own words in an error.
const MOST_WORDS: usize = 200;

/// The meaning of a refusal.
pub(super) enum Refusal {
    /// The server's own answer to the request, as a line.
    Answer(Vec<u8>),
    /// The problem.
    Problem(String),
}

impl Refusal {
    /// Reads a refusal. `id` is the request's, if it was one, and `in_session` is true if the
    /// server was told a session's id.
    pub(super) fn read(answer: Response<Body>, id: Option<&RequestId>, in_session: bool) -> Self {
        let status = answer.status().as_u16();
        let signs_in = answer.headers().contains_key(WWW_AUTHENTICATE);
        let error = read_error(answer);
        let own = |message: &RpcMessage| matches!(&message.kind, MessageKind::Response { id: found } if found.as_ref() == id);
        let words = error
            .as_ref()
            .and_then(|message| message.object.get("error")?.get("message")?.as_str())
            .map(|words| words.chars().take(MOST_WORDS).collect::<String>())
            .map_or_else(String::new, |words| format!(": {}", words.escape_debug()));
        let problem = match status {
            401 | 403 => format!(
                "the server refuses access ({status}{words}). {} Give it a header with `--header`",
                if signs_in {
                    "It asks for a sign-in, which the gateway cannot make."
                } else {
                    "It knows no credentials of the gateway."
                }
            ),
            404 if in_session => format!(
                "the server has ended the session ({status}{words}): the client has to connect again"
            ),
            _ => match (error, id) {
                (Some(message), Some(_)) if own(&message) => {
                    return Self::Answer(message.bytes);
                }
                (Some(message), Some(id)) => {
                    // It answers this request and no other one: a server that could not read the
                    // request does not repeat its id.
                    let error = message.object.get("error").cloned().unwrap_or(Value::Null);
                    let answer = json!({ "jsonrpc": "2.0", "id": id.to_value(), "error": error });
                    return Self::Answer(to_line(&answer));
                }
                _ if matches!(status, 404 | 405) => format!(
                    "there is no server for streamable HTTP at this address ({status}): the \
                     gateway does not know the older transport with two addresses"
                ),
                _ => format!("the server answered with the status {status}{words}"),
            },
        };
        Self::Problem(problem)
    }

    /// Returns the problem as text.
    pub(super) fn into_problem(self) -> String {
        match self {
            Self::Problem(problem) => problem,
            Self::Answer(line) => {
                let text = String::from_utf8_lossy(&line).into_owned();
                format!(
                    "the server answered {}",
                    text.trim().chars().take(MOST_WORDS).collect::<String>()
                )
            }
        }
    }
}

/// Reads the error of the protocol in the answer's body.
fn read_error(answer: Response<Body>) -> Option<RpcMessage> {
    if !is_type(&answer, JSON) {
        return None;
    }
    let mut text = Vec::new();
    let body = answer.into_body().into_reader();
    body.take(MAX_REFUSAL).read_to_end(&mut text).ok()?;
    let message = RpcMessage::parse(super::event_stream::join_lines(&text)).ok()?;
    message.object.contains_key("error").then_some(message)
}

/// Returns true if an answer has this media type.
pub(super) fn is_type(answer: &Response<Body>, wanted: &str) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}
