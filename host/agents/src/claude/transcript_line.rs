//! A line of Claude Code's transcripts as events: one line an entry, calls and results linked by
//! the call's id.
//!
//! The format is the client's own and undocumented: lines of an unknown type are skipped, since
//! they are not actions.

use super::call_end::call_end;
use crate::recorded::{RecordingState, TimedEvent, parse_time};
use portcullis_core::event::{Call, CallEnd, CallResult, Event, EventKind};
use serde_json::{Map, Value};

const CLIENT: &str = "claude-transcript";

/// The parts of a line that each of its events has.
struct Line<'a> {
    session: &'a str,
    cwd: &'a str,
    agent: Option<&'a str>,
    at: Option<u64>,
}

/// Returns the events of a line; `state` has the calls whose results have not been seen.
pub(super) fn read_line(object: &Map<String, Value>, state: &RecordingState) -> Vec<TimedEvent> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = Line {
        session: text("sessionId"),
        cwd: text("cwd"),
        agent: object.get("agentId").and_then(Value::as_str),
        at: parse_time(text("timestamp")),
    };
    let Some(content) = object.get("message").and_then(|message| message.get("content")) else {
        return Vec::new();
    };
    match (text("type"), content) {
        ("user", Value::String(prompt)) => {
            vec![line.event("UserPromptSubmit", EventKind::Prompt(prompt.clone()))]
        }
        ("user", Value::Array(blocks)) => {
            blocks.iter().filter_map(|block| line.user_block(block, state)).collect()
        }
        ("assistant", Value::Array(blocks)) => blocks
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
            .map(|block| {
                let text = |key: &str| block.get(key).and_then(Value::as_str);
                let input = block.get("input").and_then(Value::as_object);
                let call = Call {
                    id: text("id").map(str::to_owned),
                    tool: text("name").unwrap_or_default().to_owned(),
                    input: input.cloned().unwrap_or_default(),
                };
                line.event("PreToolUse", EventKind::BeforeTool(call))
            })
            .collect(),
        _ => Vec::new(),
    }
}

impl Line<'_> {
    fn event(&self, name: &str, kind: EventKind) -> TimedEvent {
        let event = Event {
            client: CLIENT.into(),
            session: self.session.into(),
            agent: self.agent.map(str::to_owned),
            cwd: self.cwd.into(),
            permission_mode: None,
            name: name.into(),
            kind,
        };
        TimedEvent { event, at: self.at }
    }

    fn user_block(&self, block: &Value, state: &RecordingState) -> Option<TimedEvent> {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type")? {
            "text" => {
                let prompt = text("text").unwrap_or_default().to_owned();
                Some(self.event("UserPromptSubmit", EventKind::Prompt(prompt)))
            }
            "tool_result" => {
                let id = text("tool_use_id")?;
                let (tool, input) = state.find_call(id)?;
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                let name = if failed { "PostToolUseFailure" } else { "PostToolUse" };
                let text = plain(block.get("content").unwrap_or(&Value::Null));
                let end = if failed { call_end(&tool, &text) } else { CallEnd::Finished };
                let call = Call { id: Some(id.to_owned()), tool, input };
                let result = CallResult { end, ..CallResult::from_text(text, failed) };
                Some(self.event(name, EventKind::AfterTool(call, result)))
            }
            _ => None,
        }
    }
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
