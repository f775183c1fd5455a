//! The model: a Responses API on the loopback interface that plays a script and records its input.

use crate::case::Step;
use crate::chat;
use crate::client::Wire;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tiny_http::{Header, Method, Request, Response, Server};

/// A running server.
pub(crate) struct Model {
    server: Arc<Server>,
    thread: JoinHandle<()>,
    script: Arc<Mutex<Script>>,
    port: u16,
}

/// The remaining turns, and the requests so far.
struct Script {
    turns: std::vec::IntoIter<Vec<Step>>,
    calls: usize,
    requests: Vec<Value>,
    wire: Wire,
}

impl Model {
    /// Starts the server on a free port.
    pub(crate) fn start(turns: Vec<Vec<Step>>, wire: Wire) -> Result<Self> {
        let server = Server::http("127.0.0.1:0")
            .map_err(|error| anyhow!("cannot listen on 127.0.0.1: {error}"))?;
        let server = Arc::new(server);
        let address = server.server_addr().to_ip();
        let port = address.map(|address| address.port());
        let port = port.ok_or_else(|| anyhow!("the server has no port"))?;
        let script = Script { turns: turns.into_iter(), calls: 0, requests: Vec::new(), wire };
        let script = Arc::new(Mutex::new(script));
        let thread = std::thread::spawn({
            let (server, script) = (Arc::clone(&server), Arc::clone(&script));
            move || server.incoming_requests().for_each(|request| serve(request, &script))
        });
        Ok(Self { server, thread, script, port })
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops the server; returns the requests, and the number of turns that were not asked for.
    pub(crate) fn finish(self) -> Result<(Vec<Value>, usize)> {
        self.server.unblock();
        self.thread.join().map_err(|_| anyhow!("the scripted model panicked"))?;
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((std::mem::take(&mut script.requests), script.turns.len()))
    }
}

/// Returns what the model was told of each of its calls, in order.
pub(crate) fn told(requests: &[Value], wire: Wire) -> Vec<String> {
    if let Wire::Chat(_) = wire {
        return chat::told(requests);
    }
    let input = requests.last().and_then(|request| request.get("input")?.as_array());
    let outputs = input.into_iter().flatten().filter(|item| {
        item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call_output"))
    });
    outputs.map(|item| item.get("output").map(text_of).unwrap_or_default()).collect()
}

fn text_of(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

/// Answers one request. A client that has hung up does not matter.
fn serve(mut request: Request, script: &Mutex<Script>) {
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    let mut text = String::new();
    let body: Option<Value> = request
        .as_reader()
        .read_to_string(&mut text)
        .ok()
        .and_then(|_| serde_json::from_str(&text).ok());
    let (status, kind, answer) = match (request.method(), path.as_str(), body) {
        (Method::Post, "/v1/responses", Some(body)) => {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            script.requests.push(body);
            let turn = script.turns.next().unwrap_or_else(|| vec![Step::Text("done".to_owned())]);
            let items: Vec<Value> = turn.iter().map(|step| script.item(step)).collect();
            (200, "text/event-stream", events(&items))
        }
        (Method::Post, path, Some(body)) if path.ends_with(chat::PATH) => {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            (200, "text/event-stream", script.chat(body))
        }
        (Method::Get, "/v1/models", _) => (
            200,
            "application/json",
            json!({"object": "list", "data": [], "models": []}).to_string(),
        ),
        _ => (
            404,
            "application/json",
            json!({"error": {"message": "no such thing here"}}).to_string(),
        ),
    };
    let mut response = Response::from_string(answer).with_status_code(status);
    if let Ok(header) = Header::from_bytes("content-type", kind) {
        response.add_header(header);
    }
    drop(request.respond(response));
}

impl Script {
    /// Answers a request for a chat completion.
    fn chat(&mut self, body: Value) -> String {
        let Wire::Chat(call) = self.wire else { return String::new() };
        if !chat::is_of_agent(&body) {
            return chat::stream(&[Step::Text("A title".to_owned())], call, &mut self.calls);
        }
        self.requests.push(body);
        let turn = self.turns.next().unwrap_or_else(|| vec![Step::Text("done".to_owned())]);
        chat::stream(&turn, call, &mut self.calls)
    }

    /// Returns a step in the API's format.
    fn item(&mut self, step: &Step) -> Value {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
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
