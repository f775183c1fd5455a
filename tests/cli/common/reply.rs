//! Parses an answer as strictly as the client could: one JSON object, only fields that the event
//! may carry, an exit code that the client respects. The client would treat anything undefined as
//! consent.

use super::process::Ended;
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Map, Value};

/// The client moves longer texts into a file.
const MAX_TEXT: usize = 10_000;

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing, and no message.
    Quiet,
    /// A message for the agent or the person.
    Informed,
    /// The call runs in a changed form.
    Rewritten,
    /// A person decides.
    Asked,
    /// The call does not run.
    Refused,
    /// The session ends; a pending call does not run.
    Stopped,
    /// A change of settings does not take effect.
    Held,
}

/// An answer that the client accepts.
#[derive(Debug)]
pub struct Reply {
    /// Its effect.
    pub answer: Answer,
    /// All its messages.
    pub said: String,
    /// The whole document.
    pub body: Value,
}

impl Reply {
    /// Checks that it contains all these texts.
    pub fn says(&self, parts: &[&str]) -> Result<()> {
        for part in parts {
            ensure!(self.said.contains(part), "it does not say {part:?}: {:?}", self.said);
        }
        Ok(())
    }
}

/// Parses the answer to the event of that name; an unknown name is treated as `PreToolUse`.
pub fn read(event: &str, ended: &Ended) -> Result<Reply> {
    judge(event, ended)
        .with_context(|| format!("the answer to `{event}` is not valid ({})", ended.all()))
}

fn judge(event: &str, ended: &Ended) -> Result<Reply> {
    let text = std::str::from_utf8(&ended.stdout).context("it is not UTF-8")?;
    let document = text.strip_suffix('\n').ok_or_else(|| anyhow!("it does not end its line"))?;
    ensure!(!document.contains('\n'), "it is more than one line");
    let body: Value = serde_json::from_str(document).context("it is not a JSON document")?;
    let object = body.as_object().ok_or_else(|| anyhow!("it is not an object"))?;
    fields(event, object)?;
    texts(&body)?;
    let answer = meaning(event, object)?;
    let refused =
        body.pointer("/hookSpecificOutput/permissionDecision").is_some_and(|value| value == "deny");
    ensure!(ended.code == Some(if refused { 2 } else { 0 }), "its exit code does not fit");
    let reason = body
        .pointer("/hookSpecificOutput/permissionDecisionReason")
        .and_then(Value::as_str)
        .filter(|_| refused);
    let complaint = reason.map(|reason| format!("{reason}\n")).unwrap_or_default();
    ensure!(
        ended.stderr == complaint,
        "standard error is for the reason of a refusal, no panic and nothing else"
    );
    ensure!(!ended.text().contains("a defect of portcullis"), "it tells of a defect");
    let said = said(&body) + "\n" + &ended.stderr;
    Ok(Reply { answer, said, body })
}

fn fields(event: &str, object: &Map<String, Value>) -> Result<()> {
    let (top, specific): (&[&str], &[&str]) = match event {
        "PreToolUse" | "" => (
            &["systemMessage", "continue", "stopReason", "hookSpecificOutput"],
            &[
                "hookEventName",
                "permissionDecision",
                "permissionDecisionReason",
                "updatedInput",
                "additionalContext",
            ],
        ),
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" | "UserPromptSubmit" | "Stop"
        | "SubagentStop" => (
            &["systemMessage", "continue", "stopReason", "hookSpecificOutput"],
            &["hookEventName", "additionalContext"],
        ),
        "SessionStart" | "SubagentStart" => {
            (&["systemMessage", "hookSpecificOutput"], &["hookEventName", "additionalContext"])
        }
        "ConfigChange" => (&["systemMessage", "decision", "reason"], &[]),
        "SessionEnd" => (&["systemMessage"], &[]),
        _ => (&[], &[]),
    };
    for key in object.keys() {
        ensure!(top.contains(&key.as_str()), "`{key}` does not belong into it");
    }
    let Some(inner) = object.get("hookSpecificOutput") else { return Ok(()) };
    let inner =
        inner.as_object().ok_or_else(|| anyhow!("`hookSpecificOutput` is not an object"))?;
    for key in inner.keys() {
        ensure!(
            specific.contains(&key.as_str()),
            "`hookSpecificOutput.{key}` does not belong into it"
        );
    }
    let named = if event.is_empty() { "PreToolUse" } else { event };
    ensure!(
        inner.get("hookEventName").is_some_and(|name| name == named),
        "`hookEventName` is not the event's"
    );
    Ok(())
}

/// Checks that every text is a non-empty string of limited length; a rewritten input may contain
/// anything.
fn texts(body: &Value) -> Result<()> {
    for pointer in [
        "/systemMessage",
        "/stopReason",
        "/reason",
        "/hookSpecificOutput/permissionDecisionReason",
        "/hookSpecificOutput/additionalContext",
        "/hookSpecificOutput/permissionDecision",
    ] {
        if let Some(value) = body.pointer(pointer) {
            let text = value.as_str().ok_or_else(|| anyhow!("`{pointer}` is not valid UTF-8"))?;
            ensure!(
                !text.is_empty() && text.len() <= MAX_TEXT,
                "`{pointer}` has {} bytes",
                text.len()
            );
        }
    }
    Ok(())
}

fn meaning(event: &str, object: &Map<String, Value>) -> Result<Answer> {
    let specific = |key: &str| object.get("hookSpecificOutput").and_then(|inner| inner.get(key));
    let ends = match object.get("continue") {
        None => false,
        Some(Value::Bool(false)) => true,
        Some(other) => return Err(anyhow!("`continue` is {other}")),
    };
    ensure!(ends == object.contains_key("stopReason"), "a stop and its reason belong together");
    let decision = specific("permissionDecision").and_then(Value::as_str);
    ensure!(
        decision.is_some() == specific("permissionDecisionReason").is_some(),
        "a decision and its reason belong together"
    );
    let rewrite = specific("updatedInput");
    ensure!(rewrite.is_none_or(Value::is_object), "`updatedInput` is not an object");
    if event == "ConfigChange" && object.contains_key("decision") {
        ensure!(
            object.get("decision").is_some_and(|value| value == "block")
                && object.contains_key("reason"),
            "it decides something else"
        );
        return Ok(Answer::Held);
    }
    ensure!(
        !matches!(event, "PreToolUse" | "") || !ends || decision == Some("deny"),
        "a stop alone does not keep the tool from running"
    );
    Ok(match (decision, rewrite) {
        (Some(_), Some(_)) => return Err(anyhow!("it decides and rewrites at once")),
        (None, Some(_)) => Answer::Rewritten,
        (Some("deny"), None) if ends => Answer::Stopped,
        (Some("deny"), None) => Answer::Refused,
        (Some("ask"), None) => Answer::Asked,
        (Some(other), None) => return Err(anyhow!("it answers `{other}` in the person's name")),
        (None, None) if ends => Answer::Stopped,
        (None, None)
            if object.contains_key("systemMessage") || specific("additionalContext").is_some() =>
        {
            Answer::Informed
        }
        (None, None) => Answer::Quiet,
    })
}

fn said(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        Value::Object(object) => object.values().map(said).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
