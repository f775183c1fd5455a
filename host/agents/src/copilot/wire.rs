//! Copilot CLI's hooks: one JSON object on standard input, one on standard output.
//!
//! The input names no event: its parts tell which one it is, and what has a tool and neither a
//! result nor an error comes before that tool. The forms of answers are measured to work:
//!
//! - no objection is an answer without a decision: the client's own rules and the person decide;
//! - a refusal is deny JSON *and* exit code 2, which refuses even if the JSON is damaged;
//! - a rewrite is the whole input in `modifiedArgs`;
//! - a question is `ask`: the client refuses by itself where nobody can answer;
//! - a stop is a refusal; the session's next actions are refused too.

use super::PROFILE;
use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason};
use crate::payload::{
    self, MAX_NAME, MAX_PATH, at_most, filled, optional, required, text_of, type_name,
};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The event before an action.
const GATE: &str = "preToolUse";

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let object = payload::parse_object(bytes, "sessionId")?;
    let name = name_of(&object);
    event(&object, name).map_err(|problem| WireError {
        problem,
        event: Some(name.to_owned()),
        session: optional(&object, "sessionId").ok().flatten(),
    })
}

/// Returns the event's name, by the parts of its input. Anything with a tool is taken for the event
/// that can refuse it, unless it is known to be over.
fn name_of(object: &Map<String, Value>) -> &'static str {
    let has = |name: &str| object.contains_key(name);
    // The order counts: inputs have the parts of later rows too.
    let known = [
        (has("toolName") && has("toolResult"), "postToolUse"),
        (has("toolName") && has("error"), "postToolUseFailure"),
        (has("toolName"), GATE),
        (has("transformedPrompt"), "userPromptTransformed"),
        (has("initialPrompt") || has("source"), "sessionStart"),
        (has("prompt"), "userPromptSubmitted"),
        (has("agentId") && has("stopReason"), "subagentStop"),
        (has("stopReason"), "agentStop"),
        (has("agentId"), "subagentStart"),
        (has("reason"), "sessionEnd"),
    ];
    known.into_iter().find(|(holds, _)| *holds).map_or("", |(_, name)| name)
}

fn event(object: &Map<String, Value>, name: &'static str) -> Result<Event, String> {
    if object.contains_key("hook_event_name") {
        return Err(format!(
            "`hook_event_name` is not a part of {}'s events",
            PROFILE.display_name
        ));
    }
    let own = filled(object, "sessionId")?;
    let parent = at_most(object, "parentAgentId", MAX_NAME)?.filter(|id| !id.is_empty());
    // A subagent's calls have its own id in place of the session's.
    let (session, agent) = match parent {
        Some(parent) if parent != own => (parent, Some(own)),
        _ => (own, at_most(object, "agentId", MAX_NAME)?),
    };
    Ok(Event {
        client: PROFILE.name.to_owned(),
        session,
        agent: agent.filter(|agent| !agent.is_empty()),
        cwd: at_most(object, "cwd", MAX_PATH)?.unwrap_or_default(),
        permission_mode: None,
        kind: kind(object, name)?,
        name: name.to_owned(),
    })
}

fn kind(object: &Map<String, Value>, name: &str) -> Result<EventKind, String> {
    let text = |key: &str| Ok::<_, String>(optional(object, key)?.unwrap_or_default());
    Ok(match name {
        GATE => EventKind::BeforeTool(call(object)?),
        "postToolUse" => {
            let call = call(object)?;
            let result = result(&call, object.get("toolResult").unwrap_or(&Value::Null));
            EventKind::AfterTool(call, result)
        }
        "postToolUseFailure" => {
            let error = object.get("error").map(text_of).unwrap_or_default();
            EventKind::AfterTool(call(object)?, CallResult::from_text(error, true))
        }
        "userPromptSubmitted" => EventKind::Prompt(required(object, "prompt")?),
        "sessionStart" => EventKind::SessionStart { source: text("source")? },
        "sessionEnd" => EventKind::SessionEnd { reason: text("reason")? },
        "agentStop" => EventKind::Stop,
        "subagentStart" => EventKind::SubagentStart { agent_type: text("agentType")? },
        "subagentStop" => EventKind::SubagentStop,
        _ => EventKind::Other,
    })
}

fn call(object: &Map<String, Value>) -> Result<Call, String> {
    let input = match object.get("toolArgs") {
        Some(Value::Object(input)) => input.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            return Err(format!("`toolArgs` must be an object, not {}", type_name(other)));
        }
    };
    Ok(Call { id: None, tool: filled(object, "toolName")?, input })
}

/// Reads the end of a call. A command that fails is a success to the client.
fn result(call: &Call, result: &Value) -> CallResult {
    let shown = result.get("textResultForLlm").cloned().unwrap_or_default();
    let output = text_of(&shown);
    let kind = result.get("resultType").and_then(Value::as_str);
    let error = kind.is_some_and(|kind| kind != "success");
    CallResult { shown, ..call_result(call, output, error) }
}

/// Returns the end of a call by the text that the model gets; `error` if the client calls it one.
pub(super) fn call_result(call: &Call, text: String, error: bool) -> CallResult {
    let failed = error || (call.tool == "bash" && exit_code(&text).is_some_and(|code| code != 0));
    CallResult::from_text(text, failed)
}

/// Returns the exit code in the line that the client adds after a command's output:
/// `<shellId: 0 completed with exit code 3>`.
fn exit_code(output: &str) -> Option<i64> {
    let line = output.trim_end().lines().next_back()?;
    let code = line.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("exit code ")?.1;
    code.trim().parse().ok()
}

