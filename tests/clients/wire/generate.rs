//! The `generateContent` API.

use super::{Answer, NO_TOOL, Turn, Wire, text_of, texts_at, texts_of_user};
use crate::case::Step;
use serde_json::{Value, json};

pub(crate) const GENERATE: Wire = Wire {
    // The client also asks for titles and the like, without tools.
    is_turn: |path, body| path.to_lowercase().contains("generatecontent") && has_tools(body),
    play,
    answer_other: |path| Some(answer(path, &[json!({"text": "{}"})])),
    user_texts: |body| texts_of_user(body.get("contents"), "parts"),
    offered_tools: |body| texts_at(body.pointer("/tools/0/functionDeclarations"), "/name"),
    tool_results,
};

fn has_tools(body: &Value) -> bool {
    body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

fn play(turn: &Turn<'_>) -> Answer {
    let call =
        |name: &str, arguments: &Value| json!({"functionCall": {"name": name, "args": arguments}});
    let part = |(_, step): &(String, Step)| match step {
        Step::Text(text) => json!({ "text": text }),
        Step::Shell(command) => call("run_shell_command", &json!({ "command": command })),
        Step::Call(name, arguments) => call(name, arguments),
        Step::Patch(_) | Step::Script(_) | Step::Input(_) => json!({"text": NO_TOOL}),
    };
    let parts: Vec<Value> = turn.steps.iter().map(part).collect();
    answer(turn.path, &parts)
}

fn answer(path: &str, parts: &[Value]) -> Answer {
    if path.contains("countTokens") {
        return Answer::json(&json!({"totalTokens": 10}));
    }
    let document = json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP",
            "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20,
            "totalTokenCount": 120},
        "modelVersion": "scripted"
    });
    if path.contains("stream") {
        Answer::stream(format!("data: {document}\n\n"))
    } else {
        Answer::json(&document)
    }
}

fn tool_results(requests: &[Value]) -> Vec<String> {
    let contents = requests.last().and_then(|request| request.get("contents")?.as_array());
    let parts =
        contents.into_iter().flatten().filter_map(|content| content.get("parts")?.as_array());
    let results = parts.flatten().filter_map(|part| part.pointer("/functionResponse/response"));
    results.map(text_of).collect()
}
