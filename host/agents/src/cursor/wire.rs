//! Cursor's hooks: one JSON object on standard input, one on standard output, with code 0, since
//! with any other code the client does not read it.
//!
//! - no objection is an answer without a decision: `allow` would skip the client's own question;
//! - a refusal is `deny`, with the reason in `user_message`, which is the one that the agent gets;
//! - a rewrite is the whole input in `updated_input`, with `allow`, before a tool of every kind;
//!   the events of one kind take none, and refuse;
//! - a question becomes a refusal: `ask` is not enforced;
//! - a stop is a refusal; the session's next actions are refused too.

use super::PROFILE;
use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason};
use crate::payload::{
    self, MAX_NAME, MAX_PATH, at_most, filled, optional, required, text_of, type_name,
};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallEnd, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The event before a tool of every kind.
pub(super) const GATE: &str = "preToolUse";
/// The tool that runs commands, and the parameters that name the folder in which it does.
const SHELL: &str = "Shell";
const FOLDERS: &[&str] = &["working_directory", "cwd"];
/// The parameter that holds a path, and other names that versions of the client give it.
const PATH: &str = "file_path";
const PATHS: &[&str] = &["path", "target_file"];
/// The beginning of the names of servers' tools.
const SERVER_TOOL: &str = "MCP:";

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, lacks a part
/// that every event has, or is an event of another client.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let object = payload::parse_object(bytes, "conversation_id")?;
    let name = optional(&object, "hook_event_name").ok().flatten();
    event(&object).map_err(|problem| WireError {
        problem,
        event: name,
        session: optional(&object, "conversation_id").ok().flatten(),
    })
}

fn event(object: &Map<String, Value>) -> Result<Event, String> {
    let name = required(object, "hook_event_name")?;
    let kind = kind(&name, object)?;
    Ok(Event {
        client: PROFILE.name.to_owned(),
        session: filled(object, "conversation_id")?,
        agent: at_most(object, "subagent_id", MAX_NAME)?.filter(|agent| !agent.is_empty()),
        cwd: folder(object, &kind)?,
        permission_mode: None,
        kind,
        name,
    })
}

/// Returns the folder in which an event happens: the call's own, the event's, or the first one that
/// is open.
fn folder(object: &Map<String, Value>, kind: &EventKind) -> Result<String, String> {
    let roots = object.get("workspace_roots").and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()?.as_str()).unwrap_or_default();
    let mut folder = Path::new(root).to_owned();
    folder.push(at_most(object, "cwd", MAX_PATH)?.unwrap_or_default());
    if let EventKind::BeforeTool(call) | EventKind::AfterTool(call, _) = kind
        && call.tool == SHELL
    {
        for name in FOLDERS {
            let named = at_most(&call.input, name, MAX_PATH)
                .map_err(|problem| format!("in `tool_input`: {problem}"))?;
            folder.push(named.unwrap_or_default());
        }
    }
    let folder = folder.to_string_lossy();
    // Joining an empty path leaves a separator.
    Ok(folder.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(&folder).to_owned())
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    let text = |key: &str| Ok::<_, String>(optional(object, key)?.unwrap_or_default());
    Ok(match name {
        GATE => EventKind::BeforeTool(call(object)?),
        "postToolUse" => {
            let call = call(object)?;
            let result = result(&call, object);
            EventKind::AfterTool(call, result)
        }
        "postToolUseFailure" => EventKind::AfterTool(call(object)?, failure(object)?),
        "beforeShellExecution" => EventKind::BeforeTool(command(object)?),
        "afterShellExecution" => {
            EventKind::AfterTool(command(object)?, CallResult::from_text(text("output")?, false))
        }
        "beforeMCPExecution" => EventKind::BeforeTool(server_call(object)?),
        "afterMCPExecution" => {
            let result = object.get("result_json").map(text_of).unwrap_or_default();
            EventKind::AfterTool(server_call(object)?, CallResult::from_text(result, false))
        }
        "beforeReadFile" | "beforeTabFileRead" => EventKind::BeforeTool(file_call("Read", object)?),
        "afterFileEdit" => EventKind::AfterTool(
            file_call("Write", object)?,
            CallResult::from_text(String::new(), false),
        ),
        "beforeSubmitPrompt" => EventKind::Prompt(required(object, "prompt")?),
        "sessionStart" => EventKind::SessionStart { source: "startup".into() },
        "sessionEnd" => EventKind::SessionEnd { reason: text("reason")? },
        "stop" => EventKind::Stop,
        "subagentStart" => EventKind::SubagentStart { agent_type: text("subagent_type")? },
        "subagentStop" => EventKind::SubagentStop,
        // The hook was started for another client's event: nothing is known about what follows.
        "PreToolUse" | "PostToolUse" | "BeforeTool" | "AfterTool" => {
            return Err(format!("`{name}` is not an event of {}", PROFILE.display_name));
        }
        _ => EventKind::Other,
    })
}

