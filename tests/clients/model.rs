//! The model: a server on the loopback interface that plays a script and records its input.

use crate::case::{Case, Step};
use crate::wire::{Answer, Turn, Wire};
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
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

/// The requests for turns.
#[derive(Default)]
pub(crate) struct Conversation {
    /// Those of the main agent, in order.
    pub(crate) main: Vec<Value>,
    /// Those of its subagents.
    pub(crate) subagents: Vec<Value>,
    /// The number of turns that were not asked for.
    pub(crate) unplayed: usize,
}

/// The remaining turns, and the requests so far.
struct Script {
    main: std::vec::IntoIter<Vec<Step>>,
    /// By the text that marks the subagent.
    subagents: BTreeMap<String, std::vec::IntoIter<Vec<Step>>>,
    calls: usize,
    conversation: Conversation,
}

impl Model {
    /// Starts the server on a free port.
    pub(crate) fn start(wire: &'static Wire, case: &Case) -> Result<Self> {
        let server = Server::http("127.0.0.1:0")
            .map_err(|error| anyhow!("cannot listen on 127.0.0.1: {error}"))?;
        let server = Arc::new(server);
        let address = server.server_addr().to_ip();
        let port = address.map(|address| address.port());
        let port = port.ok_or_else(|| anyhow!("the server has no port"))?;
        let script = Arc::new(Mutex::new(Script::new(case)));
        let thread = std::thread::spawn({
            let (server, script) = (Arc::clone(&server), Arc::clone(&script));
            move || server.incoming_requests().for_each(|request| serve(wire, request, &script))
        });
        Ok(Self { server, thread, script, port })
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops the server and returns the requests.
    pub(crate) fn finish(self) -> Result<Conversation> {
        self.server.unblock();
        self.thread.join().map_err(|_| anyhow!("the scripted model panicked"))?;
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let mut conversation = std::mem::take(&mut script.conversation);
        let subagents = script.subagents.values().map(ExactSizeIterator::len).sum::<usize>();
        conversation.unplayed = script.main.len() + subagents;
        Ok(conversation)
    }
}

/// Answers one request. A client that has hung up does not matter.
fn serve(wire: &Wire, mut request: Request, script: &Mutex<Script>) {
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    let mut text = String::new();
    let read = request.as_reader().read_to_string(&mut text);
    let body: Option<Value> = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    let turn = body.filter(|body| *request.method() == Method::Post && (wire.is_turn)(&path, body));
    let answer = match turn {
        Some(body) => {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            let steps = script.next_turn(wire, body.clone());
            Some((wire.play)(&Turn { path: &path, body: &body, steps }))
        }
        None => (wire.answer_other)(&path),
    };
    let missing = || Answer::json(&json!({"error": {"message": "no such thing here"}}));
    let status = if answer.is_some() { 200 } else { 404 };
    let answer = answer.unwrap_or_else(missing);
    let mut response = Response::from_string(answer.text).with_status_code(status);
    if let Ok(header) = Header::from_bytes("content-type", answer.kind) {
        response.add_header(header);
    }
    drop(request.respond(response));
}

impl Script {
    fn new(case: &Case) -> Self {
        let subagents = case.subagents.iter();
        let subagents =
            subagents.map(|(mark, turns)| (mark.clone(), turns.clone().into_iter())).collect();
        let main = case.turns.clone().into_iter();
        Self { main, subagents, calls: 0, conversation: Conversation::default() }
    }

    /// Returns the next steps of the agent that asks, each with an id.
    fn next_turn(&mut self, wire: &Wire, body: Value) -> Vec<(String, Step)> {
        let texts = (wire.user_texts)(&body);
        let has_mark = |mark: &str| texts.iter().any(|text| text.contains(mark));
        let subagent = self.subagents.iter_mut().find(|(mark, _)| has_mark(mark));
        let (turns, requests) = match subagent {
            Some((_, turns)) => (turns, &mut self.conversation.subagents),
            None => (&mut self.main, &mut self.conversation.main),
        };
        let turn = turns.next().unwrap_or_else(|| vec![Step::Text("done".to_owned())]);
        requests.push(body);
        let mut name = |step| {
            self.calls += 1;
            (format!("call_{}", self.calls), step)
        };
        turn.into_iter().map(&mut name).collect()
    }
}
