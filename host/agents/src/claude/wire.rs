//! Claude Code's hooks: one JSON object on standard input, one on standard output.
//!
//! The client runs the tool whenever an answer is not in the expected form, so the forms here are
//! measured to work:
//!
//! - no objection is an answer without a decision, so that the person's own permission rules apply;
//! - a refusal is deny JSON *and* exit code 2 *and* the reason on standard error;
//! - a rewrite is `updatedInput` without a decision;
//! - a stop is a refusal with `continue: false`, which alone would not keep the tool from running.

use super::PROFILE;
use super::call_end::{MARK, call_end};
use crate::answer_text::{MAX_TEXT, join_texts};
pub use crate::payload::MAX_INPUT;
use crate::payload::{self, call, duration, optional, text_of};
use crate::{HookOutput, WireError};
use portcullis_core::event::{CallEnd, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value};

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    payload::parse_event(bytes, PROFILE.name, kind)
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    Ok(match name {
        "PostToolUse" => {
            let shown = object.get("tool_response").cloned().unwrap_or_default();
            EventKind::AfterTool(call(object)?, CallResult { shown, ..success(object) })
        }
        "PostToolUseFailure" => EventKind::AfterTool(call(object)?, failure(object)?),
        "PostToolBatch" => EventKind::AfterBatch(payload::batch(object, |entry| {
            Ok((call(entry)?, batched(entry)))
        })?),
        "ConfigChange" => EventKind::ConfigChange {
            source: optional(object, "source")?.unwrap_or_default(),
            file: optional(object, "file_path")?,
        },
        _ => payload::shared_kind(name, object)?.unwrap_or(EventKind::Other),
    })
}

fn success(object: &Map<String, Value>) -> CallResult {
    let response = object.get("tool_response").unwrap_or(&Value::Null);
    CallResult {
        failed: false,
        end: CallEnd::Finished,
        error: String::new(),
        output: text_of(response),
        duration_ms: duration(object),
        tokens: response
            .get("totalTokens")
            .and_then(Value::as_u64)
            .and_then(|tokens| u32::try_from(tokens).ok()),
        shown: Value::Null,
    }
}

fn failure(object: &Map<String, Value>) -> Result<CallResult, String> {
    let error = match object.get("error") {
        Some(Value::String(error)) => error.clone(),
        Some(other) => text_of(other),
        None => object.get("tool_response").map(text_of).unwrap_or_default(),
    };
    let interrupted = object.get("is_interrupt").and_then(Value::as_bool) == Some(true);
    let error = if error.is_empty() && interrupted { "interrupted".into() } else { error };
    let tool = object.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let end = match call_end(tool, &error) {
        CallEnd::Finished if interrupted => CallEnd::Interrupted,
        end => end,
    };
    Ok(CallResult {
        failed: true,
        end,
        error,
        output: String::new(),
        duration_ms: duration(object),
        tokens: None,
        shown: Value::Null,
    })
}

/// Reads a batch's entry, which holds the text that the model got. That text marks a call that
/// never ran, such as one of a tool that does not exist; no other event reports those.
fn batched(entry: &Map<String, Value>) -> CallResult {
    let result = success(entry);
    if result.output.starts_with(MARK) {
        let tool = entry.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let end = call_end(tool, &result.output);
        CallResult { failed: true, end, error: result.output, output: String::new(), ..result }
    } else {
        result
    }
}

/// Formats the answer to the event of that name. An empty (unknown) name gets the answer of
/// `PreToolUse`, the only event that can refuse a tool.
#[must_use]
pub fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let event = if event.is_empty() { "PreToolUse" } else { event };
    let mut body = Map::new();
    if !reply.person.is_empty() {
        body.insert("systemMessage".into(), join_texts(&reply.person));
    }
    let refusal = match event {
        "PreToolUse" => before_tool(&mut body, reply),
        "PostToolUse" | "PostToolUseFailure" | "UserPromptSubmit" | "SessionStart"
        | "SubagentStart" | "Stop" | "SubagentStop" | "PostToolBatch" => {
            after(&mut body, event, reply)
        }
        "ConfigChange" => config_change(&mut body, reply),
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
            specific.insert("updatedInput".into(), Value::Object(input.clone()));
            None
        }
        Disposition::Ask(reason) => {
            decision(&mut specific, "ask", reason);
            None
        }
        Disposition::Refuse(reason) => {
            decision(&mut specific, "deny", reason);
            Some(reason.clone())
        }
        Disposition::Stop(reason) => {
            body.insert("continue".into(), false.into());
            body.insert("stopReason".into(), cut_text(reason, MAX_TEXT).into());
            decision(&mut specific, "deny", reason);
            Some(reason.clone())
        }
    };
    if !reply.agent.is_empty() && !matches!(reply.ruling, Disposition::Rewrite(_)) {
        specific.insert("additionalContext".into(), join_texts(&reply.agent));
    }
    body.insert("hookSpecificOutput".into(), Value::Object(specific));
    refusal.map(|reason| cut_text(&reason, MAX_TEXT))
}

fn decision(specific: &mut Map<String, Value>, decision: &str, reason: &str) {
    specific.insert("permissionDecision".into(), decision.into());
    specific.insert("permissionDecisionReason".into(), cut_text(reason, MAX_TEXT).into());
}

/// Fills the answer to an event after the fact: context, and the end of the session. These events
/// cannot refuse anything, so they never exit with 2.
fn after(body: &mut Map<String, Value>, event: &str, reply: &Reply) -> Option<String> {
    if let Disposition::Stop(reason) = &reply.ruling {
        body.insert("continue".into(), false.into());
        body.insert("stopReason".into(), cut_text(reason, MAX_TEXT).into());
    }
    let mut specific = Map::new();
    // Context at the end of a turn would start another one.
    let ends_a_turn = matches!(event, "Stop" | "SubagentStop");
    if !reply.agent.is_empty() && !ends_a_turn {
        specific.insert("additionalContext".into(), join_texts(&reply.agent));
    }
    // No other event's answer can replace a result.
    if let Some(result) = reply.result.as_ref().filter(|_| event == "PostToolUse") {
        specific.insert("updatedToolOutput".into(), result.clone());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), event.into());
        body.insert("hookSpecificOutput".into(), specific.into());
    }
    None
}

fn config_change(body: &mut Map<String, Value>, reply: &Reply) -> Option<String> {
    let (Disposition::Refuse(reason) | Disposition::Stop(reason) | Disposition::Ask(reason)) =
        &reply.ruling
    else {
        return None;
    };
    body.insert("decision".into(), "block".into());
    body.insert("reason".into(), cut_text(reason, MAX_TEXT).into());
    None
}
