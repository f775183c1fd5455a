//! Extracts the evidence: the answers of our hooks according to the client, and the information for
//! the model and the person. These are pure functions over the output of a run.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::Conversation;

/// One answer of one of our hooks, as the client received it.
#[derive(Debug)]
pub(crate) struct Hook {
    /// The name, for example `PreToolUse:Bash`.
    pub(crate) name: String,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its exit code; absent if it did not end by itself.
    pub(crate) exit: Option<i64>,
}

/// The model's information about one call.
#[derive(Debug)]
pub(crate) struct ToolResult {
    /// True if it was reported as an error.
    pub(crate) error: bool,
    /// The text.
    pub(crate) text: String,
}

/// Returns the hooks' answers in order. `SessionEnd` is never among them: the stream ends before
/// it.
pub(crate) fn hooks(stream: &[Value]) -> Vec<Hook> {
    lines(stream, "hook_response")
        .map(|line| Hook {
            name: text(line, "hook_name"),
            stdout: text(line, "stdout"),
            exit: line.get("exit_code").and_then(Value::as_i64),
        })
        .collect()
}

/// Returns hooks that the client started and whose answer it did not use.
pub(crate) fn unheard(stream: &[Value]) -> Vec<String> {
    let informed = lines(stream, "informational");
    informed
        .filter(|line| line.get("tag").is_some_and(|tag| tag == "hook_no_verdict"))
        .map(Value::to_string)
        .collect()
}

/// Returns the messages to the person, and the refusal of a prompt.
pub(crate) fn shown(stream: &[Value]) -> Vec<String> {
    lines(stream, "informational").map(|line| text(line, "content")).collect()
}

/// Returns the client's last line.
pub(crate) fn result(stream: &[Value]) -> Option<&Value> {
    stream.iter().rev().find(|line| line.get("type").is_some_and(|kind| kind == "result"))
}

/// Returns the model's information about each call, by the call's id.
pub(crate) fn tool_results(conversation: &Conversation) -> BTreeMap<String, ToolResult> {
    let blocks = messages(conversation, "user")
        .filter_map(|message| message.get("content").and_then(Value::as_array))
        .flatten();
    let results =
        blocks.filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
    results
        .map(|block| {
            let error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
            (
                text(block, "tool_use_id"),
                ToolResult { error, text: block.get("content").map(flat).unwrap_or_default() },
            )
        })
        .collect()
}

/// Returns everything that the model was given except prompts and results.
pub(crate) fn context(conversation: &Conversation) -> String {
    messages(conversation, "system")
        .filter_map(|message| message.get("content"))
        .map(flat)
        .collect::<Vec<_>>()
        .join("\n")
}

fn lines<'a>(stream: &'a [Value], subtype: &'a str) -> impl Iterator<Item = &'a Value> {
    stream.iter().filter(move |line| line.get("subtype").is_some_and(|value| value == subtype))
}

fn messages<'a>(conversation: &'a Conversation, role: &'a str) -> impl Iterator<Item = &'a Value> {
    let messages = conversation
        .requests
        .iter()
        .filter_map(|request| request.get("messages").and_then(Value::as_array))
        .flatten();
    messages.filter(move |message| message.get("role").is_some_and(|value| value == role))
}

fn text(line: &Value, name: &str) -> String {
    line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the text of a content, which is a text or a list of blocks.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().map(|block| text(block, "text")).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
