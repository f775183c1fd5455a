//! Claude Code's transcripts: one line an entry, calls and results linked by the call's id.
//!
//! The format is the client's own and undocumented: lines of an unknown type are skipped, since
//! they are not actions.

use super::{Collector, call, event, result};
use anyhow::Result;
use portcullis_core::event::EventKind;
use serde_json::{Map, Value};

const CLIENT: &str = "claude-transcript";

pub(super) fn read(object: &Map<String, Value>, collector: &mut Collector) -> Result<()> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (session, cwd) = (text("sessionId").to_owned(), text("cwd").to_owned());
    let agent = object.get("agentId").and_then(Value::as_str).map(str::to_owned);
    let at = text("timestamp")
        .parse::<jiff::Timestamp>()
        .ok()
        .and_then(|time| u64::try_from(time.as_millisecond()).ok());
    let Some(content) = object.get("message").and_then(|message| message.get("content")) else {
        return Ok(());
    };
    let mut push = |name: &str, kind: EventKind| {
        let mut event = event(CLIENT, &session, &cwd, name, kind);
        event.agent.clone_from(&agent);
        collector.push(event, at, None);
    };
    match (text("type"), content) {
        ("user", Value::String(prompt)) => {
            push("UserPromptSubmit", EventKind::Prompt(prompt.clone()))
        }
        ("user", Value::Array(blocks)) => {
            for block in blocks {
                user_block(block, collector, (&session, &cwd, agent.as_deref(), at));
            }
        }
        ("assistant", Value::Array(blocks)) => {
            for block in blocks
                .iter()
                .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
            {
                let id = block.get("id").and_then(Value::as_str).map(str::to_owned);
                let tool = block.get("name").and_then(Value::as_str).unwrap_or_default();
                let input =
                    block.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
                push("PreToolUse", EventKind::BeforeTool(call(id, tool, input)));
            }
        }
        _ => {}
    }
    Ok(())
}

fn user_block(
    block: &Value,
    collector: &mut Collector,
    (session, cwd, agent, at): (&str, &str, Option<&str>, Option<u64>),
) {
    let kind = block.get("type").and_then(Value::as_str);
    let (name, kind) = match kind {
        Some("text") => (
            "UserPromptSubmit",
            EventKind::Prompt(
                block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
            ),
        ),
        Some("tool_result") => {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            let Some((tool, input)) = collector.call_of(id) else { return };
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            let name = if failed { "PostToolUseFailure" } else { "PostToolUse" };
            let text = plain(block.get("content").unwrap_or(&Value::Null));
            (
                name,
                EventKind::AfterTool(
                    call(id.map(str::to_owned), &tool, input),
                    result(text, failed),
                ),
            )
        }
        _ => return,
    };
    let mut event = event(CLIENT, session, cwd, name, kind);
    event.agent = agent.map(str::to_owned);
    collector.push(event, at, None);
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
