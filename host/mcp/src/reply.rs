//! Messages that the gateway writes itself.

use crate::request_id::RequestId;
use serde_json::{Value, json};

/// The code for a message that is not JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// The code for JSON that is not a message.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// The code for a method that does not exist.
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// The code for parameters that are not in order.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// The code for an answer of the server that does not reach the client.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// Returns a message as a line.
pub(crate) fn to_line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Returns an error of the protocol; without an id if the message has none that can be read.
pub(crate) fn error_line(id: Option<&RequestId>, code: i32, problem: &str) -> Vec<u8> {
    to_line(&json!({
        "jsonrpc": "2.0",
        "id": id.map(RequestId::to_value),
        "error": { "code": code, "message": format!("portcullis: {problem}") },
    }))
}

/// Returns the result of a call that did not run, or whose result the agent does not get. Clients
/// show its text to the agent, while an error of the protocol could end their work with the server.
/// `typed` is true for the generation of the protocol in which a result says its type.
pub(crate) fn refusal_line(id: &RequestId, reason: &str, typed: bool) -> Vec<u8> {
    let mut result = json!({ "content": [text_block(reason)], "isError": true });
    if let Some(result) = result.as_object_mut().filter(|_| typed) {
        result.insert("resultType".into(), "complete".into());
    }
    to_line(&json!({ "jsonrpc": "2.0", "id": id.to_value(), "result": result }))
}

/// Returns a text as a block of a result.
pub(crate) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
