//! The outcome of a run.

use crate::error::RunError;
use crate::event::Tokens;
use crate::limits::{RunLimit, Warning};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The outcome of a run, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// The agent ended by itself, successfully.
    Success,
    /// The agent ended by itself with a failure, or somebody else killed it.
    Failed,
    /// It reached a limit and was stopped.
    Limit(RunLimit),
    /// It was stopped in an emergency, or a hook of its own ended its turn.
    Emergency,
    /// The watcher died or did not answer, so the agent was stopped.
    Unwatched,
    /// A person stopped it: SIGINT, SIGTERM or SIGHUP to the caller.
    Interrupted,
}

impl RunOutcome {
    /// Returns the exit code of a command that ran the agent. For an agent that could not be
    /// started it is 1: [`exit_code`].
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 10,
            Self::Limit(_) => 11,
            Self::Emergency => 12,
            Self::Unwatched => 13,
            Self::Interrupted => 130,
        }
    }
}

/// Returns the exit code of a whole run, including one that could not begin.
pub fn exit_code(run: &Result<RunResult, RunError>) -> u8 {
    run.as_ref().map_or(1, |ended| ended.outcome.exit_code())
}

/// The complete result, once the last process is dead.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The outcome.
    pub outcome: RunOutcome,
    /// The exit of the agent itself; `None` if it was not seen, since the watcher died first.
    pub exit: Option<Exit>,
    /// The stop, if there was one.
    pub stopped: Option<Stopped>,
    /// The resources used.
    pub totals: RunUsage,
    /// Each limit that was nearly reached, in that order.
    pub warnings: Vec<Warning>,
}

/// The exit of one process.
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
    /// The time from the order until the last process was dead and reaped.
    pub took: Duration,
    /// Processes that had to be killed.
    pub killed: u64,
    /// Processes that could not be killed within ten seconds: another user's, or stuck in the
    /// kernel.
    pub survivors: Vec<i32>,
}

/// The resources that a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunUsage {
    /// The time from the start of the agent to the end of the last process.
    pub time: Duration,
    /// The peak memory in bytes, as sampled. Shared pages count for each process that has them,
    /// unless a limit was nearly reached.
    pub memory: u64,
    /// The highest number of processes, as sampled.
    pub processes: u64,
    /// The tokens, as reported in the agent's stream.
    pub tokens: Tokens,
    /// Bytes of standard output and standard error.
    pub output: u64,
    /// Lines of standard output that were too long to be read as an event.
    pub long_lines: u64,
}
