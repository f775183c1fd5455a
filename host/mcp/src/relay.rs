//! Passes messages in both directions, and asks the gate about those that it rules on.
//!
//! Threads read both directions, and another one reviews: calls, results and lists wait for it in
//! the order in which they came, while everything else passes at once.

mod answers;
mod client_messages;
mod server_messages;

pub(crate) use client_messages::CANCELLED;

use crate::gate::Gate;
use crate::listing::FirstList;
use crate::message::RpcMessage;
use crate::reply::{INVALID_REQUEST, error_line};
use crate::request_id::RequestId;
use crate::stdio::{read_lines, too_long, write_line};
use crate::tool_call::GatewayCall;
use crate::transport::ServerTransport;
use crate::waiting::{ForwardedCall, WaitingRequests};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// The two ends of the connection to the client.
pub struct ClientStreams {
    /// The client's messages.
    pub from_client: Box<dyn Read + Send>,
    /// The messages to the client.
    pub to_client: Box<dyn Write + Send>,
}

impl std::fmt::Debug for ClientStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientStreams")
    }
}

/// An end that the gateway's owner acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The client sends nothing more, and the server knows.
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
    server: Arc<dyn ServerTransport>,
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
    Call { id: RequestId, call: Box<GatewayCall>, message: RpcMessage },
    Result { id: RequestId, call: Arc<ForwardedCall>, message: RpcMessage },
    List { id: RequestId, cursor: Option<String>, message: RpcMessage },
    ClientEnded,
    ServerEnded,
}

impl Relay {
    /// Starts to pass messages; returns the ends as they happen. The threads end with the streams.
    ///
    /// # Errors
    /// Fails if the system gives no thread.
    pub fn start(
        client: ClientStreams,
        server: Arc<dyn ServerTransport>,
        gate: Arc<dyn Gate>,
    ) -> io::Result<Receiver<RelayEvent>> {
        let (jobs, waiting_jobs) = channel();
        let (events, happened) = channel();
        let relay = Arc::new(Self {
            gate,
            waiting: Mutex::default(),
            to_client: Mutex::new(client.to_client),
            server: Arc::clone(&server),
            calls: AtomicU64::new(0),
            client_ended: AtomicBool::new(false),
            jobs,
            events,
        });
        let (reviews, reader) = (Arc::clone(&relay), Arc::clone(&relay));
        let thread = |name: &str| Builder::new().name(format!("portcullis-{name}"));
        thread("review").spawn(move || reviews.run_jobs(&waiting_jobs))?;
        server.start(relay)?;
        // The client is read last: by then review and server can take what its messages lead to.
        thread("client").spawn(move || reader.read_client(client.from_client))?;
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
                    self.server.close();
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
}

/// Locks a value that no panic leaves half-changed.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
