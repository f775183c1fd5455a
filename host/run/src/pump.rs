//! Carries what the agent writes: on to the caller's own output, and as events to whoever looks.

use crate::event::{Event, Line, Tokens};
use crate::stream::{Piece, Spent, Splitter, cut, lines};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes of the longest line of standard error that is an event.
const LONGEST_ERROR: usize = 8 << 10;

/// Where the bytes go, apart from the events.
pub(crate) type Sink = Option<Box<dyn Write + Send>>;

/// What was seen in the streams by now.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Sums>);

/// The sums.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) output: u64,
    pub(crate) long_lines: u64,
    pub(crate) tokens: Tokens,
    /// Whether the last turn failed by the client's own word.
    pub(crate) failed: bool,
    /// Whether a hook ended the last turn.
    pub(crate) hook_stopped: bool,
}

impl Seen {
    pub(crate) fn sums(&self) -> Sums {
        *self.open()
    }

    // Sums are numbers: whatever a thread that panicked left there can be read.
    fn open(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote(&self, bytes: usize) {
        let mut sums = self.open();
        sums.output = sums.output.saturating_add(bytes as u64);
    }
}

/// Carries standard output until it ends. A caller that does not take its events makes the agent wait, and nothing
/// piles up here.
pub(crate) fn output(from: impl Read, sink: Sink, longest: usize, events: &SyncSender<Event>, seen: &Seen) {
    let mut spent = Spent::default();
    pump(from, sink, longest, seen, &mut |piece| {
        let lines = match piece {
            Piece::TooLong(bytes) => {
                seen.open().long_lines += 1;
                vec![Line::TooLong { bytes }]
            }
            Piece::Line(line) => read(line, &mut spent, seen),
        };
        for line in lines {
            // A caller that looks no more does not make the agent wait.
            let _ = events.send(Event::Output(line));
        }
    });
}

/// Carries standard error until it ends.
pub(crate) fn errors(from: impl Read, sink: Sink, events: &SyncSender<Event>, seen: &Seen) {
    pump(from, sink, LONGEST_ERROR, seen, &mut |piece| {
        let text = match piece {
            Piece::Line(line) => cut(&String::from_utf8_lossy(line)),
            Piece::TooLong(bytes) => format!("a line of {bytes} bytes"),
        };
        let _ = events.send(Event::Error(text));
    });
}

fn read(line: &[u8], spent: &mut Spent, seen: &Seen) -> Vec<Line> {
    let value: Option<Value> = serde_json::from_slice(line).ok();
    if let Some(value) = &value {
        spent.see(value);
    }
    let lines = lines(line, value);
    let mut sums = seen.open();
    sums.tokens = spent.total();
    if let Some(Line::Result { failed, reason, .. }) = lines.first() {
        (sums.failed, sums.hook_stopped) = (*failed, reason == "hook_stopped");
    }
    lines
}

fn pump(mut from: impl Read, mut sink: Sink, longest: usize, seen: &Seen, each: &mut dyn FnMut(Piece<'_>)) {
    let mut splitter = Splitter::new(longest);
    let mut chunk = vec![0_u8; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                let got = chunk.get(..length).unwrap_or_default();
                seen.wrote(length);
                if sink.as_mut().is_some_and(|sink| sink.write_all(got).and_then(|()| sink.flush()).is_err()) {
                    // Nobody reads it any more; the agent need not care.
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
