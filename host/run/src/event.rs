//! The events of a running agent.

use crate::limits::Warning;
use serde_json::Value;
use std::ops::AddAssign;

/// Something that happened while the agent ran. Texts are cut at 8 KiB, except for the last words
/// of a turn; the agent's output itself is passed on whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A line of standard output, or a part of its content.
    Output(StreamLine),
    /// A line of standard error.
    Error(String),
    /// A limit is nearly reached.
    Warning(Warning),
}

/// The content of one line of a `stream-json` output; a line of several blocks gives several.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamLine {
    /// The session began.
    Session {
        /// Its id.
        id: String,
        /// The model.
        model: String,
        /// The client's permission mode.
        mode: String,
    },
    /// A message of the agent.
    Text {
        /// The message.
        text: String,
        /// True for a message of a subagent.
        nested: bool,
    },
    /// The agent wants to use a tool.
    Tool {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// Its input, as JSON.
        input: String,
        /// True for a call of a subagent.
        nested: bool,
    },
    /// A tool was used, or refused.
    Done {
        /// The call's id.
        id: String,
        /// True if it failed or was refused.
        failed: bool,
        /// Its output.
        text: String,
    },
    /// A message of the client itself: a failed hook, a notice.
    Notice(String),
    /// A turn is over.
    Result {
        /// True if the client calls it an error.
        failed: bool,
        /// The reason for its end: `completed`, `hook_stopped`, ...
        reason: String,
        /// The last words, complete.
        text: String,
        /// The calls that were refused.
        denials: Vec<Denial>,
    },
    /// A request or an answer of the control protocol, complete.
    Control(Value),
    /// A line of another type.
    Other(String),
    /// A line that is not a JSON object.
    Words(String),
    /// A line that is too long to be read.
    TooLong {
        /// Its length.
        bytes: u64,
    },
}

/// A call that the client refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Read by the model for the first time.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read by the model and written to the cache.
    pub cache_written: u64,
    /// Read from the cache.
    pub cache_read: u64,
}

impl Tokens {
    /// Returns the tokens that count against a limit: all except those read from the cache, which
    /// were counted when they were written to it.
    pub fn spent(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_written)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}
