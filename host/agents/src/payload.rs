//! The payload of hooks in the form that several clients share: one JSON object with the event's
//! name, the session, the folder, and a tool with its input.

use crate::WireError;
use portcullis_core::event::{Call, CallResult, Event, EventKind};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The most bytes of standard input that are read as an event: the client sends whole file
/// contents, and 16 MiB is far past what a tool call can hold.
pub const MAX_INPUT: usize = 16 * 1024 * 1024;

/// The most values of an event, keys included: each takes a hundred times its two bytes of input in
/// memory, so that 16 MiB of them would take 1.75 GB without this limit.
const MAX_VALUES: usize = 500_000;

/// The most bytes of a name or an id.
pub(crate) const MAX_NAME: usize = 256;

/// The most bytes of a path: what operating systems allow.
pub(crate) const MAX_PATH: usize = 4096;

/// Reads what is special about an event, by its name.
pub(crate) type KindReader = fn(&str, &Map<String, Value>) -> Result<EventKind, String>;

/// Reads one event of a client.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, nested deeper than 127 levels, or lacks a part
/// that every event has.
pub(crate) fn parse_event(
    bytes: &[u8],
    client: &str,
    kind: KindReader,
) -> Result<Event, WireError> {
    let object = parse_object(bytes, "session_id")?;
    let own = |key: &str| {
        object.get(key).and_then(Value::as_str).filter(|name| is_plain(name)).map(str::to_owned)
    };
    event(&object, client, kind).map_err(|problem| WireError {
        problem,
        event: own("hook_event_name"),
        session: own("session_id"),
    })
}

/// Reads a hook's input as one object. `session` is the key of the session's name, for the error.
///
/// # Errors
/// Fails if the input is empty, too large, not JSON, not an object, or nested deeper than 127
/// levels.
pub(crate) fn parse_object(bytes: &[u8], session: &str) -> Result<Map<String, Value>, WireError> {
    let fail = |problem: String| WireError {
        problem,
        event: name_in(bytes, "hook_event_name"),
        session: name_in(bytes, session),
    };
    check_size(bytes, "the hook's standard input", MAX_INPUT).map_err(fail)?;
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| fail(format!("the hook's standard input is not valid JSON: {error}")))?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(fail("the hook's standard input is JSON but not an object".into())),
    }
}

/// Checks that bytes can be read as one JSON object without much memory; `what` names them.
///
/// # Errors
/// Fails if they are empty, more than `most`, or hold too many values.
pub(crate) fn check_size(bytes: &[u8], what: &str, most: usize) -> Result<(), String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(format!("{what} is empty: expected one JSON object from the client"));
    }
    if bytes.len() > most {
        return Err(format!("{what} is larger than {} MiB", most >> 20));
    }
    // Each value takes a byte at least, so small inputs are not counted.
    if bytes.len() > MAX_VALUES && values(bytes) > MAX_VALUES {
        return Err(format!("{what} holds more than {MAX_VALUES} values"));
    }
    Ok(())
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

fn event(object: &Map<String, Value>, client: &str, kind: KindReader) -> Result<Event, String> {
    let name = required(object, "hook_event_name")?;
    let session = filled(object, "session_id")?;
    Ok(Event {
        client: client.to_owned(),
        session,
        agent: at_most(object, "agent_id", MAX_NAME)?.filter(|agent| !agent.is_empty()),
        cwd: at_most(object, "cwd", MAX_PATH)?.unwrap_or_default(),
        permission_mode: optional(object, "permission_mode")?,
        kind: kind(&name, object)?,
        name,
    })
}

/// Returns the event before a shell command in the shared form.
pub(crate) fn command_event(event: &str, session: &str, folder: &Path, command: &str) -> Value {
    json!({
        "session_id": session,
        "transcript_path": "/dev/null",
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_use_id": session,
    })
}

/// The tools that run commands, and the parameter that names the folder in which they do: a command
/// is judged where it runs.
pub(crate) struct ShellFolder {
    /// The tools.
    pub(crate) tools: &'static [&'static str],
    /// The parameter.
    pub(crate) parameter: &'static str,
}

