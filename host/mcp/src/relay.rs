//! Passes messages in both directions, and asks the gate about those that it rules on.
//!
//! Each direction has a thread that reads, and a third one reviews: calls, results and lists wait
//! for it in the order in which they came, while everything else passes at once.

mod answers;
mod client_messages;
mod server_messages;

use crate::gate::Gate;
use crate::line::{Line, LineReader};
use crate::listing::FirstList;
use crate::message::{MAX_MESSAGE, Message};
use crate::reply::{INTERNAL_ERROR, INVALID_REQUEST, error_line};
use crate::request_id::RequestId;
use crate::tool_call::ToolCall;
use crate::waiting::{ForwardedCall, WaitingRequests};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// The four ends of the two connections.
pub struct Streams {
    /// The client's messages.
    pub from_client: Box<dyn Read + Send>,
    /// The messages to the client.
    pub to_client: Box<dyn Write + Send>,
    /// The server's messages.
    pub from_server: Box<dyn Read + Send>,
    /// The messages to the server.
    pub to_server: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// An end that the gateway's owner acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The client sends nothing more, and the server's input is closed.
    ClientEnded,
    /// The client reads nothing more.
    ClientGone,
    /// The server sends nothing more, and the client has everything that it sent.
    ServerEnded,
}

/// A running gateway.
pub struct Relay {
    gate: Arc<dyn Gate>,
    waiting: Mutex<WaitingRequests>,
    to_client: Mutex<Box<dyn Write + Send>>,
    /// `None` once the client sends nothing more.
    to_server: Mutex<Option<Box<dyn Write + Send>>>,
    /// The number of calls so far.
    calls: AtomicU64,
    /// True once the client sends nothing more.
    client_ended: AtomicBool,
    jobs: Sender<Job>,
    events: Sender<RelayEvent>,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Relay")
    }
}

/// Work for the thread that reviews.
enum Job {
    Call { id: RequestId, call: Box<ToolCall>, message: Message },
    Result { id: RequestId, call: Arc<ForwardedCall>, message: Message },
    List { id: RequestId, cursor: Option<String>, message: Message },
    ClientEnded,
    ServerEnded,
}

impl Relay {
    /// Starts to pass messages; returns the ends as they happen. The threads end with the streams.
    ///
    /// # Errors
    /// Fails if the system gives no thread.
    pub fn start(streams: Streams, gate: Arc<dyn Gate>) -> io::Result<Receiver<RelayEvent>> {
        let (jobs, waiting_jobs) = channel();
        let (events, happened) = channel();
        let relay = Arc::new(Self {
            gate,
            waiting: Mutex::default(),
            to_client: Mutex::new(streams.to_client),
            to_server: Mutex::new(Some(streams.to_server)),
            calls: AtomicU64::new(0),
            client_ended: AtomicBool::new(false),
            jobs,
            events,
        });
        let (reviews, client, server) = (Arc::clone(&relay), Arc::clone(&relay), relay);
        let (from_client, from_server) = (streams.from_client, streams.from_server);
        let thread = |name: &str| Builder::new().name(format!("portcullis-{name}"));
        thread("review").spawn(move || reviews.run_jobs(&waiting_jobs))?;
        thread("client").spawn(move || client.read_client(from_client))?;
        thread("server").spawn(move || server.read_server(from_server))?;
        Ok(happened)
    }

    fn read_client(&self, stream: Box<dyn Read + Send>) {
        read_lines(stream, |line| match line {
            Ok(line) => self.take_from_client(line),
            Err((id, size)) => {
                let problem = too_long(size);
                self.answer_client(&error_line(id.as_ref(), INVALID_REQUEST, &problem));
            }
        });
        self.client_ended.store(true, Ordering::Relaxed);
        self.queue(Job::ClientEnded);
    }

    fn read_server(&self, stream: Box<dyn Read + Send>) {
        read_lines(stream, |line| match line {
            Ok(line) => self.take_from_server(line),
            Err((id, size)) => self.drop_answer(id.as_ref(), &too_long(size)),
        });
        self.queue(Job::ServerEnded);
    }

    fn run_jobs(&self, jobs: &Receiver<Job>) {
        let mut first = if self.gate.is_first_use() { FirstList::Begins } else { FirstList::Ended };
        for job in jobs {
            match job {
                Job::Call { id, call, message } => self.review_call(&id, *call, message),
                Job::Result { id, call, message } => self.review_result(&id, &call, message),
                Job::List { id, cursor, message } => {
                    self.review_list(&id, cursor.as_deref(), &message, &mut first);
                }
                Job::ClientEnded => {
                    drop(lock(&self.to_server).take());
                    self.happened(RelayEvent::ClientEnded);
                }
                Job::ServerEnded => self.happened(RelayEvent::ServerEnded),
            }
        }
    }

    fn queue(&self, job: Job) {
        // The thread that reviews ends with the process.
        let _ = self.jobs.send(job);
    }

    fn happened(&self, event: RelayEvent) {
        // The owner may have ended first.
        let _ = self.events.send(event);
    }

    /// Writes a line to the client.
    fn answer_client(&self, line: &[u8]) {
        if write_line(&mut lock(&self.to_client), line).is_err() {
            self.happened(RelayEvent::ClientGone);
        }
    }

    /// Writes a line to the server. If it reads nothing more, its end tells the client.
    fn send_to_server(&self, line: &[u8]) {
        let mut server = lock(&self.to_server);
        if server.as_mut().is_some_and(|server| write_line(server, line).is_err()) {
            *server = None;
        }
    }

    /// Drops an answer of the server that does not reach the client, which gets an error.
    fn drop_answer(&self, id: Option<&RequestId>, problem: &str) {
        let known = id.filter(|id| lock(&self.waiting).take(id).is_some());
        if let Some(id) = known {
            let problem = format!("the server's answer was dropped: {problem}");
            self.answer_client(&error_line(Some(id), INTERNAL_ERROR, &problem));
        }
        self.gate.report(&format!("a message of the server was dropped: {problem}"));
    }
}

fn too_long(size: u64) -> String {
    format!("the message has {size} bytes, more than the limit of {} MiB", MAX_MESSAGE >> 20)
}

/// Passes each line that is not blank, with its end, or the id and size of one that is too long.
fn read_lines(
    stream: Box<dyn Read + Send>,
    mut take: impl FnMut(Result<Vec<u8>, (Option<RequestId>, u64)>),
) {
    let mut lines = LineReader::new(stream, MAX_MESSAGE);
    loop {
        match lines.read_line() {
            Ok(Line::Whole(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Line::Whole(mut line)) => {
                if line.last() != Some(&b'\n') {
                    line.push(b'\n');
                }
                take(Ok(line));
            }
            Ok(Line::TooLong { id, size }) => take(Err((id, size))),
            // A stream that fails has ended.
            Ok(Line::End) | Err(_) => return,
        }
    }
}

fn write_line(stream: &mut Box<dyn Write + Send>, line: &[u8]) -> io::Result<()> {
    stream.write_all(line)?;
    stream.flush()
}

/// Locks a value that no panic leaves half-changed.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