/// Returns the event before a shell command.
pub(super) fn command_event(session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "sessionId": session,
        "timestamp": 0,
        "cwd": folder,
        "toolName": "bash",
        "toolArgs": { "command": command, "description": "a trial" },
    })
}

/// Formats the answer to the event of that name. An empty or unknown name gets the answer of
/// `preToolUse`, the only event that can refuse a tool.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let mut body = Map::new();
    let refusal = match event {
        "postToolUse" => {
            after_tool(&mut body, reply);
            None
        }
        "postToolUseFailure" | "userPromptSubmitted" | "sessionStart" | "subagentStart" => {
            add_context(&mut body, reply);
            None
        }
        "agentStop" | "subagentStop" | "sessionEnd" | "userPromptTransformed" => None,
        _ => before_tool(&mut body, reply),
    };
    HookOutput::from_answer(body, refusal)
}

/// Fills the answer to `preToolUse`; returns the reason if the call is refused.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply) -> Option<String> {
    let (decision, reason) = match &reply.ruling {
        Disposition::None => {
            add_context(body, reply);
            return None;
        }
        Disposition::Rewrite(input) => {
            body.insert("modifiedArgs".into(), Value::Object(input.clone()));
            return None;
        }
        Disposition::Ask(reason) => ("ask", reason),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => ("deny", reason),
    };
    let reason = refusal_reason(reason);
    body.insert("permissionDecision".into(), decision.into());
    body.insert("permissionDecisionReason".into(), reason.as_str().into());
    (decision == "deny").then_some(reason)
}

/// Fills the answer after a tool: context, another result, or a reason in place of the result.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    if let Disposition::Stop(reason) = &reply.ruling {
        body.insert("decision".into(), "block".into());
        body.insert("reason".into(), cut_text(reason, MAX_TEXT).into());
        return;
    }
    if let Some(result) = &reply.result {
        let text = cut_text(&text_of(result), MAX_RESULT);
        let other = json!({"resultType": "success", "textResultForLlm": text});
        body.insert("modifiedResult".into(), other);
    }
    add_context(body, reply);
}

fn add_context(body: &mut Map<String, Value>, reply: &Reply) {
    if !reply.agent.is_empty() {
        body.insert("additionalContext".into(), join_texts(&reply.agent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(event: Value) -> Result<Event, WireError> {
        let mut whole = json!({"sessionId": "s", "timestamp": 1, "cwd": "/w"});
        for (name, value) in event.as_object().unwrap() {
            whole[name] = value.clone();
        }
        parse_event(whole.to_string().as_bytes())
    }

    #[test]
    fn an_event_is_known_by_its_parts() {
        let result = json!({"resultType": "success", "textResultForLlm": "x"});
        for (parts, name) in [
            (json!({"toolName": "bash", "toolArgs": {"error": 1, "toolResult": 2}}), GATE),
            (json!({"toolName": "bash", "somethingNew": 1}), GATE),
            (json!({"toolName": "bash", "toolResult": result}), "postToolUse"),
            (json!({"toolName": "view", "error": "no"}), "postToolUseFailure"),
            (json!({"prompt": "do it"}), "userPromptSubmitted"),
            (json!({"prompt": "do it", "transformedPrompt": "x"}), "userPromptTransformed"),
            (json!({"source": "new", "initialPrompt": "do it"}), "sessionStart"),
            (json!({"reason": "complete"}), "sessionEnd"),
            (json!({"stopReason": "end_turn", "transcriptPath": "/t"}), "agentStop"),
            (json!({"agentId": "a", "agentName": "task"}), "subagentStart"),
            (json!({"agentId": "a", "agentName": "task", "stopReason": "x"}), "subagentStop"),
            (json!({"message": "hello"}), ""),
        ] {
            assert_eq!(parse(parts.clone()).unwrap().name, name, "{parts}");
        }
    }

    #[test]
    fn a_subagents_call_is_of_the_session_that_started_it() {
        let event = parse(json!({"sessionId": "sub", "toolName": "bash", "toolArgs": {},
            "agentId": "sub", "parentAgentId": "main"}));
        let event = event.unwrap();
        assert_eq!((event.session.as_str(), event.agent.as_deref()), ("main", Some("sub")));
    }

    #[test]
    fn a_failed_command_is_known_by_the_line_after_its_output() {
        for (tool, text, kind, failed) in [
            ("bash", "hello\n<shellId: 0 completed with exit code 0>", "success", false),
            ("bash", "bad\n<shellId: 0 completed with exit code 3>", "success", true),
            ("bash", "<exit code 3>\nmore", "success", false),
            ("view", "<shellId: 0 completed with exit code 3>", "success", false),
            ("view", "no", "failure", true),
        ] {
            let event = parse(json!({"toolName": tool, "toolArgs": {"command": "x"},
                "toolResult": {"resultType": kind, "textResultForLlm": text}}));
            let EventKind::AfterTool(_, result) = event.unwrap().kind else { panic!() };
            assert_eq!(result.failed, failed, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_call_refuses_it() {
        for parts in [
            json!({"toolName": "bash", "toolArgs": "rm"}),
            json!({"toolName": "", "toolArgs": {}}),
            json!({"toolName": 1}),
            json!({"hook_event_name": "PreToolUse", "toolName": "bash"}),
        ] {
            let error = parse(parts.clone()).unwrap_err();
            let reply = Reply { ruling: Disposition::Refuse("no".into()), ..Reply::default() };
            let output = render_reply(error.event.as_deref().unwrap_or_default(), &reply);
            assert_eq!(output.exit, 2, "{parts}");
        }
    }
}
