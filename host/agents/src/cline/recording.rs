//! Cline CLI's recordings of sessions: one JSON document in `data/sessions/SESSION` for the
//! session, and one for each of its subagents. A file beside them names the folder.

use super::PROFILE;
use super::parameters::read_parameters;
use super::wire::call_result;
use crate::recorded::{RecordingState, TimedEvent, read_beside};
use portcullis_core::event::{Call, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    session_id: String,
    agent: String,
    #[serde(default)]
    origin: Origin,
    messages: Vec<Message>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Origin {
    parent_thread_id: Option<String>,
    subagent: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Value,
    ts: Option<u64>,
}

/// Returns the session's folder, which a file beside the recording names.
pub(super) fn find_folder(recording: &Path) -> Option<String> {
    let name = recording.file_name()?.to_str()?;
    let folder = recording.parent().filter(|_| name.ends_with(".messages.json"))?;
    let session = folder.file_name()?.to_str()?;
    let text = read_beside(&folder.join(format!("{session}.json")))?;
    let about: Value = serde_json::from_slice(&text).ok()?;
    Some(about.get("cwd")?.as_str()?.to_owned())
}

/// Returns the events of a session.
pub(super) fn read_document(
    document: &Map<String, Value>,
    state: &mut RecordingState,
) -> Vec<TimedEvent> {
    let Ok(document) = Document::deserialize(&Value::Object(document.clone())) else {
        return Vec::new();
    };
    let of_subagent = document.origin.parent_thread_id.is_some();
    let named = document.origin.subagent.or(Some(document.agent));
    state.agent = named.filter(|_| of_subagent);
    state.session = document.origin.parent_thread_id.unwrap_or(document.session_id);
    let mut events: Vec<TimedEvent> = Vec::new();
    for message in &document.messages {
        let parts = match &message.content {
            Value::Array(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let read = parts.iter().filter_map(|part| read_part(message, part, state));
        for timed in read.collect::<Vec<_>>() {
            state.note_event(&timed.event.kind);
            events.push(timed);
        }
    }
    events
}

fn read_part(message: &Message, part: &Value, state: &mut RecordingState) -> Option<TimedEvent> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let at = message.ts;
    match (message.role.as_str(), text("type").unwrap_or("text")) {
        // A subagent's prompt is not the person's.
        ("user", "text") if state.agent.is_none() => {
            let prompt = words(text("text").or(part.as_str())?).to_owned();
            Some(state.event(PROFILE.name, "prompt_submit", at, EventKind::Prompt(prompt)))
        }
        ("assistant", "tool_use") => {
            let (tool, input) = (text("name")?, part.get("input").unwrap_or(&Value::Null));
            // The client itself refuses an input that cannot be read.
            let input = read_parameters(tool, input).unwrap_or_default();
            let call = Call { id: Some(text("id")?.to_owned()), tool: tool.to_owned(), input };
            Some(state.event(PROFILE.name, "tool_call", at, EventKind::BeforeTool(call)))
        }
        ("user", "tool_result") => {
            let failed = part.get("is_error") == Some(&Value::Bool(true));
            let result = call_result(shown(part.get("content")), failed);
            state.end_event(PROFILE.name, "tool_result", at, text("tool_use_id")?, |_| result)
        }
        _ => None,
    }
}

/// Returns the person's words without the mark that the client puts around them.
fn words(text: &str) -> &str {
    let inside = text.strip_prefix("<user_input").and_then(|text| text.split_once('>'));
    let inside = inside.and_then(|(_, text)| text.trim_end().strip_suffix("</user_input>"));
    inside.unwrap_or(text)
}

/// Returns a result as a hook gets it: that of a tool with one action is JSON in a text.
fn shown(content: Option<&Value>) -> Value {
    let Some(content) = content else { return Value::Null };
    let inner = content.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    inner.filter(Value::is_object).unwrap_or_else(|| content.clone())
}
