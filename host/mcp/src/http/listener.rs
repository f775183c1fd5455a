//! The stream for messages that belong to no request: the server's own requests and notifications.

use super::HttpConnection;
use super::event_stream::{StreamEvent, join_lines};
use super::requests::{MOST_ATTEMPTS, PAUSE, StreamProblem};
use crate::stdio::too_long;
use std::sync::Arc;
use std::thread::Builder;

impl HttpConnection {
    /// Opens the stream in a thread of its own.
    pub(super) fn start_listener(self: &Arc<Self>) {
        let connection = Arc::clone(self);
        let listen = move || connection.listen();
        if Builder::new().name("portcullis-listen".into()).spawn(listen).is_err() {
            self.report("the system gives no thread for the server's own messages");
        }
    }

    /// Reads the stream, and opens it again after each end, until the session has ended.
    fn listen(&self) {
        let (_, session) = self.session_headers();
        let mut last_id = None;
        let mut pause = PAUSE;
        let mut attempts = 0;
        let mut ended = "its stream does not stay open".to_owned();
        while attempts <= MOST_ATTEMPTS && self.is_current(session) {
            let agent = self.exchanges.take_agent();
            if !self.open.set_listener(&agent) {
                return;
            }
            match self.open_stream(&agent, last_id.as_deref(), None) {
                Ok(mut stream) => {
                    while let Ok(event) = stream.read_event() {
                        match event {
                            StreamEvent::End => break,
                            StreamEvent::Message(text) => {
                                attempts = 0;
                                if let Some(inbox) = self.inbox.get() {
                                    inbox.take_line(join_lines(&text));
                                }
                            }
                            StreamEvent::TooLong { id, size } => {
                                if let Some(inbox) = self.inbox.get() {
                                    inbox.drop_answer(id.as_ref(), &too_long(size));
                                }
                            }
                        }
                    }
                    last_id = stream.last_id().map(<[u8]>::to_vec).or(last_id);
                    pause = stream.pause().unwrap_or(pause);
                }
                Err(StreamProblem::Broken(problem)) => ended = problem,
                // Most servers have nothing to say of their own.
                Err(StreamProblem::Refused(_)) if attempts == 0 && last_id.is_none() => return,
                Err(StreamProblem::Refused(problem)) => {
                    return self
                        .report(&format!("the server's own messages have ended: {problem}"));
                }
            }
            let wait = pause.saturating_mul(1 << attempts);
            attempts += 1;
            if !self.open.pause(None, wait) {
                return;
            }
        }
        if self.is_current(session) {
            self.report(&format!("the server's own messages have ended: {ended}"));
        }
    }
}
