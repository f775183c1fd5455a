//! Requests to a server: one thread each, until the answer has come and its stream has ended.

use super::event_stream::{EventReader, StreamEvent, join_lines};
use super::exchange::{EVENTS, JSON, RequestParts, describe_io_error};
use super::mirrored::MirroredArgument;
use super::posted::{INITIALIZE, INITIALIZED, PostedMessage};
use super::refusal::{Refusal, is_type};
use super::session::SESSION_HEADER;
use super::{HttpConnection, lock};
use crate::listing::{tools_of, without_tools};
use crate::message::{MAX_MESSAGE, RpcMessage};
use crate::request_id::RequestId;
use crate::stdio::too_long;
use serde_json::Value;
use std::io::Read;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;
use ureq::http::header::{HeaderName, HeaderValue};
use ureq::http::{Method, Response};
use ureq::{Agent, Body, BodyReader};

/// The header that resumes a stream.
pub(super) const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");
/// The pause before a stream is opened again, if the server names none.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// The most times that a stream is opened again without a message in between.
pub(super) const MOST_ATTEMPTS: u32 = 5;
/// A request that was posted.
struct RunningRequest {
    number: u64,
    id: RequestId,
    message: PostedMessage,
    agent: Agent,
    answered: bool,
    /// True if the answer was read to its end, so that the connection can be used again.
    read_whole: bool,
}

impl HttpConnection {
    /// Posts a request in a thread of its own.
    pub(super) fn start_request(self: &Arc<Self>, id: RequestId, message: PostedMessage) {
        if message.method == INITIALIZE {
            self.renew_session();
        }
        let agent = self.exchanges.take_agent();
        let number = match self.open.add(&id, &message, &agent) {
            Ok(number) => number,
            Err(problem) => return self.fail(&id, &problem),
        };
        let request = RunningRequest {
            number,
            id: id.clone(),
            message,
            agent,
            answered: false,
            read_whole: false,
        };
        let connection = Arc::clone(self);
        let run = move || connection.run_request(request);
        if Builder::new().name("portcullis-request".into()).spawn(run).is_err() {
            self.open.remove(number);
            self.fail(&id, "the system gives no thread");
        }
    }

    fn run_request(&self, mut request: RunningRequest) {
        let outcome = self.receive_answer(&mut request);
        let problem = match outcome {
            Ok(()) => "the server ended its stream without an answer".to_owned(),
            Err(problem) => problem,
        };
        if !request.answered {
            if self.open.is_cancelled(request.number) {
                if let Some(inbox) = self.inbox.get() {
                    inbox.forget_request(&request.id);
                }
            } else {
                self.fail(&request.id, &problem);
            }
        }
        if !self.open.remove(request.number) && request.read_whole {
            self.exchanges.return_agent(request.agent);
        }
    }

    fn receive_answer(&self, request: &mut RunningRequest) -> Result<(), String> {
        let (mut headers, _) = self.session_headers();
        // Neither belongs to the session: one says its version itself, the other begins a new
        // session.
        if request.message.says_version || request.message.method == INITIALIZE {
            headers.clear();
        }
        let in_session = headers.contains_key(SESSION_HEADER);
        headers.extend(request.message.headers.clone());
        let answer = self.exchanges.send(
            &request.agent,
            &RequestParts {
                method: Method::POST,
                headers,
                body: Some(&request.message.body),
                patience: self.patience(request),
                body_limit: None,
            },
        )?;
        if !answer.status().is_success() {
            return match Refusal::read(answer, Some(&request.id), in_session) {
                Refusal::Answer(line) => {
                    self.pass(line, request);
                    Ok(())
                }
                Refusal::Problem(problem) => Err(problem),
            };
        }
        if request.message.method == INITIALIZE {
            self.take_session_id(answer.headers())?;
        }
        if answer.headers().contains_key("content-encoding") {
            return Err("the server compressed its answer, which it was not asked to do".into());
        }
        if is_type(&answer, EVENTS) {
            self.follow_stream(request, answer)
        } else if is_type(&answer, JSON) {
            self.take_body(request, answer)
        } else if answer.status() == 202 {
            Err("the server accepted the request (202) and gave no answer".into())
        } else {
            Err("the server's answer is neither JSON nor a stream of events".into())
        }
    }

