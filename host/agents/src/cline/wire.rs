//! Cline CLI's hooks: one JSON object on standard input, one on standard output. The forms of
//! answers are measured to work:
//!
//! - no objection is `cancel: false`: the client's own settings decide;
//! - a refusal is `cancel: true`, which ends the run. The other form, an input that the tool does
//!   not take with a note for the agent, lets the run go on; but another hook's input wins over it,
//!   and a tool of a server is called with it;
//! - a rewrite is the whole input in `overrideInput`;
//! - a question would be ignored (`review`), so it is a refusal;
//! - a result cannot be replaced, so one that the agent must not see ends the run.

use super::PROFILE;
use super::parameters::{SHELL, read_parameters, write_parameters};
use crate::answer_text::{join_texts, refusal_reason};
use crate::payload::{self, MAX_NAME, MAX_PATH, at_most, filled, optional, text_of, type_name};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallResult, Disposition, Event, EventKind, Reply};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The event before an action.
const GATE: &str = "tool_call";
/// The event after it.
const RESULT: &str = "tool_result";

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let object = payload::parse_object(bytes, "taskId")?;
    event(&object).map_err(|problem| WireError {
        problem,
        event: optional(&object, "hookName").ok().flatten(),
        session: session(&object).ok(),
    })
}

fn session(object: &Map<String, Value>) -> Result<String, String> {
    // A subagent has a task of its own in the session of the person.
    match object.get("sessionContext").and_then(Value::as_object) {
        Some(context) if context.contains_key("rootSessionId") => filled(context, "rootSessionId"),
        _ => filled(object, "taskId"),
    }
}

fn event(object: &Map<String, Value>) -> Result<Event, String> {
    let name = filled(object, "hookName")?;
    let parent = at_most(object, "parent_agent_id", MAX_NAME)?.filter(|id| !id.is_empty());
    let agent = at_most(object, "agent_id", MAX_NAME)?.filter(|id| !id.is_empty());
    let folders = object.get("workspaceRoots").and_then(Value::as_array);
    let cwd = match folders.and_then(|folders| folders.first()) {
        Some(Value::String(folder)) if folder.len() <= MAX_PATH => folder.clone(),
        Some(Value::String(_)) => {
            return Err(format!("`workspaceRoots[0]` must have at most {MAX_PATH} bytes"));
        }
        Some(other) => {
            return Err(format!("`workspaceRoots[0]` must be a string, not {}", type_name(other)));
        }
        None => String::new(),
    };
    Ok(Event {
        client: PROFILE.name.to_owned(),
        session: session(object)?,
        kind: kind(object, &name, parent.is_some())?,
        // An agent without a parent is the session's own.
        agent: parent.and(agent),
        cwd,
        permission_mode: None,
        name,
    })
}

fn kind(object: &Map<String, Value>, name: &str, of_subagent: bool) -> Result<EventKind, String> {
    let start = |source: &str| match of_subagent {
        true => EventKind::SubagentStart { agent_type: String::new() },
        false => EventKind::SessionStart { source: source.to_owned() },
    };
    Ok(match name {
        GATE => EventKind::BeforeTool(call(object, GATE)?.0),
        RESULT => {
            let (call, ended) = call(object, RESULT)?;
            EventKind::AfterTool(call, result(ended))
        }
        "prompt_submit" => {
            let prompt = object.get("userPromptSubmit").and_then(Value::as_object);
            let prompt = prompt.map(|prompt| optional(prompt, "prompt")).transpose()?;
            EventKind::Prompt(prompt.flatten().unwrap_or_default())
        }
        "agent_start" => start("startup"),
        "agent_resume" => start("resume"),
        "agent_end" | "agent_error" | "agent_abort" if of_subagent => EventKind::SubagentStop,
        "agent_end" | "agent_error" | "agent_abort" => EventKind::Stop,
        "session_shutdown" => {
            let reason = optional(object, "reason")?.unwrap_or_default();
            EventKind::SessionEnd { reason }
        }
        // An event with a call in it must not pass as one without.
        _ if object.contains_key(GATE) => {
            return Err(format!(
                "`{name}` is not an event of {} before a tool",
                PROFILE.display_name
            ));
        }
        _ => EventKind::Other,
    })
}

