//! The clients of AI coding agents: their hook formats, settings files, transcripts and versions.
//!
//! Each client is one module that implements [`Agent`]; [`find`] returns it by name. This crate
//! makes no decisions about actions and prints nothing.

pub mod backup;
pub mod claude;
pub mod file;
mod hook_output;
pub mod json;
pub mod run;
mod shown_call;

pub use claude::handlers::Invocation;
pub use hook_output::{HookOutput, WireError};
pub use shown_call::ShownCall;

use portcullis_core::event::{Event, Reply};
use portcullis_store::Home;
use std::path::Path;

/// The program's name in settings files, hook commands and version lines.
pub const PROGRAM: &str = "portcullis";

/// A client of an AI coding agent.
pub trait Agent: Sync {
    /// Returns the name on the command line and in records, such as `claude`.
    fn name(&self) -> &'static str;

    /// Returns the most bytes that one event may have. Larger input is refused.
    fn max_input(&self) -> usize;

    /// Reads one event from a hook's standard input.
    ///
    /// # Errors
    /// Fails if the input is empty, too large, malformed, or lacks a part that every event has.
    fn parse(&self, input: &[u8]) -> Result<Event, WireError>;

    /// Formats the answer to an event of that name. A ruling that the client cannot express becomes
    /// the nearest stricter one.
    fn render(&self, event: &str, reply: &Reply) -> HookOutput;

    /// Returns the calls that ended at `since` (milliseconds since 1970) or later, according to the
    /// transcript that a hook's standard input names. Returns nothing without a readable
    /// transcript: a missing call proves nothing.
    fn shown_calls(&self, input: &[u8], since: u64) -> Vec<ShownCall>;

    /// Puts our hooks back into a settings file that `install` wrote; returns the missing parts, or
    /// `None` if nothing was missing.
    ///
    /// # Errors
    /// Fails if the file cannot be read, parsed or written.
    fn restore_hooks(
        &self,
        home: &Home,
        file: &Path,
        invocation: &Invocation,
    ) -> anyhow::Result<Option<String>>;
}

/// All clients, in the order in which help texts list them.
pub const ALL: &[&dyn Agent] = &[&claude::Claude];

/// Returns the client of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| agent.name() == name)
}
