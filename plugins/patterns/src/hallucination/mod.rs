//! The builtin pattern `hallucination`: the agent works with things that do not exist.
//!
//! It looks when an outcome arrives. Outcomes report missing things: a file, a command, a flag, a
//! tool, a text in a file. Each such target that the action itself named is remembered. An action
//! that runs into something missing is one act; if an earlier outcome in the session had reported
//! it as missing, it is an informed act. The pattern reports an informed act when there are enough
//! of both, and again with each further one. A check for existence is not an act, and things made
//! since are forgotten. Errors of other kinds are for `repetitive_errors`; interventions decide on
//! the response.

mod answers;
mod config;
mod detect;
mod memory;

use config::Config;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct Hallucination;

impl Pattern for Hallucination {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "hallucination",
        env!("CARGO_PKG_VERSION"),
        "Notices work with files, commands, tools or texts that the session has shown not to exist.",
    )
    .reads(&[Reads::Action, Reads::Outcome, Reads::History])
    .severity(Severity::High)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        _: &Context,
    ) -> Result<Report, Error> {
        let config = Config::from_prepared(prepared)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, history, action))
    }
}

#[cfg(test)]
mod tests;
