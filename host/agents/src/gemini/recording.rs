//! Gemini CLI's recordings of sessions: JSON lines in `tmp/PROJECT/chats`, for a subagent in a
//! folder below that.
//!
//! The first line names the session. A message is written again when its calls have ended, with
//! their results in it. `$set` repeats messages, so it is not read.

use super::PROFILE;
use super::wire::{FOLDER, call_result};
use crate::recorded::{RecordingState, TimedEvent, parse_time, read_beside};
use portcullis_core::event::{Call, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The file with the path of a project's folder, above the recordings of its sessions.
const PROJECT: &str = ".project_root";
/// The most folders between a recording and that file.
const MOST_ABOVE: usize = 3;
/// The beginning of the client's own first message.
const CONTEXT: &str = "<session_context>";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    session_id: String,
    #[serde(rename = "projectHash")]
    _project: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    directories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    timestamp: String,
    content: Value,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    status: String,
    #[serde(default)]
    timestamp: String,
}

/// Returns the project's folder, which a file above the recording names.
pub(super) fn find_folder(recording: &Path) -> Option<String> {
    let mut above = recording.ancestors().skip(1).take(MOST_ABOVE);
    let text = above.find_map(|folder| read_beside(&folder.join(PROJECT)))?;
    Some(String::from_utf8(text).ok()?.trim().to_owned()).filter(|folder| folder.starts_with('/'))
}

/// Returns the events of a line.
pub(super) fn read_line(line: &Map<String, Value>, state: &mut RecordingState) -> Vec<TimedEvent> {
    let line = Value::Object(line.clone());
    if let Ok(meta) = Meta::deserialize(&line) {
        return vec![begin_session(meta, state)];
    }
    let Ok(message) = Message::deserialize(&line) else { return Vec::new() };
    match message.kind.as_str() {
        "user" => read_prompt(&message, state).into_iter().collect(),
        "gemini" => read_calls(message, state),
        _ => Vec::new(),
    }
}

fn begin_session(meta: Meta, state: &mut RecordingState) -> TimedEvent {
    if let Some(folder) = meta.directories.into_iter().next() {
        state.cwd = folder;
    }
    let at = parse_time(&meta.start_time);
    state.session = meta.session_id;
    if meta.kind == "subagent" {
        state.agent = Some(state.session.clone());
        let kind = EventKind::SubagentStart { agent_type: String::new() };
        return state.event(PROFILE.name, "SubagentStart", at, kind);
    }
    let kind = EventKind::SessionStart { source: "startup".into() };
    state.event(PROFILE.name, "SessionStart", at, kind)
}

/// Reads the person's words. A subagent's first message is of the agent, and a result is not a
/// prompt.
fn read_prompt(message: &Message, state: &mut RecordingState) -> Option<TimedEvent> {
    if state.agent.is_some() {
        return None;
    }
    let text = match &message.content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    if text.is_empty() || text.starts_with(CONTEXT) {
        return None;
    }
    let at = parse_time(&message.timestamp);
    Some(state.event(PROFILE.name, "BeforeAgent", at, EventKind::Prompt(text)))
}

/// Reads the calls of a message that no earlier line had, and the ends of those that are over.
fn read_calls(message: Message, state: &mut RecordingState) -> Vec<TimedEvent> {
    let mut calls = message.tool_calls;
    calls.retain(|call| !state.has_ended(&call.id));
    let mut events = Vec::new();
    for call in calls.iter().filter(|call| !call.id.is_empty()) {
        if !state.has_begun(&call.id) {
            let at = parse_time(&message.timestamp);
            events.push(state.event(
                PROFILE.name,
                "BeforeTool",
                at,
                EventKind::BeforeTool(call.to_call()),
            ));
        }
    }
    for ended in calls.iter().filter(|call| !call.result.is_null()) {
        let call = ended.to_call();
        let (text, error) = ended.text();
        let failed = error || !matches!(ended.status.as_str(), "" | "success");
        let result = call_result(&call, text, failed);
        let at = parse_time(&ended.timestamp);
        events.push(state.event(PROFILE.name, "AfterTool", at, EventKind::AfterTool(call, result)));
    }
    events.iter_mut().for_each(|timed| FOLDER.enter(&mut timed.event));
    events
}

impl ToolCall {
    fn to_call(&self) -> Call {
        Call { id: Some(self.id.clone()), tool: self.name.clone(), input: self.args.clone() }
    }

    /// Returns the result as the model got it, and true if it is an error's text.
    fn text(&self) -> (String, bool) {
        let parts = self.result.as_array().map(Vec::as_slice).unwrap_or_default();
        let response = |part: &Value| {
            let response = part.pointer("/functionResponse/response")?;
            let text = |key: &str| response.get(key).map(crate::payload::text_of);
            text("output").map(|text| (text, false)).or_else(|| Some((text("error")?, true)))
        };
        parts.iter().find_map(response).unwrap_or_default()
    }
}