impl ShellFolder {
    /// Checks the folder that a call names.
    ///
    /// # Errors
    /// Fails if it is not a path.
    pub(crate) fn check(&self, call: &Call) -> Result<(), String> {
        if self.tools.contains(&call.tool.as_str()) {
            at_most(&call.input, self.parameter, MAX_PATH)
                .map_err(|problem| format!("in `tool_input`: {problem}"))?;
        }
        Ok(())
    }

    /// Moves an event into the folder that its call names.
    pub(crate) fn enter(&self, event: &mut Event) {
        if let EventKind::BeforeTool(call) | EventKind::AfterTool(call, _) = &event.kind
            && self.tools.contains(&call.tool.as_str())
            && let Some(folder) = call.input.get(self.parameter).and_then(Value::as_str)
        {
            event.cwd = Path::new(&event.cwd).join(folder).to_string_lossy().into_owned();
        }
    }
}

/// A call with its end.
type EndedCall = (Call, CallResult);

/// Reads the calls of a batch; `read` reads each, which names its own tool.
///
/// # Errors
/// Fails with the index of the first one that cannot be read.
pub(crate) fn batch(
    object: &Map<String, Value>,
    read: fn(&Map<String, Value>) -> Result<EndedCall, String>,
) -> Result<Vec<EndedCall>, String> {
    let calls = match object.get("tool_calls") {
        Some(Value::Array(calls)) => calls,
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(other) => {
            return Err(format!("`tool_calls` must be an array, not {}", type_name(other)));
        }
    };
    let read = |(index, entry): (usize, &Value)| {
        let entry = entry.as_object().ok_or_else(|| {
            format!("`tool_calls[{index}]` must be an object, not {}", type_name(entry))
        })?;
        read(entry).map_err(|problem| format!("in `tool_calls[{index}]`: {problem}"))
    };
    calls.iter().enumerate().map(read).collect()
}

/// Reads the events that are the same for all such clients; `None` for another one.
///
/// # Errors
/// Fails if a part that the event has is missing or of another type.
pub(crate) fn shared_kind(
    name: &str,
    object: &Map<String, Value>,
) -> Result<Option<EventKind>, String> {
    let text = |key: &str| Ok::<_, String>(optional(object, key)?.unwrap_or_default());
    Ok(Some(match name {
        "PreToolUse" => EventKind::BeforeTool(call(object)?),
        "UserPromptSubmit" => EventKind::Prompt(required(object, "prompt")?),
        "SessionStart" => EventKind::SessionStart { source: text("source")? },
        "SessionEnd" => EventKind::SessionEnd { reason: text("reason")? },
        "Stop" => EventKind::Stop,
        "SubagentStart" => EventKind::SubagentStart { agent_type: text("agent_type")? },
        "SubagentStop" => EventKind::SubagentStop,
        _ => return Ok(None),
    }))
}

pub(crate) fn call(object: &Map<String, Value>) -> Result<Call, String> {
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

pub(crate) fn duration(object: &Map<String, Value>) -> Option<u32> {
    object
        .get("duration_ms")
        .and_then(Value::as_f64)
        .filter(|ms| *ms >= 0.0)
        .map(|ms| ms.min(f64::from(u32::MAX)) as u32)
}

/// Returns a tool's result as one text: its `stdout` and `stderr`, its text blocks, or itself as
/// JSON.
pub(crate) fn text_of(value: &Value) -> String {
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

pub(crate) fn required(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    optional(object, key)?.ok_or_else(|| format!("`{key}` is missing"))
}

/// Returns a required name or id.
pub(crate) fn filled(object: &Map<String, Value>, key: &str) -> Result<String, String> {
    let name = required(object, key)?;
    if name.is_empty() || name.len() > MAX_NAME {
        Err(format!("`{key}` must have 1 to {MAX_NAME} bytes"))
    } else {
        Ok(name)
    }
}

pub(crate) fn at_most(
    object: &Map<String, Value>,
    key: &str,
    most: usize,
) -> Result<Option<String>, String> {
    let text = optional(object, key)?;
    if text.as_ref().is_some_and(|text| text.len() > most) {
        Err(format!("`{key}` must have at most {most} bytes"))
    } else {
        Ok(text)
    }
}

pub(crate) fn optional(object: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{key}` must be a string, not {}", type_name(other))),
    }
}

pub(crate) const fn type_name(value: &Value) -> &'static str {
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
