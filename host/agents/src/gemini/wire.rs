//! Gemini CLI's hooks: one JSON object on standard input, one on standard output.
//!
//! The client runs the tool whenever it cannot read an answer, so the forms here are measured to
//! work:
//!
//! - no objection is an answer without a decision: the client's own rules and the person decide;
//! - a refusal is deny JSON *and* exit code 2 *and* the reason on standard error, since damaged
//!   JSON with that code is a refusal too;
//! - a rewrite is the whole input in `tool_input`;
//! - a question becomes a refusal: without a terminal, `ask` would end the whole run;
//! - a stop is a refusal with `continue: false`, which ends the run.

use super::PROFILE;
use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason, replace_result};
use crate::payload::{self, ShellFolder, call, optional, required, text_of};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The event before an action.
const GATE: &str = "BeforeTool";
/// The tool that runs commands.
const SHELL: &str = "run_shell_command";
pub(super) const FOLDER: ShellFolder = ShellFolder { tools: &[SHELL], parameter: "dir_path" };

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, lacks a part
/// that every event has, or is an event of another client.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let mut event = payload::parse_event(bytes, PROFILE.name, kind)?;
    FOLDER.enter(&mut event);
    Ok(event)
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    let text = |key: &str| Ok::<_, String>(optional(object, key)?.unwrap_or_default());
    Ok(match name {
        GATE => {
            let call = call(object)?;
            FOLDER.check(&call)?;
            EventKind::BeforeTool(call)
        }
        "AfterTool" => {
            let call = call(object)?;
            FOLDER.check(&call)?;
            let result = result(&call, object.get("tool_response"));
            EventKind::AfterTool(call, result)
        }
        "BeforeAgent" => EventKind::Prompt(required(object, "prompt")?),
        "AfterAgent" => EventKind::Stop,
        "SessionStart" => EventKind::SessionStart { source: text("source")? },
        "SessionEnd" => EventKind::SessionEnd { reason: text("reason")? },
        // The hook was started for another client's event: nothing is known about what follows.
        "PreToolUse" | "preToolUse" | "PostToolUse" | "postToolUse" => {
            return Err(format!("`{name}` is not an event of {}", PROFILE.display_name));
        }
        _ => EventKind::Other,
    })
}

/// Reads the end of a call. A command's exit code is only in the text that the model gets.
fn result(call: &Call, response: Option<&Value>) -> CallResult {
    let part = |name: &str| response.and_then(|response| response.get(name));
    let shown = part("llmContent").cloned().unwrap_or_default();
    let output = text_of(&shown);
    let error = part("error").is_some_and(|error| !error.is_null());
    CallResult { shown, ..call_result(call, output, error) }
}

/// Returns the end of a call by the text that the model gets; `error` if the client calls it one.
pub(super) fn call_result(call: &Call, text: String, error: bool) -> CallResult {
    let failed = error || (call.tool == SHELL && exit_code(&text).is_some_and(|code| code != 0));
    CallResult::from_text(text, failed)
}

/// Returns the exit code among the lines that the client adds after a command's output.
fn exit_code(output: &str) -> Option<i64> {
    const ADDED: &[&str] = &["Process Group PGID:", "Background PIDs:", "Signal:", "</untrusted"];
    let added = |line: &&str| line.is_empty() || ADDED.iter().any(|start| line.starts_with(start));
    let code = output.lines().rev().find(|line| !added(line))?;
    code.strip_prefix("Exit Code:")?.trim().parse().ok()
}

/// Returns the event before a shell command.
pub(super) fn command_event(session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "session_id": session,
        "transcript_path": "/dev/null",
        "cwd": folder,
        "hook_event_name": GATE,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_name": SHELL,
        "tool_input": { "command": command },
    })
}

/// Formats the answer to the event of that name. An empty or unknown name gets the answer of
/// `BeforeTool`, the only event that can refuse a tool.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let mut body = Map::new();
    if !reply.person.is_empty() {
        body.insert("systemMessage".into(), join_texts(&reply.person));
    }
    let refusal = match event {
        "AfterTool" => {
            after_tool(&mut body, reply);
            None
        }
        "BeforeAgent" | "SessionStart" => {
            add_context(&mut body, event, reply);
            None
        }
        "AfterAgent" | "SessionEnd" => None,
        _ => before_tool(&mut body, reply),
    };
    HookOutput::from_answer(body, refusal)
}

