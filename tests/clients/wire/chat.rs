//! The Chat Completions API.

use super::{Answer, NO_TOOL, Turn, Wire, text_of, texts_at, texts_of_user};
use crate::case::Step;
use serde_json::{Value, json};

/// The API for a client whose tool for commands is called `run_shell_command`.
pub(crate) const RUN_SHELL_COMMAND: Wire = Wire {
    play: |turn| {
        let shell = |command: &str| {
            ("run_shell_command", json!({"command": command, "is_background": false}))
        };
        play(turn, &shell, None)
    },
    ..CHAT
};

/// The API for a client whose tool for commands is called `bash`.
pub(crate) const BASH: Wire = Wire { play: |turn| play(turn, &bash, None), ..CHAT };

/// The API for a client whose tool takes several commands at once.
pub(crate) const RUN_COMMANDS: Wire = Wire {
    play: |turn| {
        let shell = |command: &str| ("run_commands", json!({ "commands": [command] }));
        play(turn, &shell, None)
    },
    ..CHAT
};

/// The API for a client that also has a tool `apply_patch`.
pub(crate) const BASH_AND_PATCH: Wire = Wire {
    play: |turn| play(turn, &bash, Some(&|patch| ("apply_patch", json!({ "patchText": patch })))),
    ..CHAT
};

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command, "description": "a command"}))
}

const CHAT: Wire = Wire {
    is_turn: |path, body| path.ends_with("/chat/completions") && has_tools(body),
    play: |turn| play(turn, &|command| ("shell", json!({ "command": command })), None),
    answer_other: |path| {
        if path.ends_with("/models") {
            let model = json!({"id": "scripted", "object": "model", "owned_by": "nobody"});
            return Some(Answer::json(&json!({"object": "list", "data": [model]})));
        }
        let message = json!({"role": "assistant", "content": "ok"});
        path.ends_with("/chat/completions").then(|| Answer::json(&complete(&message, "stop")))
    },
    user_texts: |body| texts_of_user(body.get("messages"), "content"),
    offered_tools: |body| texts_at(body.get("tools"), "/function/name"),
    tool_results,
};

fn has_tools(body: &Value) -> bool {
    body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

/// Returns the parts that every answer has.
fn base(object: &str) -> Value {
    json!({"id": "chatcmpl-scripted", "created": 1, "model": "scripted", "object": object,
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
}

fn complete(message: &Value, end: &str) -> Value {
    let mut document = base("chat.completion");
    document["choices"] = json!([{"index": 0, "message": message, "finish_reason": end}]);
    document
}

/// Returns the client's tool and its parameters for a step's text.
type ToolCall<'a> = &'a dyn Fn(&str) -> (&'static str, Value);

fn play(turn: &Turn<'_>, shell: ToolCall<'_>, patch: Option<ToolCall<'_>>) -> Answer {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for (id, step) in &turn.steps {
        let (name, arguments) = match step {
            Step::Text(said) => {
                text.push_str(said);
                continue;
            }
            Step::Patch(change) => {
                let Some(patch) = patch else {
                    text.push_str(NO_TOOL);
                    continue;
                };
                let (name, arguments) = patch(change);
                (name.to_owned(), arguments)
            }
            Step::Shell(command) => {
                let (name, arguments) = shell(command);
                (name.to_owned(), arguments)
            }
            Step::Call(name, arguments) => (name.clone(), arguments.clone()),
            Step::Script(_) | Step::Input(_) => {
                text.push_str(NO_TOOL);
                continue;
            }
        };
        calls.push(json!({"index": calls.len(), "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}}));
    }
    let end = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    if turn.body.get("stream") != Some(&Value::Bool(true)) {
        return Answer::json(&complete(&message, end));
    }
    let chunk = |delta: &Value, end: Option<&str>| {
        let mut document = base("chat.completion.chunk");
        document["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": end}]);
        format!("data: {document}\n\n")
    };
    let parts = [chunk(&message, None), chunk(&json!({}), Some(end)), "data: [DONE]\n\n".into()];
    Answer::stream(parts.concat())
}

fn tool_results(requests: &[Value]) -> Vec<String> {
    let messages = requests.last().and_then(|request| request.get("messages")?.as_array());
    let results = messages
        .into_iter()
        .flatten()
        .filter(|message| message.get("role").and_then(Value::as_str) == Some("tool"));
    results.map(|message| message.get("content").map(text_of).unwrap_or_default()).collect()
}
