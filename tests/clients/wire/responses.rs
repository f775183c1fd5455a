//! The Responses API.

use super::{Answer, Wire, text_of, texts_at, texts_of_user};
use crate::case::Step;
use serde_json::{Value, json};

pub(crate) const RESPONSES: Wire = Wire {
    is_turn: |path, _| path == "/v1/responses",
    play: |turn| {
        let running = running_session(turn.body);
        let items: Vec<Value> =
            turn.steps.iter().map(|(id, step)| item(id, step, running)).collect();
        Answer::stream(events(&items))
    },
    answer_other: |path| {
        let models = json!({"object": "list", "data": [], "models": []});
        (path == "/v1/models").then(|| Answer::json(&models))
    },
    user_texts,
    offered_tools: |body| texts_at(body.get("tools"), "/name"),
    tool_results,
};

/// Returns the texts of the user, and those of the agent that started this one.
fn user_texts(body: &Value) -> Vec<&str> {
    let input = body.get("input");
    let items = input.and_then(Value::as_array).into_iter().flatten();
    let parts = items.filter_map(|item| item.get("content"));
    let of_agents = parts.flat_map(|parts| texts_at(Some(parts), "/encrypted_content"));
    texts_of_user(input, "content").into_iter().chain(of_agents).collect()
}

fn tool_results(requests: &[Value]) -> Vec<String> {
    let input = requests.last().and_then(|request| request.get("input")?.as_array());
    let outputs = input.into_iter().flatten().filter(|item| {
        item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call_output"))
    });
    outputs.map(|item| item.get("output").map(text_of).unwrap_or_default()).collect()
}

/// Returns the session of the last command that was left running.
fn running_session(request: &Value) -> u64 {
    let outputs = texts_at(request.get("input"), "/output");
    let mut ids = outputs.iter().rev().filter_map(|text| {
        let (_, rest) = text.split_once("Process running with session ID ")?;
        rest.lines().next()?.trim().parse().ok()
    });
    ids.next().unwrap_or_default()
}

/// Returns a step in the API's format.
fn item(id: &str, step: &Step, running: u64) -> Value {
    let call = |name: &str, arguments: &Value| {
        let mut item = json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id,
            "name": name, "arguments": arguments.to_string()});
        if let Some((namespace, name)) = name.split_once('.') {
            item["namespace"] = namespace.into();
            item["name"] = name.into();
        }
        item
    };
    let custom = |name: &str, input: &str| {
        json!({"type": "custom_tool_call", "id": format!("ct_{id}"), "call_id": id, "name": name,
            "input": input})
    };
    match step {
        Step::Text(text) => {
            json!({"type": "message", "role": "assistant", "id": format!("msg_{id}"),
                "content": [{"type": "output_text", "text": text}]})
        }
        Step::Shell(command) => call("exec_command", &json!({ "cmd": command })),
        Step::Call(name, arguments) => call(name, arguments),
        Step::Patch(patch) => custom("apply_patch", patch),
        Step::Script(script) => custom("exec", script),
        Step::Input(text) => call(
            "write_stdin",
            &json!({"session_id": running, "chars": text, "yield_time_ms": 400}),
        ),
    }
}

/// Returns the answer as a stream of events.
fn events(items: &[Value]) -> String {
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120});
    let mut events = vec![json!({"type": "response.created", "response": {"id": "resp_scripted"}})];
    for (index, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed",
        "response": {"id": "resp_scripted", "output": items, "usage": usage}}));
    events
        .iter()
        .map(|event| {
            let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
            format!("event: {name}\ndata: {event}\n\n")
        })
        .collect()
}
