//! Reads an event. Everything that the form does not know is refused: a misspelt part must not
//! look like a part that is not there.

use super::{MAX_EVENT, NAME, VERSION};
use crate::WireError;
use crate::payload::{MAX_NAME, MAX_PATH, check_size, type_name};
use portcullis_core::event::{Call, CallResult, Event, EventKind};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    version: u64,
    event: String,
    session: String,
    folder: String,
    subagent: Option<String>,
    id: Option<String>,
    tool: Option<String>,
    input: Option<Map<String, Value>>,
    result: Option<ToolResult>,
    text: Option<String>,
    source: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResult {
    failed: bool,
    output: String,
    duration_ms: Option<u32>,
    tokens: Option<u32>,
}

/// Reads one event: a JSON object in the form of [`super::SCHEMA`].
///
/// # Errors
/// Fails if the bytes are empty or too many, are not JSON, have another version, lack a part of
/// their event, or have a part that their event does not know.
pub fn parse_event(bytes: &[u8]) -> Result<Event, WireError> {
    let fail = |problem: String| WireError {
        problem,
        event: text_in(bytes, "event"),
        session: text_in(bytes, "session").map(|session| own_session(&session)),
    };
    check_size(bytes, "the event", MAX_EVENT).map_err(fail)?;
    let message: Message = serde_json::from_slice(bytes).map_err(|error| {
        fail(find_wrong_type(bytes).unwrap_or_else(|| {
            format!("the event is not a JSON object in the form of `--schema`: {error}")
        }))
    })?;
    event(message).map_err(fail)
}

fn event(message: Message) -> Result<Event, String> {
    if message.version != VERSION {
        return Err(format!(
            "`version` is {}, and this program reads version {VERSION}",
            message.version
        ));
    }
    check_name("session", &message.session)?;
    if !message.folder.starts_with('/') || message.folder.len() > MAX_PATH {
        return Err(format!("`folder` must be an absolute path of at most {MAX_PATH} bytes"));
    }
    for (name, value) in
        [("subagent", &message.subagent), ("id", &message.id), ("tool", &message.tool)]
    {
        value.as_deref().map_or(Ok(()), |value| check_name(name, value))?;
    }
    Ok(Event {
        client: NAME.to_owned(),
        session: own_session(&message.session),
        agent: message.subagent.clone(),
        cwd: message.folder.clone(),
        permission_mode: None,
        name: message.event.clone(),
        kind: kind(message)?,
    })
}

/// Names the first part of another type, which the parser's own message does not.
fn find_wrong_type(bytes: &[u8]) -> Option<String> {
    let message: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    message.iter().find_map(|(name, value)| {
        let (fits, wanted) = match name.as_str() {
            "version" => (value.is_u64(), "a number"),
            "input" | "result" => (value.is_object(), "an object"),
            "event" | "session" | "folder" | "subagent" | "id" | "tool" | "text" | "source"
            | "reason" => (value.is_string(), "a string"),
            _ => return None,
        };
        (!fits).then(|| format!("`{name}` must be {wanted}, not {}", type_name(value)))
    })
}

/// Returns the name of a session in the journal. Another client may use the same id.
fn own_session(session: &str) -> String {
    format!("{}:{session}", NAME)
}

fn kind(mut message: Message) -> Result<EventKind, String> {
    let name = std::mem::take(&mut message.event);
    let known: &[&str] = match name.as_str() {
        "before" => &["id", "tool", "input"],
        "after" => &["id", "tool", "input", "result"],
        "prompt" => &["text"],
        "start" => &["source"],
        "end" => &["reason"],
        "stop" => &[],
        _ => {
            return Err(format!(
                "`event` is `{}`: expected before, after, prompt, start, end or stop",
                portcullis_core::text::one_line(&name, 80)
            ));
        }
    };
    let parts = [
        ("id", message.id.is_some()),
        ("tool", message.tool.is_some()),
        ("input", message.input.is_some()),
        ("result", message.result.is_some()),
        ("text", message.text.is_some()),
        ("source", message.source.is_some()),
        ("reason", message.reason.is_some()),
    ];
    if let Some((part, _)) = parts.iter().find(|(part, has)| *has && !known.contains(part)) {
        return Err(format!("an event `{name}` has no `{part}`"));
    }
    let missing = |part: &str| format!("an event `{name}` needs `{part}`");
    let mut call = || {
        let tool = message.tool.take().ok_or_else(|| missing("tool"))?;
        let input = message.input.take().ok_or_else(|| missing("input"))?;
        Ok::<_, String>(Call { id: message.id.take(), tool, input })
    };
    Ok(match name.as_str() {
        "before" => EventKind::BeforeTool(call()?),
        "after" => {
            let call = call()?;
            let result = message.result.ok_or_else(|| missing("result"))?;
            EventKind::AfterTool(call, call_result(result))
        }
        "prompt" => EventKind::Prompt(message.text.ok_or_else(|| missing("text"))?),
        "start" => EventKind::SessionStart {
            source: message.source.unwrap_or_else(|| "startup".to_owned()),
        },
        "end" => EventKind::SessionEnd { reason: message.reason.unwrap_or_default() },
        _ => EventKind::Stop,
    })
}

fn call_result(result: ToolResult) -> CallResult {
    let shown = Value::String(result.output.clone());
    CallResult {
        shown,
        duration_ms: result.duration_ms,
        tokens: result.tokens,
        ..CallResult::from_text(result.output, result.failed)
    }
}

fn check_name(part: &str, value: &str) -> Result<(), String> {
    if value.is_empty() || value.len() > MAX_NAME {
        return Err(format!("`{part}` must have 1 to {MAX_NAME} bytes"));
    }
    Ok(())
}

/// Returns a text of an object that is not an event, for its record.
fn text_in(bytes: &[u8], part: &str) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let text = value.get(part)?.as_str()?;
    (!text.is_empty() && text.len() <= MAX_NAME).then(|| text.to_owned())
}
