//! The resource limits of an agent.

use std::fmt;
use std::time::Duration;

/// The resource limits of a whole tree of processes; `None` means unlimited.
///
/// Each limit gives a warning once when four fifths are used, and stops the agent when it is
/// reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimits {
    /// Wall-clock time, from the start of the agent.
    pub time: Option<Duration>,
    /// Bytes of memory of all processes together. Sampled twice a second, so a tree can exceed it
    /// in between.
    pub memory: Option<u64>,
    /// Processes that are alive at once.
    pub processes: Option<u64>,
    /// Tokens, as reported in the agent's own stream: [`Tokens::spent`](crate::Tokens::spent).
    pub tokens: Option<u64>,
    /// Bytes of standard output and standard error together.
    pub output: Option<u64>,
}

impl RunLimits {
    /// Returns the value of one limit, in its unit.
    pub fn value_of(&self, limit: RunLimit) -> Option<u64> {
        match limit {
            RunLimit::Time => {
                self.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            }
            RunLimit::Memory => self.memory,
            RunLimit::Processes => self.processes,
            RunLimit::Tokens => self.tokens,
            RunLimit::Output => self.output,
        }
    }
}

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// In milliseconds.
    Time,
    /// In bytes.
    Memory,
    /// In processes.
    Processes,
    /// In tokens.
    Tokens,
    /// In bytes.
    Output,
}

impl RunLimit {
    /// Every limit.
    pub const ALL: [Self; 5] =
        [Self::Time, Self::Memory, Self::Processes, Self::Tokens, Self::Output];
}

impl fmt::Display for RunLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Tokens => "tokens",
            Self::Output => "output",
        })
    }
}

/// Four fifths of a limit are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// The limit.
    pub limit: RunLimit,
    /// The amount used, in the limit's unit.
    pub used: u64,
    /// The amount allowed, in the limit's unit.
    pub allowed: u64,
}
