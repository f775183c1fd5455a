//! Sessions as both clients export them: `opencode export` and `kilo export` write one JSON
//! document. The clients themselves keep them in a database. A subagent has a session of its own.

use super::wire::FOLDER;
use crate::recorded::{RecordingState, TimedEvent};
use portcullis_core::event::{Call, CallResult, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Document {
    info: Session,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    directory: String,
    #[serde(rename = "parentID")]
    parent: Option<String>,
    #[serde(default)]
    time: Times,
}

#[derive(Deserialize)]
struct Message {
    info: MessageInfo,
    parts: Vec<Value>,
}

#[derive(Deserialize)]
struct MessageInfo {
    role: String,
    #[serde(default)]
    time: Times,
}

/// Times in milliseconds since 1970.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Times {
    created: Option<u64>,
    start: Option<u64>,
    end: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Part {
    #[serde(rename = "text")]
    Text {
        text: String,
        /// True for a text that the client added.
        #[serde(default)]
        synthetic: bool,
    },
    #[serde(rename = "tool")]
    Tool {
        tool: String,
        #[serde(rename = "callID")]
        id: String,
        state: Box<CallState>,
    },
}

#[derive(Deserialize)]
struct CallState {
    status: String,
    #[serde(default)]
    input: Map<String, Value>,
    output: Option<String>,
    error: Option<String>,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    time: Times,
}

/// Returns the events of a session of the client of that name.
pub(super) fn read_document(
    document: &Map<String, Value>,
    client: &str,
    state: &mut RecordingState,
) -> Vec<TimedEvent> {
    let Ok(Document { info, messages }) = Document::deserialize(&Value::Object(document.clone()))
    else {
        return Vec::new();
    };
    state.cwd = info.directory;
    state.agent = info.parent.is_some().then(|| info.id.clone());
    state.session = info.parent.unwrap_or(info.id);
    let (name, start) = match state.agent {
        None => ("SessionStart", EventKind::SessionStart { source: "startup".into() }),
        Some(_) => ("SubagentStart", EventKind::SubagentStart { agent_type: String::new() }),
    };
    let mut events = vec![state.event(client, name, info.time.created, start)];
    for message in &messages {
        // Parts of other kinds are neither words nor actions.
        for part in message.parts.iter().filter_map(|part| Part::deserialize(part).ok()) {
            match part {
                Part::Text { text, synthetic: false }
                    if message.info.role == "user" && state.agent.is_none() =>
                {
                    let at = message.info.time.created;
                    events.push(state.event(
                        client,
                        "UserPromptSubmit",
                        at,
                        EventKind::Prompt(text),
                    ));
                }
                Part::Text { .. } => {}
                Part::Tool { tool, id, state: called } => {
                    let input = hooked(&tool, called.input.clone());
                    let call = Call { id: Some(id), tool, input };
                    let at = called.time.start.or(message.info.time.created);
                    let begun = EventKind::BeforeTool(call.clone());
                    events.push(state.event(client, "PreToolUse", at, begun));
                    if let Some(result) = called.result() {
                        let ended = EventKind::AfterTool(call, result);
                        events.push(state.event(client, "PostToolUse", called.time.end, ended));
                    }
                }
            }
        }
    }
    events.iter_mut().for_each(|timed| FOLDER.enter(&mut timed.event));
    events
}

/// Returns the parameters as our plugin passes them on: a patch is the command of its tool.
fn hooked(tool: &str, mut input: Map<String, Value>) -> Map<String, Value> {
    if tool == "apply_patch"
        && let Some(patch) = input.shift_remove("patchText")
    {
        input.insert("command".into(), patch);
    }
    input
}

impl CallState {
    /// Returns the end of the call; none if it was running.
    fn result(&self) -> Option<CallResult> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.status.as_str() {
            "completed" => {
                let code = self.metadata.get("exit").and_then(Value::as_i64);
                let failed = code.is_some_and(|code| code != 0);
                Some(CallResult::from_text(text(&self.output), failed))
            }
            "error" => Some(CallResult::from_text(text(&self.error), true)),
            _ => None,
        }
    }
}
