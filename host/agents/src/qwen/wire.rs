//! Qwen Code's hooks: one JSON object on standard input, one on standard output.
//!
//! The client runs the tool whenever it cannot read an answer, so the forms here are measured to
//! work:
//!
//! - a refusal is JSON with exit code 0 that says it in three ways: `continue: false` is the one
//!   that no other hook's `allow` overrules, and exit code 2 would drop the JSON;
//! - a rewrite becomes a refusal that names the other form, since the client ignores another input;
//! - a question becomes a refusal, since without a terminal the client refuses anyway;
//! - a stop is a refusal; the session's next actions are refused too;
//! - another result is the reason of a stop after the tool, which replaces the result and does not
//!   stop the run.

use super::PROFILE;
use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason, replace_result};
use crate::payload::{self, MAX_NAME, ShellFolder, at_most, call, duration, optional, text_of};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallEnd, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value, json};
use std::path::Path;

pub(super) const FOLDER: ShellFolder =
    ShellFolder { tools: &["run_shell_command", "monitor"], parameter: "directory" };

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let mut event = payload::parse_event(bytes, PROFILE.name, kind)?;
    FOLDER.enter(&mut event);
    Ok(event)
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    Ok(match name {
        "PreToolUse" => EventKind::BeforeTool(named_call(object)?),
        "PostToolUse" => {
            let response = object.get("tool_response");
            let shown = response.and_then(|it| it.get("llmContent")).or(response);
            let shown = shown.cloned().unwrap_or_default();
            let result = CallResult {
                duration_ms: duration(object),
                ..CallResult::from_text(text_of(&shown), false)
            };
            EventKind::AfterTool(named_call(object)?, CallResult { shown, ..result })
        }
        "PostToolUseFailure" => EventKind::AfterTool(named_call(object)?, failure(object)),
        "PostToolBatch" => EventKind::AfterBatch(payload::batch(object, |entry| {
            Ok((named_call(entry)?, batched(entry)?))
        })?),
        // The client calls the hook before each of the model's turns, with the prompt in the first.
        "UserPromptSubmit" if object.get("prompt") == Some(&Value::String(String::new())) => {
            EventKind::Other
        }
        "BeforeTool" | "preToolUse" => {
            return Err(format!("`{name}` is not an event of {}", PROFILE.display_name));
        }
        _ => payload::shared_kind(name, object)?.unwrap_or(EventKind::Other),
    })
}

/// Reads a call. Its id is the model's, which is the only one that the end of a batch has.
fn named_call(object: &Map<String, Value>) -> Result<Call, String> {
    let call = call(object)?;
    FOLDER.check(&call)?;
    let id = at_most(object, "tool_call_id", MAX_NAME)?.filter(|id| !id.is_empty());
    Ok(Call { id: id.or(call.id), ..call })
}

fn failure(object: &Map<String, Value>) -> CallResult {
    let text = object.get("error").map(text_of).unwrap_or_default();
    let interrupted = object.get("is_interrupt").and_then(Value::as_bool) == Some(true);
    CallResult {
        end: if interrupted { CallEnd::Interrupted } else { CallEnd::Finished },
        duration_ms: duration(object),
        ..CallResult::from_text(text, true)
    }
}

/// Reads the end of a batch's call. The client says which calls never began.
fn batched(entry: &Map<String, Value>) -> Result<CallResult, String> {
    let response = entry.get("tool_response");
    let part = |name: &str| response.and_then(|response| response.get(name));
    let failed = optional(entry, "status")?.is_some_and(|status| status != "success");
    let text = part("error").or_else(|| part("response_parts")).map(text_of).unwrap_or_default();
    let idle = part("execution_status").and_then(Value::as_str) == Some("not_started");
    let end = if failed && idle { CallEnd::Dropped } else { CallEnd::Finished };
    Ok(CallResult { end, ..CallResult::from_text(text, failed) })
}

/// Returns the event before a shell command.
pub(super) fn command_event(session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "session_id": session,
        "transcript_path": "/dev/null",
        "cwd": folder,
        "hook_event_name": "PreToolUse",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "permission_mode": "default",
        "tool_name": "run_shell_command",
        "tool_input": { "command": command, "is_background": false },
        "tool_use_id": session,
        "tool_call_id": session,
    })
}

/// Formats the answer to the event of that name. An empty or unknown name gets the answer of
/// `PreToolUse`, the only event that can refuse a tool.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let mut body = Map::new();
    if !reply.person.is_empty() {
        body.insert("systemMessage".into(), join_texts(&reply.person));
    }
    match event {
        "PostToolUse" => after_tool(&mut body, reply),
        "PostToolUseFailure" | "UserPromptSubmit" | "SessionStart" | "SubagentStart" => {
            add_context(&mut body, event, reply);
        }
        "PostToolBatch" | "Stop" | "SubagentStop" | "SessionEnd" => {}
        _ => before_tool(&mut body, reply),
    }
    // Any other exit code would drop the answer.
    HookOutput::from_answer(body, None)
}