fn call(object: &Map<String, Value>) -> Result<Call, String> {
    let mut call = payload::call(object)?;
    if !call.input.contains_key(PATH)
        && PROFILE.tools.iter().any(|(tool, _)| *tool == call.tool)
        && let Some(path) = PATHS.iter().find_map(|name| call.input.get(*name).cloned())
    {
        call.input.insert(PATH.to_owned(), path);
    }
    Ok(call)
}

fn command(object: &Map<String, Value>) -> Result<Call, String> {
    let input = Map::from_iter([("command".to_owned(), required(object, "command")?.into())]);
    Ok(Call { id: None, tool: SHELL.to_owned(), input })
}

fn file_call(tool: &str, object: &Map<String, Value>) -> Result<Call, String> {
    let path = at_most(object, PATH, MAX_PATH)?.ok_or_else(|| format!("`{PATH}` is missing"))?;
    let input = Map::from_iter([(PATH.to_owned(), path.into())]);
    Ok(Call { id: None, tool: tool.to_owned(), input })
}

/// Reads the call of a server's tool, whose parameters are text.
fn server_call(object: &Map<String, Value>) -> Result<Call, String> {
    let tool = filled(object, "tool_name")?;
    let input = match object.get("tool_input") {
        Some(Value::Object(input)) => input.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
        Some(Value::String(text)) => serde_json::from_str(text)
            .map_err(|error| format!("`tool_input` is not an object as JSON: {error}"))?,
        Some(other) => {
            return Err(format!("`tool_input` must be an object, not {}", type_name(other)));
        }
    };
    let tool = match tool.strip_prefix(SERVER_TOOL) {
        Some(_) => tool,
        None => format!("{SERVER_TOOL}{tool}"),
    };
    Ok(Call { id: None, tool, input })
}

/// Reads the end of a call. The client gives it as a text with JSON; a command has its output and
/// its exit code there.
fn result(call: &Call, object: &Map<String, Value>) -> CallResult {
    let text = object.get("tool_output").map(text_of).unwrap_or_default();
    let read: Option<Map<String, Value>> =
        serde_json::from_str(&text).ok().filter(|_| call.tool == SHELL);
    let part = |name: &str| read.as_ref().and_then(|read| read.get(name));
    let output = part("output").map_or_else(|| text.clone(), text_of);
    let failed = part("exitCode").and_then(Value::as_i64).is_some_and(|code| code != 0);
    // Only a server's result can be replaced.
    let shown = match call.tool.starts_with(SERVER_TOOL) {
        true => Value::String(text),
        false => Value::Null,
    };
    CallResult { shown, duration_ms: duration(object), ..CallResult::from_text(output, failed) }
}

fn failure(object: &Map<String, Value>) -> Result<CallResult, String> {
    let error = optional(object, "error_message")?.unwrap_or_default();
    let interrupted = object.get("is_interrupt") == Some(&Value::Bool(true));
    let end = match optional(object, "failure_type")?.as_deref() {
        Some("permission_denied") => CallEnd::Refused,
        _ if interrupted => CallEnd::Interrupted,
        _ => CallEnd::Finished,
    };
    let result = CallResult::from_text(error, true);
    Ok(CallResult { end, duration_ms: duration(object), ..result })
}

fn duration(object: &Map<String, Value>) -> Option<u32> {
    let ms = object.get("duration").and_then(Value::as_f64).filter(|ms| *ms >= 0.0)?;
    Some(ms.min(f64::from(u32::MAX)) as u32)
}

/// Returns the event before a shell command.
pub(super) fn command_event(session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "conversation_id": session,
        "generation_id": session,
        "model": "default",
        "session_id": session,
        "hook_event_name": GATE,
        "cursor_version": "0",
        "workspace_roots": [folder],
        "user_email": null,
        "transcript_path": null,
        "cwd": folder,
        "tool_name": SHELL,
        "tool_input": { "command": command, "working_directory": folder },
        "tool_use_id": session,
    })
}

