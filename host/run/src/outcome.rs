//! How a run ended.

use crate::error::RunError;
use crate::event::Tokens;
use crate::limits::{Limit, Warning};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How a run ended, for whoever asks by exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The agent ended by itself, and well.
    Well,
    /// The agent ended by itself, and not well, or somebody else killed it.
    Failed,
    /// It used up a limit and was stopped.
    Limit(Limit),
    /// It was stopped in an emergency, or a hook of its own ended its turn.
    Emergency,
    /// The watcher died or did not answer, so the agent was stopped.
    Unwatched,
    /// A person stopped it: SIGINT, SIGTERM or SIGHUP to the caller.
    Interrupted,
}

impl Outcome {
    /// The exit code of a command that ran the agent. An agent that could not be started is 1: [`exit_code`].
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Failed => 10,
            Self::Limit(_) => 11,
            Self::Emergency => 12,
            Self::Unwatched => 13,
            Self::Interrupted => 130,
        }
    }
}

/// The exit code of a whole run, also of one that could not begin.
pub fn exit_code(run: &Result<Ended, RunError>) -> u8 {
    run.as_ref().map_or(1, |ended| ended.outcome.exit_code())
}

/// Everything that is known when the last process is dead.
#[derive(Debug, Clone)]
pub struct Ended {
    /// What it comes to.
    pub outcome: Outcome,
    /// How the agent itself ended; `None` when that was not seen, since the watcher died first.
    pub exit: Option<Exit>,
    /// The stop, when there was one.
    pub stopped: Option<Stopped>,
    /// What was used.
    pub totals: Totals,
    /// Each limit that came near, in the order in which they did.
    pub warnings: Vec<Warning>,
}

/// How one process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A stop of the whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// From the order to the last process being dead and reaped.
    pub took: Duration,
    /// Processes that had to be killed.
    pub killed: u64,
    /// Processes that could not be killed within ten seconds: another user's, or stuck in the kernel.
    pub survivors: Vec<i32>,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// From the start of the agent to the end of the last process.
    pub time: Duration,
    /// The most bytes of memory that were seen at once. Shared pages count for each process that has them, unless a
    /// limit came near.
    pub memory: u64,
    /// The most processes that were seen at once.
    pub processes: u64,
    /// As the agent's stream told them.
    pub tokens: Tokens,
    /// Bytes of standard output and standard error.
    pub output: u64,
    /// Lines of standard output that were too long to be read as an event.
    pub long_lines: u64,
}
