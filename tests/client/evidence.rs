//! Reads the evidence: what the client says its hooks answered, what the model and the person were
//! told. Pure functions over what a run left.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::Conversation;

/// One answer of one of our hooks, as the client took it.
#[derive(Debug)]
pub(crate) struct Hook {
    /// For example `PreToolUse:Bash`.
    pub(crate) name: String,
    /// What it wrote.
    pub(crate) stdout: String,
    /// Its exit code; absent when it did not end by itself.
    pub(crate) exit: Option<i64>,
}

/// What the model was told of one call.
#[derive(Debug)]
pub(crate) struct ToolResult {
    /// It was told as an error.
    pub(crate) error: bool,
    /// The text.
    pub(crate) text: String,
}

/// The hooks' answers in order. `SessionEnd` is never among them: the stream ends before it.
pub(crate) fn hooks(stream: &[Value]) -> Vec<Hook> {
    lines(stream, "hook_response")
        .map(|line| Hook {
            name: text(line, "hook_name"),
            stdout: text(line, "stdout"),
            exit: line.get("exit_code").and_then(Value::as_i64),
        })
        .collect()
}

/// Hooks that the client started and whose answer it did not use.
pub(crate) fn unheard(stream: &[Value]) -> Vec<String> {
    let informed = lines(stream, "informational");
    informed.filter(|line| line.get("tag").is_some_and(|tag| tag == "hook_no_verdict")).map(Value::to_string).collect()
}

/// What the person was shown, and the refusal of a prompt.
pub(crate) fn shown(stream: &[Value]) -> Vec<String> {
    lines(stream, "informational").map(|line| text(line, "content")).collect()
}

/// The client's last line.
pub(crate) fn result(stream: &[Value]) -> Option<&Value> {
    stream.iter().rev().find(|line| line.get("type").is_some_and(|kind| kind == "result"))
}

/// What the model was told of each call, by the call's id.
pub(crate) fn tool_results(conversation: &Conversation) -> BTreeMap<String, ToolResult> {
    let blocks = messages(conversation, "user").filter_map(|message| message.get("content").and_then(Value::as_array)).flatten();
    let results = blocks.filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
    results
        .map(|block| {
            let error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
            (text(block, "tool_use_id"), ToolResult { error, text: block.get("content").map(flat).unwrap_or_default() })
        })
        .collect()
}

/// All that the model was given besides prompts and results.
pub(crate) fn context(conversation: &Conversation) -> String {
    messages(conversation, "system").filter_map(|message| message.get("content")).map(flat).collect::<Vec<_>>().join("\n")
}

fn lines<'a>(stream: &'a [Value], subtype: &'a str) -> impl Iterator<Item = &'a Value> {
    stream.iter().filter(move |line| line.get("subtype").is_some_and(|value| value == subtype))
}

fn messages<'a>(conversation: &'a Conversation, role: &'a str) -> impl Iterator<Item = &'a Value> {
    let messages = conversation.requests.iter().filter_map(|request| request.get("messages").and_then(Value::as_array)).flatten();
    messages.filter(move |message| message.get("role").is_some_and(|value| value == role))
}

fn text(line: &Value, name: &str) -> String {
    line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The text of a content, which is a text or a list of blocks.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(|block| text(block, "text")).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}