/// Formats the answer to the event of that name. An empty or unknown name gets the answer of
/// `preToolUse`, which refuses a tool.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let mut body = Map::new();
    match event {
        "postToolUse" => after_tool(&mut body, reply),
        "sessionStart" | "beforeSubmitPrompt" => add_context(&mut body, reply),
        "postToolUseFailure"
        | "afterShellExecution"
        | "afterMCPExecution"
        | "afterFileEdit"
        | "sessionEnd"
        | "stop"
        | "subagentStop"
        | "preCompact" => {}
        "beforeShellExecution"
        | "beforeMCPExecution"
        | "beforeReadFile"
        | "beforeTabFileRead"
        | "subagentStart" => before_tool(&mut body, reply, false),
        _ => before_tool(&mut body, reply, true),
    }
    // With any other exit code the client would show the answer as it is.
    HookOutput::from_answer(body, None)
}

/// The beginning of a refusal that is a question where there is an interface for one.
const UNASKED: &str = "A person has to decide this before it runs; tell them: ";
/// The beginning of a refusal that is a rewrite where an event takes one.
const UNTAKEN: &str = "This may not run as it is. Call the tool again, with this in its place: ";

/// Fills the answer before a tool; `rewrites` if the event takes another input.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply, rewrites: bool) {
    let reason = match &reply.ruling {
        Disposition::None => return,
        Disposition::Rewrite(input) if rewrites => {
            body.insert("permission".into(), "allow".into());
            body.insert("updated_input".into(), Value::Object(input.clone()));
            return;
        }
        Disposition::Rewrite(input) => format!("{UNTAKEN}{}", Value::Object(input.clone())),
        Disposition::Ask(reason) => format!("{UNASKED}{reason}"),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => reason.clone(),
    };
    let reason = refusal_reason(&reason);
    body.insert("permission".into(), "deny".into());
    body.insert("user_message".into(), reason.as_str().into());
    body.insert("agent_message".into(), reason.into());
}

/// Fills the answer after a tool: context, or another result of a server's tool.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    if let Some(result) = &reply.result {
        let shown = cut_text(&text_of(result), MAX_RESULT);
        body.insert("updated_mcp_tool_output".into(), shown.into());
    }
    if let Disposition::Stop(reason) = &reply.ruling {
        body.insert("additional_context".into(), cut_text(reason, MAX_TEXT).into());
        return;
    }
    add_context(body, reply);
}

fn add_context(body: &mut Map<String, Value>, reply: &Reply) {
    if !reply.agent.is_empty() {
        body.insert("additional_context".into(), join_texts(&reply.agent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(event: Value) -> Result<Event, WireError> {
        let mut whole = json!({"conversation_id": "s", "workspace_roots": ["/w"], "cwd": ""});
        for (name, value) in event.as_object().unwrap() {
            whole[name] = value.clone();
        }
        parse_event(whole.to_string().as_bytes())
    }

    #[test]
    fn a_command_is_judged_where_it_runs() {
        for (cwd, input, folder) in [
            ("", json!({"command": "ls"}), "/w"),
            ("", json!({"command": "ls", "cwd": ""}), "/w"),
            ("/x", json!({"command": "ls"}), "/x"),
            ("/x", json!({"command": "ls", "working_directory": "sub"}), "/x/sub"),
            ("", json!({"command": "ls", "working_directory": "/y"}), "/y"),
        ] {
            let event = parse(json!({"hook_event_name": GATE, "cwd": cwd, "tool_name": SHELL,
                "tool_input": input}));
            assert_eq!(event.unwrap().cwd, folder, "{cwd} {input}");
        }
        let odd = parse(json!({"hook_event_name": GATE, "tool_name": SHELL,
            "tool_input": {"command": "ls", "working_directory": 1}}));
        assert!(odd.unwrap_err().problem.contains("working_directory"));
    }

    #[test]
    fn a_path_is_found_by_each_name() {
        for name in ["file_path", "path", "target_file"] {
            let event = parse(json!({"hook_event_name": GATE, "tool_name": "Delete",
                "tool_input": {name: "/w/a"}}));
            let EventKind::BeforeTool(call) = event.unwrap().kind else { panic!() };
            assert_eq!(call.input.get(PATH), Some(&json!("/w/a")), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_call_refuses_it() {
        for parts in [
            json!({"hook_event_name": GATE, "tool_name": SHELL, "tool_input": "rm"}),
            json!({"hook_event_name": GATE, "tool_name": ""}),
            json!({"hook_event_name": "beforeShellExecution", "command": 1}),
            json!({"hook_event_name": "beforeMCPExecution", "tool_name": "t", "tool_input": "{"}),
            json!({"hook_event_name": "beforeReadFile"}),
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash"}),
        ] {
            let error = parse(parts.clone()).unwrap_err();
            let reply = Reply { ruling: Disposition::Refuse("no".into()), ..Reply::default() };
            let output = render_reply(error.event.as_deref().unwrap_or_default(), &reply);
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&answer["permission"], output.exit), (&json!("deny"), 0), "{parts}");
        }
    }
}
