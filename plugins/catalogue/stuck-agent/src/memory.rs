//! What is remembered of the steps since the person's last prompt: the plugin's state.
//!
//! The state has a layout and bounds. A state of another layout is forgotten: the plugin counts from
//! there on.

use crate::layout::Part;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::pattern::Error;

/// The layout of the bytes. 1 was JSON.
const LAYOUT: u8 = 2;
const MOST_FILES: usize = 24;
const MOST_STATES: usize = 10;
const MOST_PARTS: usize = 12;
const MOST_FAILURES: usize = 24;
const MOST_SEEN: usize = 64;
const MOST_READ: usize = 32;
const MOST_IDLE: usize = 64;
/// The most bytes; the host keeps 64 KiB.
const MOST_BYTES: usize = 48 << 10;

/// What is remembered since the last prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The prompt's number.
    pub prompt: u32,
    /// How often files were edited.
    pub edits: u32,
    /// The files that were edited, the one that was edited last at the end.
    pub files: Vec<FileMemory>,
    /// What fails, the one that failed last at the end.
    pub failures: Vec<Failure>,
    /// The fewest failures of a run.
    pub fewest: u32,
    /// What looks told since the last change: fingerprints.
    pub seen: Vec<u64>,
    /// What was read since the last change.
    pub read: Vec<Range>,
    /// Steps in a row that told nothing new: what the newest of them did.
    pub idle: Vec<String>,
    /// How many they are.
    pub idle_count: u32,
    /// The first of them.
    pub idle_since: u64,
    /// Milliseconds that were waited since the last change.
    pub waited: u64,
    /// The steps that waited.
    pub waits: u32,
    /// The first of them.
    pub wait_since: u64,
    /// The minutes that were waited when it was reported last.
    pub wait_reported: u64,
}

/// The states that a file had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMemory {
    /// Its path.
    pub path: String,
    /// How often it was edited.
    pub edits: u32,
    /// The step of its first edit.
    pub first: u64,
    /// What the whole file was, newest last.
    pub whole: Vec<State>,
    /// What parts of it were: each part's states, newest last.
    pub parts: Vec<Vec<State>>,
    /// How often it came back to a state, in the order of the first time.
    pub returns: Vec<(Return, u32)>,
}

/// What a file, or a part of it, is at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it was before the agent changed it.
    Base,
    /// It is gone. Coming back to that is tidying up.
    Gone,
    /// Nothing that could be compared with another state.
    Unknown,
    /// What a tool wrote: the action's fingerprint.
    Written(u64),
    /// What a command wrote: the action's fingerprint.
    Printed(u64),
    /// Lines of the file: their fingerprint.
    Lines(u64),
    /// No lines, behind a line: the fingerprint of that.
    Empty(u64),
}

/// A state that a file came back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// The whole file.
    Whole(State),
    /// A part of it: the part's first state, and the state.
    Part(State, State),
}

/// A test, or another check, that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The test's name, or the error's text.
    pub id: String,
    /// Runs in which it failed.
    pub runs: u32,
    /// Those of them since its reason changed.
    pub same: u32,
    /// The reason's fingerprint.
    pub reason: u64,
    /// How it was run: the shapes of the actions.
    pub shapes: Vec<u64>,
    /// How it was run, for a person.
    pub programs: Vec<String>,
    /// The errors' fingerprints as the host's; 0 where the run did not fail as a whole.
    pub errors: Vec<u64>,
    /// The step of its first failure.
    pub first: u64,
    /// Edits in the session when it first failed.
    pub edits: u32,
}

/// A part of a file that was read, in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The file.
    pub path: String,
    /// Its first line.
    pub from: i64,
    /// Its last line.
    pub to: i64,
}

impl Memory {
    /// Knows nothing yet.
    pub const fn new(prompt: u32) -> Self {
        Self {
            prompt,
            edits: 0,
            files: Vec::new(),
            failures: Vec::new(),
            fewest: u32::MAX,
            seen: Vec::new(),
            read: Vec::new(),
            idle: Vec::new(),
            idle_count: 0,
            idle_since: 0,
            waited: 0,
            waits: 0,
            wait_since: 0,
            wait_reported: 0,
        }
    }

    /// Decodes a state; a new memory where it is none of this layout, or of an earlier prompt.
    pub fn read(state: &[u8], prompt: u32) -> Result<Self, Error> {
        let mut input = Reader::new(state);
        if input.byte() != Some(LAYOUT) {
            return Ok(Self::new(prompt));
        }
        let memory = Self::decode(&mut input)
            .ok_or_else(|| Error::input("`state` is damaged: start a new session"))?;
        Ok(if memory.prompt == prompt { memory } else { Self::new(prompt) })
    }

    /// Encodes it. Drops the oldest of what is too much, so that the state stays small.
    pub fn write_state(&mut self) -> Vec<u8> {
        self.forget();
        loop {
            let mut out = Writer::default();
            out.byte(LAYOUT);
            self.encode(&mut out);
            let bytes = out.into_bytes();
            // Only long paths can be that many bytes.
            let size = self.files.len() + self.read.len();
            if bytes.len() <= MOST_BYTES || size == 0 {
                return bytes;
            }
            let (files, read) = (self.files.len() / 2, self.read.len() / 2);
            keep_newest(&mut self.files, files);
            keep_newest(&mut self.read, read);
        }
    }

    fn forget(&mut self) {
        keep_newest(&mut self.files, MOST_FILES);
        for file in &mut self.files {
            keep_newest(&mut file.whole, MOST_STATES);
            keep_newest(&mut file.parts, MOST_PARTS);
            for states in &mut file.parts {
                keep_newest(states, MOST_STATES);
            }
            keep_newest(&mut file.returns, MOST_STATES);
        }
        keep_newest(&mut self.failures, MOST_FAILURES);
        keep_newest(&mut self.seen, MOST_SEEN);
        keep_newest(&mut self.read, MOST_READ);
        keep_newest(&mut self.idle, MOST_IDLE);
    }

    /// Forgets the steps that told nothing new.
    pub fn forget_idle(&mut self) {
        self.idle.clear();
        self.idle_count = 0;
    }

    /// Returns a file's memory, as the newest.
    pub fn file(&mut self, path: &str, step: u64) -> &mut FileMemory {
        let known = self.files.iter().position(|file| file.path == path);
        let file = known.map_or_else(
            || FileMemory {
                path: path.to_owned(),
                edits: 0,
                first: step,
                whole: vec![State::Base],
                parts: Vec::new(),
                returns: Vec::new(),
            },
            |at| self.files.remove(at),
        );
        self.files.push_mut(file)
    }
}

/// Drops the oldest values, which stand first.
pub fn keep_newest<T>(values: &mut Vec<T>, most: usize) {
    values.drain(..values.len().saturating_sub(most));
}
