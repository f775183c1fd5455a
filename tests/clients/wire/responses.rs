//! The Responses API.

use super::{Answer, Wire, text_of};
use crate::case::Step;
use serde_json::{Value, json};

pub(crate) const RESPONSES: Wire = Wire {
    is_turn: |path, _| path == "/v1/responses",
    play: |turn| {
        let items: Vec<Value> = turn.steps.iter().map(|(id, step)| item(id, step)).collect();
        Answer::stream(events(&items))
    },
    answer_other: |path| {
        let models = json!({"object": "list", "data": [], "models": []});
        (path == "/v1/models").then(|| Answer::json(&models))
    },
    tool_results,
};

fn tool_results(requests: &[Value]) -> Vec<String> {
    let input = requests.last().and_then(|request| request.get("input")?.as_array());
    let outputs = input.into_iter().flatten().filter(|item| {
        item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call_output"))
    });
    outputs.map(|item| item.get("output").map(text_of).unwrap_or_default()).collect()
}

/// Returns a step in the API's format.
fn item(id: &str, step: &Step) -> Value {
    let call = |name: &str, arguments: &Value| {
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": arguments.to_string()})
    };
    match step {
        Step::Text(text) => {
            json!({"type": "message", "role": "assistant", "id": format!("msg_{id}"),
                "content": [{"type": "output_text", "text": text}]})
        }
        Step::Shell(command) => call("exec_command", &json!({ "cmd": command })),
        Step::Call(name, arguments) => call(name, arguments),
        Step::Patch(patch) => {
            json!({"type": "custom_tool_call", "id": format!("ct_{id}"), "call_id": id,
                "name": "apply_patch", "input": patch})
        }
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