    fn patience(&self, request: &RunningRequest) -> Option<Duration> {
        (!request.message.listens()).then_some(self.exchanges.limits().silence)
    }

    fn take_body(
        &self,
        request: &mut RunningRequest,
        answer: Response<Body>,
    ) -> Result<(), String> {
        let mut text = Vec::new();
        let body = answer.into_body().into_reader();
        let read = body.take(MAX_MESSAGE as u64 + 1).read_to_end(&mut text);
        read.map_err(|error| describe_io_error(&error))?;
        // The limit includes the line's end, which the body does not have yet.
        if text.len() >= MAX_MESSAGE {
            return Err(format!("the server's answer has more than {} MiB", MAX_MESSAGE >> 20));
        }
        request.read_whole = true;
        self.pass(join_lines(&text), request);
        if request.answered {
            return Ok(());
        }
        Err("the server's answer is none to this request".into())
    }

    /// Passes the messages of a request's stream. A stream that breaks before the answer is
    /// resumed, if the server gave its events ids.
    fn follow_stream(
        &self,
        request: &mut RunningRequest,
        answer: Response<Body>,
    ) -> Result<(), String> {
        let mut reader = EventReader::new(answer.into_body().into_reader(), MAX_MESSAGE);
        let mut last_id = None;
        let mut attempts = 0;
        loop {
            let ended = match reader.read_event() {
                Ok(StreamEvent::Message(text)) => {
                    attempts = 0;
                    self.pass(join_lines(&text), request);
                    continue;
                }
                Ok(StreamEvent::TooLong { id, size }) => {
                    if let Some(inbox) = self.inbox.get() {
                        inbox.drop_answer(id.as_ref(), &too_long(size));
                    }
                    self.note_answer(id.as_ref(), request);
                    continue;
                }
                Ok(StreamEvent::End) => {
                    request.read_whole = request.answered;
                    "the server ended its stream without an answer".to_owned()
                }
                Err(error) => describe_io_error(&error),
            };
            if request.answered {
                return Ok(());
            }
            last_id = reader.last_id().map(<[u8]>::to_vec).or(last_id);
            let resumes = last_id.as_deref().filter(|_| !request.message.says_version);
            let Some(id) = resumes.filter(|_| attempts < MOST_ATTEMPTS) else { return Err(ended) };
            attempts += 1;
            if !self.open.pause(Some(request.number), reader.pause().unwrap_or(PAUSE)) {
                return Err(ended);
            }
            let patience = self.patience(request);
            match self.open_stream(&request.agent, Some(id), patience) {
                Ok(stream) => reader = stream,
                Err(StreamProblem::Broken(_)) => {}
                Err(StreamProblem::Refused(problem)) => return Err(format!("{ended}; {problem}")),
            }
        }
    }