/// Fills the answer to `BeforeTool`; returns the reason if the call is refused.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply) -> Option<String> {
    let reason = match &reply.ruling {
        Disposition::None => return None,
        Disposition::Rewrite(input) => {
            let specific = json!({"hookEventName": GATE, "tool_input": input});
            body.insert("hookSpecificOutput".into(), specific);
            return None;
        }
        Disposition::Ask(reason) => format!("{UNASKED}{reason}"),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => reason.clone(),
    };
    let reason = refusal_reason(&reason);
    body.insert("decision".into(), "deny".into());
    body.insert("reason".into(), reason.as_str().into());
    if matches!(reply.ruling, Disposition::Stop(_)) {
        stop(body, &reason);
    }
    Some(reason)
}

/// The beginning of a refusal that is a question where there is an interface for one.
const UNASKED: &str = "A person has to decide this before it runs; tell them: ";

fn stop(body: &mut Map<String, Value>, reason: &str) {
    body.insert("continue".into(), false.into());
    body.insert("stopReason".into(), cut_text(reason, MAX_TEXT).into());
}

/// Fills the answer after a tool: context, another result, or the end of the run. The client shows
/// the agent the reason of a refusal in place of the result.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    if let Disposition::Stop(reason) = &reply.ruling {
        return stop(body, reason);
    }
    let Some(result) = &reply.result else { return add_context(body, "AfterTool", reply) };
    // A refusal leaves no place for context.
    let shown = replace_result(cut_text(&text_of(result), MAX_RESULT), &reply.agent);
    body.insert("decision".into(), "deny".into());
    body.insert("reason".into(), shown.into());
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

    fn after(tool: &str, response: Value) -> CallResult {
        let event = json!({"session_id": "s", "cwd": "/w", "hook_event_name": "AfterTool",
            "tool_name": tool, "tool_input": {"command": "x"}, "tool_response": response});
        match parse_event(event.to_string().as_bytes()).unwrap().kind {
            EventKind::AfterTool(_, result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_failed_command_is_known_by_the_lines_after_its_output() {
        for (text, failed) in [
            ("<untrusted_context>\nOutput: hi\nProcess Group PGID: 1\n</untrusted_context>", false),
            (
                "<untrusted_context>\nOutput: bad\nExit Code: 3\nProcess Group PGID: 1\n</untrusted_context>",
                true,
            ),
            ("Output: Exit Code: 3\nmore\nProcess Group PGID: 1", false),
            ("Output: (empty)\nExit Code: 0", false),
            ("", false),
        ] {
            let result = after(SHELL, json!({"llmContent": text, "returnDisplay": "x"}));
            assert_eq!(result.failed, failed, "{text}");
            assert_eq!(if failed { result.error } else { result.output }, text);
        }
        assert!(after("read_file", json!({"llmContent": "no", "error": {"message": "m"}})).failed);
        assert!(!after("read_file", json!({"llmContent": "Exit Code: 3"})).failed);
    }

    #[test]
    fn a_command_is_judged_where_it_runs() {
        let parse = |input: Value| {
            let mut event = command_event("s", Path::new("/w"), "ls");
            event["tool_input"] = input;
            parse_event(event.to_string().as_bytes()).map(|event| event.cwd)
        };
        assert_eq!(parse(json!({"command": "ls"})).unwrap(), "/w");
        assert_eq!(parse(json!({"command": "ls", "dir_path": "sub"})).unwrap(), "/w/sub");
        assert_eq!(parse(json!({"command": "ls", "dir_path": "/x"})).unwrap(), "/x");
        assert!(
            parse(json!({"command": "ls", "dir_path": 1}))
                .unwrap_err()
                .problem
                .contains("dir_path")
        );
    }

    #[test]
    fn another_clients_call_is_refused() {
        let event =
            json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash"});
        let error = parse_event(event.to_string().as_bytes()).unwrap_err();
        let reply = Reply { ruling: Disposition::Refuse("no".into()), ..Reply::default() };
        let output = render_reply(error.event.as_deref().unwrap(), &reply);
        assert_eq!(output.exit, 2);
    }
}
