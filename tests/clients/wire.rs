//! The APIs of models, one module each: how a turn is asked for and answered, and how the client
//! tells the model what became of its calls.

pub(crate) mod chat;
pub(crate) mod generate;
pub(crate) mod responses;

use crate::case::Step;
use serde_json::Value;

/// The API that a client speaks.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Returns true if a request asks for the model's next turn.
    pub(crate) is_turn: fn(path: &str, body: &Value) -> bool,
    /// Returns the answer that plays these steps.
    pub(crate) play: fn(turn: &Turn<'_>) -> Answer,
    /// Returns the answer to any other request; none if there is no such thing.
    pub(crate) answer_other: fn(path: &str) -> Option<Answer>,
    /// Returns what the model was told of each of its calls, in order, by all requests for turns.
    pub(crate) tool_results: fn(requests: &[Value]) -> Vec<String>,
}

/// The steps of one turn, each with the id of its call.
pub(crate) struct Turn<'a> {
    /// The path of the request.
    pub(crate) path: &'a str,
    /// The request.
    pub(crate) body: &'a Value,
    /// The steps.
    pub(crate) steps: Vec<(String, Step)>,
}

/// An answer.
pub(crate) struct Answer {
    /// Its content type.
    pub(crate) kind: &'static str,
    /// Its text.
    pub(crate) text: String,
}

impl Answer {
    /// Returns an answer of one JSON document.
    pub(crate) fn json(document: &Value) -> Self {
        Self { kind: "application/json", text: document.to_string() }
    }

    /// Returns a stream of events.
    pub(crate) const fn stream(text: String) -> Self {
        Self { kind: "text/event-stream", text }
    }
}

/// Returns a result as text.
pub(crate) fn text_of(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}
