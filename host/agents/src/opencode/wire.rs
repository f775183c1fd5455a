//! The events and answers between our plugin and this program: one JSON object on standard input,
//! one on standard output.
//!
//! An event has the form that several clients share, with the client's names of tools and
//! parameters (but a patch is the `command` of its tool), `tokens`, the number that the session has
//! used since the client started, and after a tool `tool_result` (text) and `tool_failed`. An answer
//! has `decision`:
//!
//! - `allow`, with exit code 0;
//! - `modify`, with `input`, the parameters that the tool gets, and exit code 0;
//! - `deny`, with `reason`, and exit code 2.
//!
//! Each can have `context`, a text for the agent, and `result`, the text that the agent gets in
//! place of the tool's result. Anything else is a failure, for which the plugin refuses the call.

use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason, replace_result};
use crate::payload::{self, ShellFolder, call, optional, text_of};
use crate::{HookOutput, WireError};
use portcullis_core::event::{CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value};

pub(super) const FOLDER: ShellFolder =
    ShellFolder { tools: &["bash", "background_process"], parameter: "workdir" };

/// Reads one event of the client of that name.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(super) fn parse_event(bytes: &[u8], client: &str) -> Result<Event, WireError> {
    let mut event = payload::parse_event(bytes, client, kind)?;
    FOLDER.enter(&mut event);
    Ok(event)
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    Ok(match name {
        "PreToolUse" => {
            let call = call(object)?;
            FOLDER.check(&call)?;
            EventKind::BeforeTool(call)
        }
        "PostToolUse" => {
            let text = optional(object, "tool_result")?.unwrap_or_default();
            let failed = object.get("tool_failed") == Some(&Value::Bool(true));
            let shown = Value::String(text.clone());
            let result = CallResult { shown, ..CallResult::from_text(text, failed) };
            EventKind::AfterTool(call(object)?, result)
        }
        _ => payload::shared_kind(name, object)?.unwrap_or(EventKind::Other),
    })
}

/// Formats the answer to the event of that name. An empty (unknown) name gets the answer of
/// `PreToolUse`, the only event that can refuse a tool. `client` is its name for people.
pub(super) fn render_reply(event: &str, reply: &Reply, client: &str) -> HookOutput {
    let mut body = Map::new();
    if !reply.agent.is_empty() {
        body.insert("context".into(), join_texts(&reply.agent));
    }
    let refusal = match event {
        "" | "PreToolUse" => before_tool(&mut body, reply, client),
        "PostToolUse" => {
            after_tool(&mut body, reply);
            None
        }
        _ => None,
    };
    let decision = match (&refusal, body.contains_key("input")) {
        (Some(reason), _) => {
            body.insert("reason".into(), reason.as_str().into());
            "deny"
        }
        (None, true) => "modify",
        (None, false) => "allow",
    };
    body.insert("decision".into(), decision.into());
    HookOutput::from_answer(body, refusal)
}

/// Fills the answer before a tool; returns the reason if the call is refused.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply, client: &str) -> Option<String> {
    let refusal = match &reply.ruling {
        Disposition::None => return None,
        Disposition::Rewrite(input) => {
            body.insert("input".into(), Value::Object(input.clone()));
            return None;
        }
        Disposition::Ask(reason) => format!(
            "A person has to decide this, and {client} has no way for a plugin to ask. Tell them, and ask them to run it themselves: {reason}"
        ),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => reason.clone(),
    };
    Some(refusal_reason(&refusal))
}

/// Fills the answer after a tool. A stop is a text in place of the result, since nothing else
/// reaches the agent: each of its later actions is refused.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    let other = match (&reply.ruling, &reply.result) {
        (Disposition::Stop(reason), _) => Some(cut_text(reason, MAX_TEXT)),
        (_, Some(result)) => Some(replace_result(cut_text(&text_of(result), MAX_RESULT), &[])),
        (_, None) => None,
    };
    if let Some(other) = other {
        body.insert("result".into(), other.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(parts: &Value) -> Result<Event, WireError> {
        let mut whole = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w"});
        for (name, value) in parts.as_object().unwrap() {
            whole[name] = value.clone();
        }
        parse_event(whole.to_string().as_bytes(), "opencode")
    }

    #[test]
    fn a_command_is_judged_in_the_folder_that_its_call_names() {
        for (tool, folder, expected) in [
            ("bash", json!("sub"), "/w/sub"),
            ("bash", json!("/other"), "/other"),
            ("read", json!("sub"), "/w"),
        ] {
            let input = json!({"command": "ls", "workdir": folder});
            let event = parse(&json!({"tool_name": tool, "tool_input": input})).unwrap();
            assert_eq!(event.cwd, expected, "{tool} {folder}");
        }
        let wrong = json!({"tool_name": "bash", "tool_input": {"command": "ls", "workdir": 1}});
        assert!(parse(&wrong).unwrap_err().problem.contains("`workdir`"));
    }

    #[test]
    fn a_result_is_text_with_its_failure() {
        let event = parse(&json!({"hook_event_name": "PostToolUse", "tool_name": "bash",
            "tool_input": {"command": "x"}, "tool_result": "bad", "tool_failed": true}));
        let EventKind::AfterTool(_, result) = event.unwrap().kind else { panic!() };
        assert!(result.failed);
    }

    #[test]
    fn a_stop_and_a_masked_result_take_the_place_of_the_result() {
        for (ruling, result, expected) in [
            (Disposition::Stop("stopped".into()), None, "stopped"),
            (Disposition::None, Some(json!("masked")), "masked"),
            (Disposition::None, Some(json!("")), "(no output)"),
        ] {
            let reply = Reply { ruling, result, ..Reply::default() };
            let output = render_reply("PostToolUse", &reply, "a client");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((answer["result"].as_str(), output.exit), (Some(expected), 0));
        }
    }
}
