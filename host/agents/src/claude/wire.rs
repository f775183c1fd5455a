//! Claude Code's hooks: one JSON object on standard input, one on standard output.
//!
//! The client runs the tool whenever an answer is not in the expected form, so the forms here are
//! measured to work:
//!
//! - no objection is an answer without a decision, so that the person's own permission rules apply;
//! - a refusal is deny JSON *and* exit code 2 *and* the reason on standard error;
//! - a rewrite is `updatedInput` without a decision;
//! - a stop is a refusal with `continue: false`, which alone would not keep the tool from running.

use super::call_end::{MARK, call_end};
use crate::{HookOutput, WireError};
use portcullis_core::event::{Call, CallEnd, CallResult, Disposition, Event, EventKind, Reply};
use portcullis_core::text::cut_text;
use serde_json::{Map, Value};

/// The most bytes of standard input that are read as an event: the client sends whole file contents,
/// and 16 MiB is far past what a tool call can hold.
pub const MAX_INPUT: usize = 16 * 1024 * 1024;

/// The most values of an event, keys included: each takes a hundred times its two bytes of input in
/// memory, so that 16 MiB of them would take 1.75 GB without this limit.
const MAX_VALUES: usize = 500_000;

/// The most bytes of a name or an id.
const MAX_NAME: usize = 256;

/// The most bytes of a path: what operating systems allow.
const MAX_PATH: usize = 4096;

/// The most bytes of one text in an answer. The client moves longer ones into a file.
const MAX_TEXT: usize = 8 * 1024;

/// Reads one event.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let fail = |problem: String| WireError {
        problem,
        event: name_in(bytes, "hook_event_name"),
        session: name_in(bytes, "session_id"),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(fail(
            "the hook's standard input is empty: expected one JSON object from the client".into(),
        ));
    }
    if bytes.len() > MAX_INPUT {
        return Err(fail(format!(
            "the hook's standard input is larger than {} MiB",
            MAX_INPUT >> 20
        )));
    }
    if bytes.len() > MAX_VALUES && values(bytes) > MAX_VALUES {
        return Err(fail(format!("the hook's standard input holds more than {MAX_VALUES} values")));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| fail(format!("the hook's standard input is not valid JSON: {error}")))?;
    let Value::Object(object) = value else {
        return Err(fail("the hook's standard input is JSON but not an object".into()));
    };
    let own = |key: &str| {
        object.get(key).and_then(Value::as_str).filter(|name| is_plain(name)).map(str::to_owned)
    };
    event(&object).map_err(|problem| WireError {
        problem,
        event: own("hook_event_name"),
        session: own("session_id"),
    })
}

/// Returns an upper bound for the number of values and keys of a JSON document, by counting the
/// separators.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

fn event(object: &Map<String, Value>) -> Result<Event, String> {
    let name = required(object, "hook_event_name")?;
    let session = filled(object, "session_id")?;
    Ok(Event {
        client: "claude".into(),
        session,
        agent: at_most(object, "agent_id", MAX_NAME)?.filter(|agent| !agent.is_empty()),
        cwd: at_most(object, "cwd", MAX_PATH)?.unwrap_or_default(),
        permission_mode: optional(object, "permission_mode")?,
        kind: kind(&name, object)?,
        name,
    })
}

fn kind(name: &str, object: &Map<String, Value>) -> Result<EventKind, String> {
    Ok(match name {
        "PreToolUse" => EventKind::BeforeTool(call(object)?),
        "PostToolUse" => {
            let shown = object.get("tool_response").cloned().unwrap_or_default();
            EventKind::AfterTool(call(object)?, CallResult { shown, ..success(object) })
        }
        "PostToolUseFailure" => EventKind::AfterTool(call(object)?, failure(object)?),
        "PostToolBatch" => EventKind::AfterBatch(batch(object)?),
        "UserPromptSubmit" => EventKind::Prompt(required(object, "prompt")?),
        "SessionStart" => {
            EventKind::SessionStart { source: optional(object, "source")?.unwrap_or_default() }
        }
        "SessionEnd" => {
            EventKind::SessionEnd { reason: optional(object, "reason")?.unwrap_or_default() }
        }
        "Stop" => EventKind::Stop,
        "SubagentStart" => EventKind::SubagentStart {
            agent_type: optional(object, "agent_type")?.unwrap_or_default(),
        },
        "SubagentStop" => EventKind::SubagentStop,
        "ConfigChange" => EventKind::ConfigChange {
            source: optional(object, "source")?.unwrap_or_default(),
            file: optional(object, "file_path")?,
        },
        _ => EventKind::Other,
    })
}