fn before_tool(body: &mut Map<String, Value>, reply: &Reply) {
    let reason = match &reply.ruling {
        Disposition::None => return,
        Disposition::Rewrite(input) => format!("{UNTAKEN}{}", shown_input(input)),
        Disposition::Ask(reason) => format!("{UNASKED}{reason}"),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => reason.clone(),
    };
    let reason = refusal_reason(&reason);
    body.insert("continue".into(), false.into());
    body.insert("stopReason".into(), reason.as_str().into());
    body.insert("decision".into(), "deny".into());
    body.insert("reason".into(), reason.as_str().into());
    let specific = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    });
    body.insert("hookSpecificOutput".into(), specific);
}

/// The beginning of a refusal that is a question where there is an interface for one.
const UNASKED: &str = "A person has to decide this before it runs; tell them: ";
/// The beginning of a refusal that is a rewrite where a client takes one.
const UNTAKEN: &str = "This may not run as it is, and Qwen Code takes no other form of a call from a hook. Call the tool again, with this in its place: ";

/// Returns the part of a rewritten input that the agent needs to repeat the call.
fn shown_input(input: &Map<String, Value>) -> String {
    match input.get("command") {
        Some(Value::String(command)) => command.clone(),
        _ => Value::Object(input.clone()).to_string(),
    }
}

/// Fills the answer after a tool: context, or another result.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    let shown = match (&reply.ruling, &reply.result) {
        (Disposition::Stop(reason), _) => cut_text(reason, MAX_TEXT),
        (_, Some(result)) => cut_text(&text_of(result), MAX_RESULT),
        (_, None) => return add_context(body, "PostToolUse", reply),
    };
    let shown = replace_result(shown, &reply.agent);
    body.insert("continue".into(), false.into());
    body.insert("stopReason".into(), shown.into());
}

fn add_context(body: &mut Map<String, Value>, event: &str, reply: &Reply) {
    if !reply.agent.is_empty() {
        let context = join_texts(&reply.agent);
        let specific = json!({"hookEventName": event, "additionalContext": context});
        body.insert("hookSpecificOutput".into(), specific);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(event: Value) -> Result<Event, WireError> {
        let mut whole = json!({"session_id": "s", "cwd": "/w", "permission_mode": "yolo"});
        for (name, value) in event.as_object().unwrap() {
            whole[name] = value.clone();
        }
        parse_event(whole.to_string().as_bytes())
    }

    #[test]
    fn a_prompt_is_counted_once() {
        let prompt = |text: &str| {
            parse(json!({"hook_event_name": "UserPromptSubmit", "prompt": text})).unwrap().kind
        };
        assert_eq!(prompt("do it"), EventKind::Prompt("do it".into()));
        assert_eq!(prompt(""), EventKind::Other);
    }

    #[test]
    fn a_call_has_the_models_id_and_the_folder_in_which_it_runs() {
        let event =
            parse(json!({"hook_event_name": "PreToolUse", "tool_name": "run_shell_command",
            "tool_input": {"command": "ls", "directory": "/w/sub"}, "tool_use_id": "t",
            "tool_call_id": "c"}));
        let Event { cwd, kind: EventKind::BeforeTool(call), .. } = event.unwrap() else { panic!() };
        assert_eq!((cwd.as_str(), call.id.as_deref()), ("/w/sub", Some("c")));
    }

    #[test]
    fn a_batch_says_which_calls_never_began() {
        let entry = |status: &str, execution: &str| {
            json!({"tool_name": "x", "tool_input": {}, "tool_call_id": "c", "status": status,
                "tool_response": {"error": "no such tool", "execution_status": execution}})
        };
        for (status, execution, failed, end) in [
            ("error", "not_started", true, CallEnd::Dropped),
            ("error", "failed", true, CallEnd::Finished),
            ("success", "success", false, CallEnd::Finished),
        ] {
            let event = json!({"hook_event_name": "PostToolBatch",
                "tool_calls": [entry(status, execution)]});
            let EventKind::AfterBatch(calls) = parse(event).unwrap().kind else { panic!() };
            assert_eq!((calls[0].1.failed, calls[0].1.end), (failed, end), "{status} {execution}");
        }
        let wrong = parse(json!({"hook_event_name": "PostToolBatch", "tool_calls": [1]}));
        assert!(wrong.unwrap_err().problem.contains("tool_calls[0]"));
    }
}
