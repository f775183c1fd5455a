//! The scripted model as an API for chat completions.

use crate::case::Step;
use serde_json::{Value, json};

/// The end of the path of a request for the model.
pub(crate) const PATH: &str = "/chat/completions";

/// Returns what the model was told of each of its calls, in order.
pub(crate) fn told(requests: &[Value]) -> Vec<String> {
    let messages = requests.last().and_then(|request| request.get("messages")?.as_array());
    let results = messages
        .into_iter()
        .flatten()
        .filter(|message| message.get("role").and_then(Value::as_str) == Some("tool"));
    results.map(|message| message.get("content").map(text_of).unwrap_or_default()).collect()
}

fn text_of(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// Returns true for a request of the agent itself: others, such as for a title, offer no tools.
pub(crate) fn is_of_agent(request: &Value) -> bool {
    request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

/// Returns a turn as a stream of events. `call` gives the client's tool for a step, `calls` counts
/// the calls of all turns.
pub(crate) fn stream(
    turn: &[Step],
    call: fn(&Step) -> Option<(String, Value)>,
    calls: &mut usize,
) -> String {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1,
            "model": "scripted", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let mut index = 0;
    for step in turn {
        match (step, call(step)) {
            (Step::Text(text), _) => events.push(chunk(json!({"content": text}), None)),
            (_, Some((name, arguments))) => {
                *calls += 1;
                events.push(chunk(
                    json!({"tool_calls": [{"index": index, "id": format!("call_{calls}"),
                        "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()}}]}),
                    None,
                ));
                index += 1;
            }
            (_, None) => {}
        }
    }
    let finish = if index > 0 { "tool_calls" } else { "stop" };
    events.push(chunk(json!({}), Some(finish)));
    events.push(json!({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1,
        "model": "scripted", "choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}));
    let lines: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{lines}data: [DONE]\n\n")
}