    /// Opens a stream by GET, after the event with that id.
    pub(super) fn open_stream(
        &self,
        agent: &Agent,
        last_id: Option<&[u8]>,
        patience: Option<Duration>,
    ) -> Result<EventReader<BodyReader<'static>>, StreamProblem> {
        let (mut headers, _) = self.session_headers();
        let in_session = headers.contains_key(SESSION_HEADER);
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            headers.insert(LAST_EVENT_HEADER, id);
        }
        let parts =
            RequestParts { method: Method::GET, headers, body: None, patience, body_limit: None };
        let answer = self.exchanges.send(agent, &parts).map_err(StreamProblem::Broken)?;
        let status = answer.status().as_u16();
        if !answer.status().is_success() {
            let problem = match status {
                405 => "the server has no stream to resume (405)".to_owned(),
                _ => Refusal::read(answer, None, in_session).into_problem(),
            };
            return Err(StreamProblem::Refused(problem));
        }
        if !is_type(&answer, EVENTS) {
            return Err(StreamProblem::Refused("the server has no stream of events".into()));
        }
        Ok(EventReader::new(answer.into_body().into_reader(), MAX_MESSAGE))
    }

    /// Posts a message that needs no answer, and waits until the server has it.
    pub(super) fn post_notice(self: &Arc<Self>, message: &PostedMessage) {
        let (mut headers, _) = self.session_headers();
        let in_session = headers.contains_key(SESSION_HEADER);
        headers.extend(message.headers.clone());
        let agent = self.exchanges.take_agent();
        let limit = Some(self.exchanges.limits().accept);
        // The next message waits for this one, and so does the end of the gateway: a server must
        // not send an answer without end, byte by byte.
        let parts = RequestParts {
            method: Method::POST,
            headers,
            body: Some(&message.body),
            patience: limit,
            body_limit: limit,
        };
        let problem = match self.exchanges.send(&agent, &parts) {
            Ok(answer) if answer.status().is_success() => {
                // The connection can be used again after its end.
                let mut body = answer.into_body().into_reader().take(1);
                if body.read(&mut [0]).is_ok_and(|read| read == 0) {
                    self.exchanges.return_agent(agent);
                }
                if message.method == INITIALIZED {
                    self.start_listener();
                }
                return;
            }
            Ok(answer) => Refusal::read(answer, None, in_session).into_problem(),
            Err(problem) => problem,
        };
        let what = if message.method.is_empty() { "an answer" } else { message.method.as_str() };
        self.report(&format!("the server did not take `{}`: {problem}", what.escape_debug()));
    }

    /// Passes a message of a request's stream.
    fn pass(&self, line: Vec<u8>, request: &mut RunningRequest) {
        let line = self.observe(line, &request.message);
        let answered = self.inbox.get().and_then(|inbox| inbox.take_line(line));
        self.note_answer(answered.as_ref(), request);
    }

    fn note_answer(&self, answered: Option<&RequestId>, request: &mut RunningRequest) {
        if answered == Some(&request.id) {
            request.answered = true;
            self.open.note_answer(request.number);
        }
    }

    /// Takes from an answer what the transport itself needs: the version, and which arguments are
    /// headers too. A tool that asks for a header that must not be is left out.
    fn observe(&self, line: Vec<u8>, asked: &PostedMessage) -> Vec<u8> {
        if asked.method != INITIALIZE && !(asked.says_version && asked.lists_tools()) {
            return line;
        }
        let Ok(message) = RpcMessage::parse(line.clone()) else { return line };
        let Some(result) = message.object.get("result") else { return line };
        if asked.method == INITIALIZE {
            if let Some(version) = result.get("protocolVersion").and_then(Value::as_str) {
                self.take_version(version);
            }
            return line;
        }
        let Some(tools) = tools_of(&message) else { return line };
        let mut mirrored = lock(&self.mirrored);
        let mut keep = Vec::new();
        for tool in tools {
            let found = MirroredArgument::of_tool(&tool.value);
            keep.push(found.is_ok());
            match found {
                Ok(arguments) => drop(mirrored.insert(tool.name, arguments)),
                Err(problem) => {
                    let name = tool.name.escape_debug();
                    self.report(&format!("the tool `{name}` was left out: {problem}"));
                }
            }
        }
        drop(mirrored);
        without_tools(&message, &keep)
    }

    fn fail(&self, id: &RequestId, problem: &str) {
        if let Some(inbox) = self.inbox.get() {
            inbox.fail_request(id, problem);
        }
    }
}

/// The reason why there is no stream.
pub(super) enum StreamProblem {
    /// The connection failed: another attempt may succeed.
    Broken(String),
    /// The server has none.
    Refused(String),
}
