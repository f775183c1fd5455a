//! Copilot CLI's recordings of sessions: JSON lines in `session-state/SESSION/events.jsonl`, those
//! of subagents among them. A call has the input that the model gave it, also after a rewrite.

use super::PROFILE;
use super::wire::call_result;
use crate::recorded::{RecordingState, TimedEvent, parse_time};
use portcullis_core::event::{Call, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    event: Recorded,
    timestamp: String,
    #[serde(rename = "agentId")]
    agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "data")]
enum Recorded {
    #[serde(rename = "session.start")]
    Start(SessionStart),
    #[serde(rename = "user.message")]
    Prompt { content: String },
    #[serde(rename = "subagent.started", rename_all = "camelCase")]
    SubagentStart { agent_type: String },
    #[serde(rename = "subagent.completed")]
    SubagentStop {},
    #[serde(rename = "tool.execution_start", rename_all = "camelCase")]
    CallStart {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        arguments: Value,
    },
    #[serde(rename = "tool.execution_complete")]
    CallEnd(CallEnd),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionStart {
    session_id: String,
    context: Option<Context>,
}

#[derive(Deserialize)]
struct Context {
    cwd: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallEnd {
    tool_call_id: String,
    success: bool,
    result: Option<Value>,
    error: Option<Value>,
    shell_execution: Option<ShellExecution>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellExecution {
    exit_code: Option<i64>,
}

/// Returns the events of a line.
pub(super) fn read_line(line: &Map<String, Value>, state: &mut RecordingState) -> Vec<TimedEvent> {
    let Ok(line) = Line::deserialize(&Value::Object(line.clone())) else { return Vec::new() };
    let at = parse_time(&line.timestamp);
    state.agent = line.agent;
    let (name, kind) = match line.event {
        Recorded::Start(start) => {
            state.session = start.session_id;
            state.cwd = start.context.map(|context| context.cwd).unwrap_or_default();
            ("sessionStart", EventKind::SessionStart { source: "new".into() })
        }
        // A subagent's prompt is not the person's.
        Recorded::Prompt { .. } if state.agent.is_some() => return Vec::new(),
        Recorded::Prompt { content } => ("userPromptSubmitted", EventKind::Prompt(content)),
        Recorded::SubagentStart { agent_type } => {
            ("subagentStart", EventKind::SubagentStart { agent_type })
        }
        Recorded::SubagentStop {} => ("subagentStop", EventKind::SubagentStop),
        Recorded::CallStart { tool_call_id, tool_name, arguments } => {
            let input = arguments.as_object().cloned().unwrap_or_default();
            let call = Call { id: Some(tool_call_id), tool: tool_name, input };
            ("preToolUse", EventKind::BeforeTool(call))
        }
        Recorded::CallEnd(ended) => return end(&ended, at, state).into_iter().collect(),
    };
    vec![state.event(PROFILE.name, name, at, kind)]
}

fn end(ended: &CallEnd, at: Option<u64>, state: &mut RecordingState) -> Option<TimedEvent> {
    let part =
        |value: &Option<Value>, name: &str| value.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let text = part(&ended.result, "content").or_else(|| part(&ended.error, "message"));
    let code = ended.shell_execution.as_ref().and_then(|shell| shell.exit_code);
    let failed = !ended.success || code.is_some_and(|code| code != 0);
    let name = if ended.success { "postToolUse" } else { "postToolUseFailure" };
    state.end_event(PROFILE.name, name, at, &ended.tool_call_id, |call| {
        call_result(call, text.unwrap_or_default(), failed)
    })
}
