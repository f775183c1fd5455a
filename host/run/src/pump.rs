//! Forwards the agent's output: to the caller's own output, and as events.

use crate::event::{RunEvent, StreamLine, Tokens};
use crate::stream::{Piece, Splitter, TokenCounter, cut, lines};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes of the longest line of standard error that is an event.
const LONGEST_ERROR: usize = 8 << 10;

/// The destination of the bytes, apart from the events.
pub(crate) type Sink = Option<Box<dyn Write + Send>>;

/// The statistics of the streams so far.
#[derive(Debug, Default)]
pub(crate) struct StreamStats(Mutex<StreamSums>);

/// The sums.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamSums {
    pub(crate) output: u64,
    pub(crate) long_lines: u64,
    pub(crate) tokens: Tokens,
    /// True if the client reported the last turn as failed.
    pub(crate) failed: bool,
    /// True if a hook ended the last turn.
    pub(crate) hook_stopped: bool,
}

impl StreamStats {
    pub(crate) fn sums(&self) -> StreamSums {
        *self.open()
    }

    // The sums are plain numbers: they are valid even after a thread panicked.
    fn open(&self) -> MutexGuard<'_, StreamSums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote(&self, bytes: usize) {
        let mut sums = self.open();
        sums.output = sums.output.saturating_add(bytes as u64);
    }
}

/// Forwards standard output until it ends. If the caller does not take its events, the agent has to
/// wait, and nothing accumulates here.
pub(crate) fn output(
    from: impl Read,
    sink: Sink,
    longest: usize,
    events: &SyncSender<RunEvent>,
    seen: &StreamStats,
) {
    let mut spent = TokenCounter::default();
    pump(from, sink, longest, seen, &mut |piece| {
        let lines = match piece {
            Piece::TooLong(bytes) => {
                seen.open().long_lines += 1;
                vec![StreamLine::TooLong { bytes }]
            }
            Piece::Line(line) => read(line, &mut spent, seen),
        };
        for line in lines {
            // If the caller no longer takes events, the agent does not wait.
            let _ = events.send(RunEvent::Output(line));
        }
    });
}

/// Forwards standard error until it ends.
pub(crate) fn errors(
    from: impl Read,
    sink: Sink,
    events: &SyncSender<RunEvent>,
    seen: &StreamStats,
) {
    pump(from, sink, LONGEST_ERROR, seen, &mut |piece| {
        let text = match piece {
            Piece::Line(line) => cut(&String::from_utf8_lossy(line)),
            Piece::TooLong(bytes) => format!("a line of {bytes} bytes"),
        };
        let _ = events.send(RunEvent::Error(text));
    });
}

fn read(line: &[u8], spent: &mut TokenCounter, seen: &StreamStats) -> Vec<StreamLine> {
    let value: Option<Value> = serde_json::from_slice(line).ok();
    if let Some(value) = &value {
        spent.observe(value);
    }
    let lines = lines(line, value);
    let mut sums = seen.open();
    sums.tokens = spent.total();
    if let Some(StreamLine::Result { failed, reason, .. }) = lines.first() {
        (sums.failed, sums.hook_stopped) = (*failed, reason == "hook_stopped");
    }
    lines
}

fn pump(
    mut from: impl Read,
    mut sink: Sink,
    longest: usize,
    seen: &StreamStats,
    each: &mut dyn FnMut(Piece<'_>),
) {
    let mut splitter = Splitter::new(longest);
    let mut chunk = vec![0_u8; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                let got = chunk.get(..length).unwrap_or_default();
                seen.wrote(length);
                if sink
                    .as_mut()
                    .is_some_and(|sink| sink.write_all(got).and_then(|()| sink.flush()).is_err())
                {
                    // Nobody reads it any more; the agent is not affected.
                    sink = None;
                }
                splitter.feed(got, each);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    splitter.end(each);
}
