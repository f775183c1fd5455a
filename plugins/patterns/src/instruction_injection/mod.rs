//! The builtin pattern `instruction_injection`: text that came with a tool's result instructs the
//! agent.
//!
//! When an outcome arrives its text is read for instructions to an agent ([`text`] knows these).
//! Such a text is reported once, mildly: it may be meant for nobody. The things that it names
//! (addresses, hosts, paths, commands, tools) are remembered, and when one of the next actions acts
//! on one of them, that is reported before the action runs, and it is grave: the agent follows the
//! text. Things that the person named in a goal are the person's wish. Interventions decide on the
//! response.

mod config;
mod detect;
mod follow;
mod memory;
pub mod text;
mod things;

use config::Config;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct InstructionInjection;

impl Pattern for InstructionInjection {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "instruction-injection",
        env!("CARGO_PKG_VERSION"),
        "Notices that a tool's result holds text that instructs the agent, and that the agent follows it.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::Session])
    .severity(Severity::High)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        _: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let config = Config::from_prepared(prepared)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, action, context))
    }
}

#[cfg(test)]
mod tests;