/// Reads a call below a key; returns that part of the event too.
fn call<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> Result<(Call, &'a Map<String, Value>), String> {
    let part = match object.get(key) {
        Some(Value::Object(part)) => part,
        Some(other) => return Err(format!("`{key}` must be an object, not {}", type_name(other))),
        None => return Err(format!("`{key}` is missing")),
    };
    let inside = |problem| format!("in `{key}`: {problem}");
    let tool = filled(part, "name").map_err(inside)?;
    let input = part.get("input").unwrap_or(&Value::Null);
    let input = read_parameters(&tool, input).map_err(inside)?;
    Ok((Call { id: at_most(part, "id", MAX_NAME).map_err(inside)?, tool, input }, part))
}

/// Reads the end of a call.
fn result(ended: &Map<String, Value>) -> CallResult {
    let error = ended.get("error").filter(|error| !error.is_null());
    let shown = ended.get("output").cloned().unwrap_or_default();
    let mut result = call_result(shown, error.is_some());
    if result.error.is_empty()
        && let Some(error) = error
    {
        result.error = text_of(error);
    }
    let duration_ms = ended.get("durationMs").and_then(Value::as_u64);
    result.duration_ms = duration_ms.and_then(|ms| u32::try_from(ms).ok());
    result
}

/// Returns the end of a call by its result; `error` if the client calls it one. A tool with several
/// actions has one result for each.
pub(super) fn call_result(shown: Value, error: bool) -> CallResult {
    let parts = shown.as_array().map_or_else(|| std::slice::from_ref(&shown), Vec::as_slice);
    let text = parts.iter().map(part_text).collect::<Vec<_>>().join("\n");
    let failed = error
        || parts.iter().any(|part| {
            part.get("success") == Some(&Value::Bool(false))
                || part.get("isError") == Some(&Value::Bool(true))
        });
    CallResult { shown, ..CallResult::from_text(text, failed) }
}

fn part_text(part: &Value) -> String {
    part.get("result").map_or_else(|| text_of(part), text_of)
}

/// Returns the event before a shell command.
pub(super) fn command_event(session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "clineVersion": "",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "taskId": session,
        "sessionContext": { "rootSessionId": session },
        "workspaceRoots": [folder],
        "agent_id": session,
        "parent_agent_id": null,
        "hookName": GATE,
        "iteration": 1,
        "tool_call": { "id": session, "name": SHELL, "input": { "commands": [command] } },
    })
}

/// Formats the answer to the event of that name. An empty or unknown name gets the answer before a
/// tool, the only event that can refuse one.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let mut body = Map::new();
    let refusal = match event {
        "prompt_submit" | "agent_start" | "agent_resume" | "agent_end" | "agent_error"
        | "agent_abort" | "session_shutdown" => None,
        RESULT => withheld(reply),
        _ => before_tool(&mut body, reply),
    };
    if let Some(reason) = &refusal {
        body.insert("errorMessage".into(), reason.as_str().into());
    } else if !reply.agent.is_empty() {
        body.insert("contextModification".into(), join_texts(&reply.agent));
    }
    body.insert("cancel".into(), refusal.is_some().into());
    HookOutput::from_answer(body, refusal)
}

/// Fills the answer before a tool; returns the reason if the call is refused.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply) -> Option<String> {
    match &reply.ruling {
        Disposition::None => None,
        Disposition::Rewrite(input) => {
            body.insert("overrideInput".into(), write_parameters(input.clone()));
            None
        }
        Disposition::Ask(reason) => Some(format!(
            "A person has to decide this, and {} does not ask them. They can run it themselves: {}",
            PROFILE.display_name,
            refusal_reason(reason)
        )),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => Some(refusal_reason(reason)),
    }
}

