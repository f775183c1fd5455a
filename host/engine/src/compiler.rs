//! The interface of the process that compiles third-party files: its limits, and the reasons why it
//! gives no machine code.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The limits of one compilation. The size of its input is bounded by
/// [`crate::MAX_COMPONENT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileLimits {
    /// Wall-clock time. Somebody waits for the answer.
    pub wall: Duration,
    /// Seconds of processor time, of all threads together.
    pub cpu_seconds: u64,
    /// Bytes of address space. CPython as a component needs 480 MB.
    pub memory_bytes: u64,
    /// Bytes of machine code; usually three times the component.
    pub output_bytes: u64,
}

impl CompileLimits {
    /// Returns true if none of `others` is larger: a compilation that failed under these fails
    /// under those.
    pub(crate) fn covers(&self, others: &Self) -> bool {
        others.wall <= self.wall
            && others.cpu_seconds <= self.cpu_seconds
            && others.memory_bytes <= self.memory_bytes
            && others.output_bytes <= self.output_bytes
    }
}

/// The limit that was reached, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileLimit {
    /// Wall-clock time.
    #[error("compiling it takes longer than the {} s that it may take here", .0.as_secs())]
    Wall(Duration),
    /// Seconds of processor time.
    #[error("compiling it takes more than {0} s of processor time")]
    Cpu(u64),
    /// Bytes of memory.
    #[error("compiling it takes more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    /// Bytes of machine code.
    #[error("its machine code has more than {} MiB", .0 >> 20)]
    Output(u64),
}

/// The reason why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileEnd {
    /// The compiler rejected the component.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// It used up a limit.
    #[error(
        "{0}; make the plugin smaller, or let `portcullis doctor` try again, which takes more time"
    )]
    Limit(CompileLimit),
    /// The compiling process ended without an answer.
    #[error(
        "the process that compiled it ended without machine code: {0}; `portcullis doctor` tries again"
    )]
    Crashed(String),
    /// The time was used up by other plugins, or by another process that compiles this one.
    #[error(
        "the time for compiling was used up by other plugins, or by another process that compiles \
         this one; `portcullis doctor` compiles all"
    )]
    NoTime,
    /// The process could not be started. Without it, nothing is compiled.
    #[error("the process that compiles plugins cannot be started: {0}")]
    Unavailable(String),
}

/// Compiles in a separate process.
pub trait Compiler: Send + Sync {
    /// Returns the limits of the next compilation; none if no time is left.
    fn limits(&self) -> Option<CompileLimits>;

    /// Returns true if a known failure is to be tried again.
    fn retries_failures(&self) -> bool;

    /// Accounts for time spent waiting while another process compiled the same component.
    fn waited(&self, time: Duration);

    /// Returns the answer of `compile_here` from the other process.
    ///
    /// # Errors
    /// Fails with the reason why there is no answer.
    fn compile(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd>;
}
