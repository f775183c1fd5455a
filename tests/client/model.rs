//! The model: a Messages API on the loopback interface that plays a script and records its input.
//!
//! A request that offers the file and shell tools gets the next turn of its agent's script; any
//! other (a title, a summary) a fixed text. It checks nothing and knows no hook.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::case::{Block, Turn};

/// The answer after the end of a script.
const EXHAUSTED: &str = "(the script has no further turn)";

/// Something that happens before the model answers: it is given the number of turns that were
/// played. If it fails, the script ends, and the failure is that of the model.
pub(crate) type Between = Box<dyn FnMut(usize) -> Result<()> + Send>;

/// A running server.
pub(crate) struct Model {
    server: Arc<Server>,
    thread: JoinHandle<()>,
    script: Arc<Mutex<Script>>,
    port: u16,
}

/// The requests to the server.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The bodies of the requests that took a turn, in order.
    pub(crate) requests: Vec<Value>,
    /// The number of turns that were not requested.
    pub(crate) unplayed: usize,
    /// The number of requests after the end of their script.
    pub(crate) overrun: usize,
}

/// The remaining turns, by the text that marks their agent; the main agent's mark is empty.
struct Script {
    lanes: BTreeMap<String, std::vec::IntoIter<Turn>>,
    conversation: Conversation,
    between: Between,
    failure: Option<anyhow::Error>,
}

impl Model {
    /// Starts the server on a free port.
    pub(crate) fn start(turns: &[Turn], subagents: &BTreeMap<String, Vec<Turn>>) -> Result<Self> {
        Self::start_with(turns, subagents, Box::new(|_| Ok(())))
    }

    /// Starts the server on a free port. `between` is called before each turn.
    pub(crate) fn start_with(
        turns: &[Turn],
        subagents: &BTreeMap<String, Vec<Turn>>,
        between: Between,
    ) -> Result<Self> {
        let server = Arc::new(
            Server::http("127.0.0.1:0")
                .map_err(|error| anyhow!("cannot listen on 127.0.0.1: {error}"))?,
        );
        let port = server
            .server_addr()
            .to_ip()
            .map(|address| address.port())
            .ok_or_else(|| anyhow!("the server has no port"))?;
        let script = Arc::new(Mutex::new(Script::new(turns, subagents, between)));
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

    /// Stops the server and returns the requests. Fails if `between` did.
    pub(crate) fn finish(self) -> Result<Conversation> {
        self.server.unblock();
        self.thread.join().map_err(|_| anyhow!("the scripted model panicked"))?;
        let mut script = lock(&self.script);
        if let Some(failure) = script.failure.take() {
            return Err(failure);
        }
        let mut conversation = std::mem::take(&mut script.conversation);
        conversation.unplayed = script.lanes.values().map(ExactSizeIterator::len).sum();
        Ok(conversation)
    }
}

impl Script {
    fn new(turns: &[Turn], subagents: &BTreeMap<String, Vec<Turn>>, between: Between) -> Self {
        let mut lanes: BTreeMap<_, _> = subagents
            .iter()
            .map(|(mark, turns)| (mark.clone(), turns.clone().into_iter()))
            .collect();
        lanes.insert(String::new(), Vec::from(turns).into_iter());
        Self { lanes, conversation: Conversation::default(), between, failure: None }
    }

    fn answer(&mut self, body: Value) -> Turn {
        if !offers_tools(&body) {
            return vec![Block::Text { text: "ok".to_owned() }];
        }
        if let Err(error) = (self.between)(self.conversation.requests.len()) {
            self.failure.get_or_insert(error);
            self.lanes.clear();
        }
        let opening = body.pointer("/messages/0/content").map(Value::to_string).unwrap_or_default();
        let mark = self
            .lanes
            .keys()
            .rev()
            .find(|mark| opening.contains(mark.as_str()))
            .cloned()
            .unwrap_or_default();
        let turn = self.lanes.get_mut(&mark).and_then(Iterator::next);
        self.conversation.requests.push(body);
        turn.unwrap_or_else(|| {
            self.conversation.overrun += 1;
            vec![Block::Text { text: EXHAUSTED.to_owned() }]
        })
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

fn offers_tools(body: &Value) -> bool {
    let tools = body.get("tools").and_then(Value::as_array);
    tools.is_some_and(|tools| {
        tools.iter().any(|tool| tool.get("name").and_then(Value::as_str) == Some("Read"))
    })
}

/// Answers one request. A client that has hung up does not matter.
fn serve(mut request: Request, script: &Mutex<Script>) {
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    let mut text = String::new();
    let body = request
        .as_reader()
        .read_to_string(&mut text)
        .ok()
        .and_then(|_| serde_json::from_str::<Value>(&text).ok());
    let (status, content_type, answer) = match (request.method(), path.as_str(), body) {
        (Method::Head, ..) => (200, "application/json", String::new()),
        (Method::Post, "/v1/messages/count_tokens", _) => (200, "application/json", json!({"input_tokens": 100}).to_string()),
        (Method::Post, "/v1/messages", Some(body)) => {
            let stream = body.get("stream").and_then(Value::as_bool).unwrap_or_default();
            let message = message(&body, &lock(script).answer(body.clone()));
            if stream { (200, "text/event-stream", events(&message)) } else { (200, "application/json", message.to_string()) }
        }
        _ => (
            404,
            "application/json",
            json!({"type": "error", "error": {"type": "not_found_error", "message": "no such thing here"}}).to_string(),
        ),
    };
    let mut response = Response::from_string(answer).with_status_code(status);
    if let Ok(header) = Header::from_bytes("content-type", content_type) {
        response.add_header(header);
    }
    drop(request.respond(response));
}

/// Returns the answer in the API's format.
fn message(request: &Value, turn: &[Block]) -> Value {
    let calls = turn.iter().any(|block| matches!(block, Block::Tool { .. }));
    let content: Vec<_> = turn
        .iter()
        .map(|block| match block {
            Block::Text { text } => json!({"type": "text", "text": text}),
            Block::Tool { tool, id, input } => {
                json!({"type": "tool_use", "id": id, "name": tool, "input": input})
            }
        })
        .collect();
    // The client's transcript counts the tokens of each message once, by its id.
    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    let id = format!("msg_scripted{}", ANSWERS.fetch_add(1, Ordering::Relaxed));
    json!({
        "id": id, "type": "message", "role": "assistant", "model": request.get("model"), "content": content,
        "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    })
}

/// Returns the answer as a stream of events.
fn events(message: &Value) -> String {
    let opening = with(with(message.clone(), "content", json!([])), "stop_reason", Value::Null);
    let mut events = vec![json!({"type": "message_start", "message": opening})];
    for (index, block) in
        message.get("content").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        let (start, delta) = match block.get("text") {
            Some(text) => (
                with(block.clone(), "text", json!("")),
                json!({"type": "text_delta", "text": text}),
            ),
            None => {
                let input = block.get("input").map(Value::to_string);
                (
                    with(block.clone(), "input", json!({})),
                    json!({"type": "input_json_delta", "partial_json": input}),
                )
            }
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let stop = json!({"stop_reason": message.get("stop_reason"), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}));
    events.push(json!({"type": "message_stop"}));
    events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event.get("type").and_then(Value::as_str).unwrap_or_default()
            )
        })
        .collect()
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
    object
}
