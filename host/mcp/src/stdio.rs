//! A server on standard input and output: a line for each message.

use crate::line::{Line, LineReader};
use crate::message::{MAX_MESSAGE, RpcMessage};
use crate::request_id::RequestId;
use crate::transport::{ServerInbox, ServerTransport};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// A server that reads and writes lines.
pub struct StdioServer {
    /// `None` once it is read.
    output: Mutex<Option<Box<dyn Read + Send>>>,
    /// `None` once the client sends nothing more, or the server reads nothing more.
    input: Mutex<Option<Box<dyn Write + Send>>>,
}

impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StdioServer")
    }
}

impl StdioServer {
    /// Uses the two ends of a server's process: its standard input and its standard output.
    #[must_use]
    pub fn new(input: Box<dyn Write + Send>, output: Box<dyn Read + Send>) -> Self {
        Self { output: Mutex::new(Some(output)), input: Mutex::new(Some(input)) }
    }
}

impl ServerTransport for StdioServer {
    fn start(&self, inbox: Arc<dyn ServerInbox>) -> io::Result<()> {
        let Some(output) = lock(&self.output).take() else { return Ok(()) };
        let read = move || {
            read_lines(output, |line| match line {
                Ok(line) => drop(inbox.take_line(line)),
                Err((id, size)) => inbox.drop_answer(id.as_ref(), &too_long(size)),
            });
            inbox.end();
        };
        Builder::new().name("portcullis-server".into()).spawn(read).map(drop)
    }

    fn send(&self, message: &RpcMessage) {
        let mut input = lock(&self.input);
        // If it reads nothing more, its end tells the client.
        if input.as_mut().is_some_and(|input| write_line(input, &message.bytes).is_err()) {
            *input = None;
        }
    }

    fn close(&self) {
        drop(lock(&self.input).take());
    }
}

/// Describes a message that is too long.
pub(crate) fn too_long(size: u64) -> String {
    format!("the message has {size} bytes, more than the limit of {} MiB", MAX_MESSAGE >> 20)
}

/// Passes each line that is not blank, with its end, or the id and size of one that is too long.
pub(crate) fn read_lines(
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

/// Writes a line at once.
pub(crate) fn write_line(stream: &mut Box<dyn Write + Send>, line: &[u8]) -> io::Result<()> {
    stream.write_all(line)?;
    stream.flush()
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