fn call(object: &Map<String, Value>) -> Result<Call, String> {
    let tool = filled(object, "tool_name")?;
    let input = match object.get("tool_input") {
        Some(Value::Object(input)) => input.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            return Err(format!("`tool_input` must be an object, not {}", type_name(other)));
        }
    };
    Ok(Call { id: at_most(object, "tool_use_id", MAX_NAME)?, tool, input })
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

fn batch(object: &Map<String, Value>) -> Result<Vec<(Call, CallResult)>, String> {
    let calls = match object.get("tool_calls") {
        Some(Value::Array(calls)) => calls,
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(other) => {
            return Err(format!("`tool_calls` must be an array, not {}", type_name(other)));
        }
    };
    calls
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let entry = entry.as_object().ok_or_else(|| {
                format!("`tool_calls[{index}]` must be an object, not {}", type_name(entry))
            })?;
            let call =
                call(entry).map_err(|problem| format!("in `tool_calls[{index}]`: {problem}"))?;
            Ok((call, batched(entry)))
        })
        .collect()
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

fn duration(object: &Map<String, Value>) -> Option<u32> {
    object
        .get("duration_ms")
        .and_then(Value::as_f64)
        .filter(|ms| *ms >= 0.0)
        .map(|ms| ms.min(f64::from(u32::MAX)) as u32)
}

/// Returns a tool's result as one text: its `stdout` and `stderr`, its text blocks, or itself as
/// JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(object) => {
            let part =
                |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            let streams: Vec<&str> =
                [part("stdout"), part("stderr")].into_iter().flatten().collect();
            if object.contains_key("stdout") {
                streams.join("\n")
            } else if let Some(text) = part("text") {
                text.into()
            } else if let Some(content) = object.get("content") {
                text_of(content)
            } else {
                value.to_string()
            }
        }
        other => other.to_string(),
    }
}

fn required(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    optional(object, key)?.ok_or_else(|| format!("`{key}` is missing"))
}

/// Returns a required name or id.
fn filled(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    let name = required(object, key)?;
    if name.is_empty() || name.len() > MAX_NAME {
        Err(format!("`{key}` must have 1 to {MAX_NAME} bytes"))
    } else {
        Ok(name)
    }
}

fn at_most(object: &Map<String, Value>, key: &str, most: usize) -> Result<Option<String>, String> {
    let text = optional(object, key)?;
    if text.as_ref().is_some_and(|text| text.len() > most) {
        Err(format!("`{key}` must have at most {most} bytes"))
    } else {
        Ok(text)
    }
}

fn optional(object: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{key}` must be a string, not {}", type_name(other))),
    }
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Finds `"key": "value"` in bytes that are not valid JSON, so that even then the answer names the
/// right event. Searches the first 64 KiB and accepts plain values only. If the key occurs twice
/// with different values, nothing is returned, since one of them may be the agent's.
fn name_in(bytes: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(64 * 1024))?);
    let quoted = format!("\"{key}\"");
    let mut values = text.split(&quoted).skip(1).map(value_after);
    let first = values.next()??;
    (is_plain(first) && values.all(|other| other == Some(first))).then(|| first.to_owned())
}

/// Returns the text value that follows a key.
fn value_after(text: &str) -> Option<&str> {
    let value = text.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(value, _)| value)
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}

/// Formats the answer to the event of that name. An empty (unknown) name gets the answer of `PreToolUse`, the only
/// event that can refuse a tool.
#[must_use]
pub fn render_reply(event: &str, reply: &Reply) -> HookOutput {
    let event = if event.is_empty() { "PreToolUse" } else { event };
    let mut body = Map::new();
    if !reply.person.is_empty() {
        body.insert("systemMessage".into(), bounded(&reply.person));
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
    let mut stdout = Value::Object(body).to_string().into_bytes();
    stdout.push(b'\n');
    match refusal {
        Some(reason) => HookOutput { stdout, stderr: format!("{reason}\n").into_bytes(), exit: 2 },
        None => HookOutput { stdout, stderr: Vec::new(), exit: 0 },
    }
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
        specific.insert("additionalContext".into(), bounded(&reply.agent));
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
        specific.insert("additionalContext".into(), bounded(&reply.agent));
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

fn bounded(texts: &[String]) -> Value {
    cut_text(&texts.join("\n"), MAX_TEXT).into()
}
