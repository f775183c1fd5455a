//! The work of the thread that reviews: calls, results and lists of tools.

use super::{Relay, lock};
use crate::gate::{CallRuling, ResultRuling};
use crate::listing::{FirstList, next_cursor, tools_of, without_held};
use crate::message::RpcMessage;
use crate::pin_store::ToolState;
use crate::reply::{INTERNAL_ERROR, error_line, refusal_line, text_block, to_line};
use crate::request_id::RequestId;
use crate::tool_call::{CallKind, GatewayCall, ToolResult, check_members, replace_input};
use crate::waiting::{ForwardedCall, Waiting};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Relay {
    pub(super) fn review_call(&self, id: &RequestId, call: GatewayCall, message: RpcMessage) {
        let is_given_up =
            || self.client_ended.load(Ordering::Relaxed) || lock(&self.waiting).is_cancelled(id);
        let (message, notes, reviewed_elsewhere) = match self.gate.review_call(&call, &is_given_up)
        {
            CallRuling::Forward => (message, Vec::new(), false),
            CallRuling::ForwardReviewed => (message, Vec::new(), true),
            CallRuling::Rewrite(input, notes) => {
                (replace_input(message, call.kind, input), notes, false)
            }
            CallRuling::Refuse(reason) => {
                if lock(&self.waiting).end_review(id, None) {
                    self.answer_client(&refusal(id, &call, &reason));
                }
                return;
            }
        };
        let since = Instant::now();
        let called = Arc::new(ForwardedCall { call, since, notes, reviewed_elsewhere });
        if lock(&self.waiting).end_review(id, Some(Waiting::Called(called))) {
            self.server.send(&message);
        }
    }

    pub(super) fn review_result(
        &self,
        id: &RequestId,
        called: &Arc<ForwardedCall>,
        message: RpcMessage,
    ) {
        let message = self.without_ambiguity(message);
        let (name, value) = match (message.object.get("result"), message.object.get("error")) {
            (Some(result), _) => ("result", result),
            (None, Some(error)) => ("error", error),
            (None, None) => return,
        };
        lock(&self.waiting).keep_task(value, called);
        if called.reviewed_elsewhere {
            self.answer_client(&message.bytes);
            return;
        }
        let failed = name == "error" || value.get("isError").and_then(Value::as_bool) == Some(true);
        let duration_ms = u32::try_from(called.since.elapsed().as_millis()).unwrap_or(u32::MAX);
        let result = ToolResult { failed, value: value.clone(), duration_ms };
        let mut ruling = self.gate.review_result(&called.call, &result);
        ruling.notes.splice(0..0, called.notes.iter().cloned());
        let line = match &ruling.withheld {
            Some(reason) => refusal(id, &called.call, reason),
            None => changed_result(name, message, ruling),
        };
        self.answer_client(&line);
    }

    /// Returns an error in place of a result of which clients could read different parts.
    fn without_ambiguity(&self, message: RpcMessage) -> RpcMessage {
        let problem = ["result", "error"].iter().find_map(|name| {
            message.object.get(*name).and_then(|value| check_members(name, value).err())
        });
        let Some(problem) = problem else { return message };
        self.gate.report(&format!("a result of the server was dropped: {problem}"));
        let problem = format!("portcullis: the server's answer was dropped: {problem}");
        let error = json!({ "code": INTERNAL_ERROR, "message": problem });
        let mut object = message.object;
        object.shift_remove("result");
        object.insert("error".into(), error);
        RpcMessage { bytes: to_line(&Value::Object(object.clone())), object, ..message }
    }

    pub(super) fn review_list(
        &self,
        id: &RequestId,
        cursor: Option<&str>,
        message: &RpcMessage,
        first: &mut FirstList,
    ) {
        let Some(tools) = tools_of(message) else {
            let line = if message.object.contains_key("error") {
                message.bytes.clone()
            } else {
                error_line(Some(id), INTERNAL_ERROR, "the server's list of tools has no `tools`")
            };
            return self.answer_client(&line);
        };
        let first_use = first.advance(cursor, next_cursor(message));
        let line = match self.gate.review_tools(&tools, first_use) {
            Ok(states) => {
                for (tool, state) in tools.iter().zip(&states) {
                    if let ToolState::Held(reason) = state {
                        let name = tool.name.escape_debug();
                        self.gate.report(&format!("the tool `{name}` {}", reason.describe()));
                    }
                }
                without_held(message, &states)
            }
            Err(error) => error_line(Some(id), INTERNAL_ERROR, &error.to_string()),
        };
        self.answer_client(&line);
    }
}

/// Returns the line of a call that is refused, or whose result is withheld.
fn refusal(id: &RequestId, call: &GatewayCall, reason: &str) -> Vec<u8> {
    match call.kind {
        CallKind::Tool => refusal_line(id, reason, call.wants_typed_results()),
        // Their results have no form for a failure.
        CallKind::Resource | CallKind::Prompt => error_line(Some(id), INTERNAL_ERROR, reason),
    }
}

/// Returns the line of a result as the gate wants it; the server's own bytes if it wants nothing
/// else.
fn changed_result(name: &str, message: RpcMessage, ruling: ResultRuling) -> Vec<u8> {
    if ruling.replacement.is_none() && ruling.notes.is_empty() {
        return message.bytes;
    }
    let mut object = message.object;
    if let Some(replacement) = ruling.replacement {
        object.insert(name.to_owned(), replacement);
    }
    if let Some(Value::Object(value)) = object.get_mut(name) {
        add_notes(name, value, &ruling.notes);
    }
    to_line(&Value::Object(object))
}

/// Adds notes for the agent: as blocks, messages or texts to a result, at the end of an error's
/// message.
fn add_notes(name: &str, value: &mut Map<String, Value>, notes: &[String]) {
    // A result of another form, such as questions to the person, has no place for them.
    if let ("result", Some(Value::Array(blocks))) = (name, value.get_mut("content")) {
        blocks.extend(notes.iter().map(|note| text_block(note)));
    } else if let ("result", Some(Value::Array(messages))) = (name, value.get_mut("messages")) {
        let message = |note: &String| json!({ "role": "user", "content": text_block(note) });
        messages.extend(notes.iter().map(message));
    } else if let ("result", Some(Value::Array(texts))) = (name, value.get_mut("contents")) {
        let uri = texts.first().and_then(|text| text.get("uri")).cloned().unwrap_or_default();
        texts.extend(notes.iter().map(|note| json!({ "uri": uri, "text": note })));
    } else if let ("error", Some(Value::String(text))) = (name, value.get_mut("message")) {
        for note in notes {
            text.push('\n');
            text.push_str(note);
        }
    }
}
