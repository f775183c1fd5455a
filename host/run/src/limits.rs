//! What an agent may use up.

use std::fmt;
use std::time::Duration;

/// What a whole tree of processes may use up; `None` is no limit.
///
/// Each limit is told once when four fifths are used, and stops the agent when all is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Time by the clock, from the start of the agent.
    pub time: Option<Duration>,
    /// Bytes of memory of all processes together. Looked at twice a second, so a tree can go over it in between.
    pub memory: Option<u64>,
    /// Processes that live at once.
    pub processes: Option<u64>,
    /// Tokens, as the agent's own stream tells them: [`Tokens::spent`](crate::Tokens::spent).
    pub tokens: Option<u64>,
    /// Bytes of standard output and standard error together.
    pub output: Option<u64>,
}

impl Limits {
    /// What is allowed of one thing, in its unit.
    pub fn of(&self, limit: Limit) -> Option<u64> {
        match limit {
            Limit::Time => self.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            Limit::Memory => self.memory,
            Limit::Processes => self.processes,
            Limit::Tokens => self.tokens,
            Limit::Output => self.output,
        }
    }
}

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
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

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 5] = [Self::Time, Self::Memory, Self::Processes, Self::Tokens, Self::Output];
}

impl fmt::Display for Limit {
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
    pub limit: Limit,
    /// What is used, in the limit's unit.
    pub used: u64,
    /// What is allowed, in the limit's unit.
    pub allowed: u64,
}