/// Returns the reason if the agent must not see a result.
fn withheld(reply: &Reply) -> Option<String> {
    match (&reply.ruling, &reply.result) {
        (Disposition::Stop(reason), _) => Some(refusal_reason(reason)),
        (_, Some(_)) => Some(format!(
            "The result holds what the agent must not see, and {} takes no other result from a hook.",
            PROFILE.display_name
        )),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(parts: &Value) -> Result<Event, WireError> {
        let mut whole = json!({"taskId": "t", "sessionContext": {"rootSessionId": "s"},
            "workspaceRoots": ["/w"], "agent_id": "a", "parent_agent_id": null});
        for (name, value) in parts.as_object().unwrap() {
            whole[name] = value.clone();
        }
        parse_event(whole.to_string().as_bytes())
    }

    #[test]
    fn a_subagents_call_is_of_the_session_that_started_it() {
        let call = json!({"hookName": GATE, "taskId": "u", "agent_id": "b", "parent_agent_id": "a",
            "tool_call": {"id": "c", "name": SHELL, "input": {"commands": ["ls"]}}});
        let event = parse(&call).unwrap();
        assert_eq!((event.session.as_str(), event.agent.as_deref()), ("s", Some("b")));
        assert_eq!(event.cwd, "/w");
        let event = parse(&json!({"hookName": "agent_start"})).unwrap();
        assert_eq!(
            (event.agent, event.kind),
            (None, EventKind::SessionStart { source: "startup".into() })
        );
    }

    #[test]
    fn one_failed_part_makes_a_result_a_failure() {
        for (output, failed, text) in [
            (json!([{"query": "a", "result": "1", "success": true}]), false, "1"),
            (
                json!([{"query": "a", "result": "1", "success": true},
                    {"query": "b", "result": "2", "success": false}]),
                true,
                "1\n2",
            ),
            (json!({"query": "edit", "result": "made", "success": true}), false, "made"),
            (json!({"content": [{"type": "text", "text": "x"}]}), false, "x"),
            (json!({"content": [{"type": "text", "text": "x"}], "isError": true}), true, "x"),
        ] {
            let event = parse(&json!({"hookName": RESULT, "tool_result":
                {"name": "t__echo", "input": {}, "output": output}}));
            let EventKind::AfterTool(_, result) = event.unwrap().kind else { panic!() };
            let said = if failed { &result.error } else { &result.output };
            assert_eq!((result.failed, said.as_str()), (failed, text), "{output}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_call_refuses_it() {
        for parts in [
            json!({"hookName": GATE}),
            json!({"hookName": GATE, "tool_call": {"name": SHELL, "input": {}}}),
            json!({"hookName": GATE, "tool_call": {"name": "", "input": {}}}),
            json!({"hookName": "another", "tool_call": {"name": "t__echo", "input": {}}}),
            json!({"tool_call": {"name": "t__echo", "input": {}}}),
        ] {
            let error = parse(&parts).unwrap_err();
            let reply = Reply { ruling: Disposition::Refuse("no".into()), ..Reply::default() };
            let output = render_reply(error.event.as_deref().unwrap_or_default(), &reply);
            assert_eq!(output.exit, 2, "{parts}");
        }
    }

    #[test]
    fn a_result_that_the_agent_must_not_see_ends_the_run() {
        for (ruling, result, refused) in [
            (Disposition::None, None, false),
            (Disposition::None, Some(json!("masked")), true),
            (Disposition::Stop("stopped".into()), None, true),
        ] {
            let reply = Reply { ruling, result, agent: vec!["a note".into()], person: Vec::new() };
            let output = render_reply(RESULT, &reply);
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["cancel"], json!(refused));
            assert_eq!(answer.get("contextModification").is_some(), !refused);
        }
    }
}
