//! Qwen Code's recordings of sessions: JSON lines in `projects/PROJECT/chats`, those of a subagent
//! in `projects/PROJECT/subagents/SESSION`. Each line names its session and its folder.

use super::PROFILE;
use super::wire::FOLDER;
use crate::payload::text_of;
use crate::recorded::{RecordingState, TimedEvent, parse_time};
use portcullis_core::event::{Call, CallEnd, CallResult, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The tool with which the model calls one that was not offered to it.
const DEFERRED: &str = "tool_call";
/// The kind of a message that the person wrote while a tool ran; other kinds are the client's.
const MID_TURN: &str = "mid_turn_user_message";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    session_id: String,
    timestamp: String,
    #[serde(default)]
    cwd: String,
    agent_id: Option<String>,
    subtype: Option<String>,
    message: Message,
    #[serde(default)]
    tool_call_result: Ended,
}

#[derive(Deserialize)]
struct Message {
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    function_call: Option<FunctionCall>,
    function_response: Option<FunctionResponse>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: String,
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

#[derive(Deserialize)]
struct FunctionResponse {
    id: String,
    #[serde(default)]
    response: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ended {
    status: Option<String>,
    execution_status: Option<String>,
    duration_ms: Option<u64>,
}

/// Returns the events of a line.
pub(super) fn read_line(line: &Map<String, Value>, state: &mut RecordingState) -> Vec<TimedEvent> {
    let Ok(line) = Line::deserialize(&Value::Object(line.clone())) else { return Vec::new() };
    let at = parse_time(&line.timestamp);
    state.session = line.session_id;
    state.cwd = line.cwd;
    state.agent = line.agent_id;
    let mut events: Vec<TimedEvent> = match line.kind.as_str() {
        "user" => {
            let is_person = state.agent.is_none()
                && line.subtype.as_ref().is_none_or(|subtype| subtype == MID_TURN);
            let texts = line.message.parts.into_iter().filter_map(|part| part.text);
            let text = texts.collect::<Vec<_>>().join("\n");
            let prompt = (is_person && !text.is_empty()).then_some(EventKind::Prompt(text));
            prompt
                .map(|prompt| state.event(PROFILE.name, "UserPromptSubmit", at, prompt))
                .into_iter()
                .collect()
        }
        "assistant" => {
            let calls = line.message.parts.into_iter().filter_map(|part| part.function_call);
            let begin = |call| {
                let kind = EventKind::BeforeTool(hooked(call));
                state.event(PROFILE.name, "PreToolUse", at, kind)
            };
            calls.map(begin).collect()
        }
        "tool_result" => {
            let ended = line.tool_call_result;
            let parts = line.message.parts.into_iter();
            let responses = parts.filter_map(|part| part.function_response);
            responses.filter_map(|response| end(&response, &ended, at, state)).collect()
        }
        _ => Vec::new(),
    };
    events.iter_mut().for_each(|timed| FOLDER.enter(&mut timed.event));
    events
}

/// Returns a call as a hook sees it: a tool that was not offered comes with its own name.
fn hooked(call: FunctionCall) -> Call {
    let FunctionCall { id, name, args } = call;
    let inner = args.get("name").and_then(Value::as_str).filter(|_| name == DEFERRED);
    let Some(inner) = inner else { return Call { id: Some(id), tool: name, input: args } };
    let input = args.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
    Call { id: Some(id), tool: inner.to_owned(), input }
}

fn end(
    response: &FunctionResponse,
    ended: &Ended,
    at: Option<u64>,
    state: &mut RecordingState,
) -> Option<TimedEvent> {
    let error = response.response.get("error").map(text_of);
    let text = error.clone().or_else(|| response.response.get("output").map(text_of));
    // A subagent's results have no status.
    let failed = error.is_some() || ended.status.as_ref().is_some_and(|status| status != "success");
    let idle = ended.execution_status.as_deref() == Some("not_started");
    let result = CallResult {
        end: if failed && idle { CallEnd::Dropped } else { CallEnd::Finished },
        duration_ms: ended.duration_ms.and_then(|ms| u32::try_from(ms).ok()),
        ..CallResult::from_text(text.unwrap_or_default(), failed)
    };
    let name = if failed { "PostToolUseFailure" } else { "PostToolUse" };
    state.end_event(PROFILE.name, name, at, &response.id, |_| result)
}
