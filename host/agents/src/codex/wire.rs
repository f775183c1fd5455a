//! Codex CLI's hooks: one JSON object on standard input, one on standard output.
//!
//! The client runs the tool whenever an answer has a part that it does not know, or a decision that
//! it does not take, so the forms here are measured to work:
//!
//! - a refusal is deny JSON with a reason *and* exit code 2 *and* the reason on standard error;
//! - a rewrite is `updatedInput` beside `allow`, which the client demands;
//! - a question becomes a refusal, since the tool runs after `ask`;
//! - a stop is a refusal, since the tool runs after `continue: false`: the session's next actions
//!   are refused too.

use super::PROFILE;
use crate::answer_text::{MAX_RESULT, MAX_TEXT, join_texts, refusal_reason, replace_result};
use crate::payload::{self, call, text_of};
use crate::{HookOutput, WireError};
use portcullis_core::event::{CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value};

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(super) fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    payload::parse_event(bytes, PROFILE.name, kind)
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    Ok(match name {
        "PostToolUse" => {
            let shown = object.get("tool_response").cloned().unwrap_or_default();
            let output = text_of(&shown);
            let call = call(object)?;
            // A command can print anything; the transcript says how it ended.
            let failed = call.tool != "Bash" && exit_code(&output).is_some_and(|code| code != 0);
            let result = CallResult { shown, ..CallResult::from_text(output, failed) };
            EventKind::AfterTool(call, result)
        }
        _ => payload::shared_kind(name, object)?.unwrap_or(EventKind::Other),
    })
}

/// Returns the exit code in the text that some tools show: `Exit code: 1`.
fn exit_code(output: &str) -> Option<i64> {
    output.strip_prefix("Exit code: ")?.lines().next()?.trim().parse().ok()
}

/// Formats the answer to the event of that name. An empty (unknown) name gets the answer of
/// `PreToolUse`, the only event that can refuse a tool.
pub(super) fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let event = if event.is_empty() { "PreToolUse" } else { event };
    let mut body = Map::new();
    if !reply.person.is_empty() {
        body.insert("systemMessage".into(), join_texts(&reply.person));
    }
    let refusal = match event {
        "PreToolUse" => before_tool(&mut body, reply),
        "PostToolUse" => {
            after_tool(&mut body, reply);
            None
        }
        "UserPromptSubmit" | "SessionStart" => {
            add_context(&mut body, event, reply);
            None
        }
        _ => None,
    };
    HookOutput::from_answer(body, refusal)
}

/// Fills the answer to `PreToolUse`; returns the reason if the call is refused.
fn before_tool(body: &mut Map<String, Value>, reply: &Reply) -> Option<String> {
    let mut specific = Map::new();
    specific.insert("hookEventName".into(), "PreToolUse".into());
    let refusal = match &reply.ruling {
        Disposition::None => None,
        Disposition::Rewrite(input) => {
            specific.insert("permissionDecision".into(), "allow".into());
            specific.insert("updatedInput".into(), Value::Object(input.clone()));
            None
        }
        Disposition::Ask(reason) => Some(format!("{UNASKED}{reason}")),
        Disposition::Refuse(reason) | Disposition::Stop(reason) => Some(reason.clone()),
    };
    let refusal = refusal.map(|reason| refusal_reason(&reason));
    if let Some(reason) = &refusal {
        specific.insert("permissionDecision".into(), "deny".into());
        specific.insert("permissionDecisionReason".into(), reason.as_str().into());
    }
    if !reply.agent.is_empty() && !matches!(reply.ruling, Disposition::Rewrite(_)) {
        specific.insert("additionalContext".into(), join_texts(&reply.agent));
    }
    body.insert("hookSpecificOutput".into(), Value::Object(specific));
    refusal
}

/// The beginning of a refusal that is a question where there is an interface for one.
const UNASKED: &str = "A person has to decide this before it runs; tell them: ";

/// Fills the answer after a tool: context, another result, or the end of the turn. The client shows
/// the agent the reason of a block in place of the result.
fn after_tool(body: &mut Map<String, Value>, reply: &Reply) {
    let other = match (&reply.ruling, &reply.result) {
        (Disposition::Stop(reason), _) => {
            body.insert("continue".into(), false.into());
            body.insert("stopReason".into(), cut_text(reason, MAX_TEXT).into());
            return;
        }
        (_, Some(result)) => Some(text_of(result)),
        (_, None) => None,
    };
    if let Some(other) = other {
        let shown = replace_result(cut_text(&other, MAX_RESULT), &[]);
        body.insert("decision".into(), "block".into());
        body.insert("reason".into(), shown.into());
    }
    add_context(body, "PostToolUse", reply);
}

fn add_context(body: &mut Map<String, Value>, event: &str, reply: &Reply) {
    if reply.agent.is_empty() {
        return;
    }
    let mut specific = Map::new();
    specific.insert("hookEventName".into(), event.into());
    specific.insert("additionalContext".into(), join_texts(&reply.agent));
    body.insert("hookSpecificOutput".into(), specific.into());
}
