//! Whole sessions in one line each: a goal and steps with their results.

use super::{EPOCH, Item, Recording, call, event, result};
use anyhow::{Result, anyhow};
use portcullis_core::event::{Event, EventKind};
use serde_json::{Map, Value};

const CLIENT: &str = "trajectory";

pub(super) fn read(object: &Map<String, Value>) -> Result<Recording> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text(object.get("id"));
    let steps = object.get("steps").and_then(Value::as_array).ok_or_else(|| anyhow!("`steps` must be an array"))?;
    let meta = object.get("meta").and_then(|meta| meta.get("context")).and_then(|context| context.get("cwd"));
    let cwd = meta.and_then(Value::as_str).map_or_else(|| common_folder(steps), str::to_owned);
    let mut items = Vec::new();
    let mut clock = EPOCH;
    let mut push = |event: Event, seconds: u64| {
        clock += seconds * 1000;
        items.push(Item { event, at: clock, observed: None });
    };
    let goal = text(object.get("goal"));
    if !goal.is_empty() {
        push(event(CLIENT, &name, &cwd, "UserPromptSubmit", EventKind::Prompt(goal)), 1);
    }
    for (index, step) in steps.iter().enumerate() {
        let tool = step.get("tool").and_then(Value::as_str).ok_or_else(|| anyhow!("`steps[{index}].tool` must be a string"))?;
        let input = step.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
        let outcome = step.get("result").map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default();
        match tool {
            "UserPromptSubmit" => {
                let prompt = ["prompt", "text", "content"].iter().find_map(|key| input.get(*key)?.as_str()).unwrap_or(&outcome).to_owned();
                push(event(CLIENT, &name, &cwd, tool, EventKind::Prompt(prompt)), 1);
            }
            "UserInterrupt" => push(event(CLIENT, &name, &cwd, "Stop", EventKind::Stop), 1),
            _ => {
                let failed = step.get("is_error").and_then(Value::as_bool) == Some(true);
                let call = call(Some(format!("{name}/{index}")), tool, input);
                push(event(CLIENT, &name, &cwd, "PreToolUse", EventKind::BeforeTool(call.clone())), 1);
                let after = if failed { "PostToolUseFailure" } else { "PostToolUse" };
                push(event(CLIENT, &name, &cwd, after, EventKind::AfterTool(call, result(outcome, failed))), 0);
            }
        }
    }
    Ok(Recording { name, items })
}

/// The longest folder that the absolute paths of the session's file calls share; `/project` when they
/// share none, since a session without a project has no scope to judge by.
fn common_folder(steps: &[Value]) -> String {
    let mut common: Option<Vec<String>> = None;
    for step in steps {
        let Some(path) =
            step.get("input").and_then(|input| input.get("file_path")).and_then(Value::as_str).filter(|path| path.starts_with('/'))
        else {
            continue;
        };
        let folder: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        let folder = folder.split_last().map(|(_, folder)| folder.to_vec()).unwrap_or_default();
        common = Some(match common {
            None => folder,
            Some(known) => known.iter().zip(&folder).take_while(|(a, b)| a == b).map(|(a, _)| a.clone()).collect(),
        });
    }
    match common {
        Some(parts) if parts.len() >= 2 => format!("/{}", parts.join("/")),
        _ => "/project".into(),
    }
}
