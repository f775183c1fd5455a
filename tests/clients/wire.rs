//! The APIs of models, one module each: how a turn is asked for and answered, and how the client
//! tells the model what became of its calls.

pub(crate) mod chat;
pub(crate) mod generate;
pub(crate) mod responses;

use crate::case::Step;
use serde_json::Value;

/// The text in place of a step for which the client has no tool.
const NO_TOOL: &str = "this client has no such tool";

/// The API that a client speaks.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Returns true if a request asks for the model's next turn.
    pub(crate) is_turn: fn(path: &str, body: &Value) -> bool,
    /// Returns the answer that plays these steps.
    pub(crate) play: fn(turn: &Turn<'_>) -> Answer,
    /// Returns the answer to any other request; none if there is no such thing.
    pub(crate) answer_other: fn(path: &str) -> Option<Answer>,
    /// Returns the texts that the agent of a request was given as those of its user.
    pub(crate) user_texts: fn(body: &Value) -> Vec<&str>,
    /// Returns the names of the tools that a request offers.
    pub(crate) offered_tools: fn(body: &Value) -> Vec<&str>,
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

/// Returns the strings at `pointer` in each element of a list.
fn texts_at<'a>(list: Option<&'a Value>, pointer: &str) -> Vec<&'a str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|element| element.pointer(pointer)?.as_str()).collect()
}

/// Returns the texts in the messages of the user, whose parts are in the member `parts`.
fn texts_of_user<'a>(messages: Option<&'a Value>, parts: &str) -> Vec<&'a str> {
    let messages = messages.and_then(Value::as_array).into_iter().flatten();
    let own = messages.filter(|message| message.get("role").is_some_and(|role| role == "user"));
    let texts = own.filter_map(|message| message.get(parts)).flat_map(|content| {
        content.as_str().map_or_else(|| texts_at(Some(content), "/text"), |text| vec![text])
    });
    texts.collect()
}

/// Returns a result as text.
pub(crate) fn text_of(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}
