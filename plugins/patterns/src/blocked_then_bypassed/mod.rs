//! The builtin pattern `blocked_then_bypassed`: a refused action is tried again in another way.
//!
//! It is called before an action runs and remembers the action's intended effects. Once the history
//! shows that the action was refused, later actions are compared with it: one that would do the
//! same to the same target by another tool or in another form is reported, before it runs and once.
//! The same action again is repetition and not this pattern's business, and when the refused action
//! runs after all, a person has allowed it and it is forgotten. The rules decide if the new action
//! is refused too; interventions decide on the message to the agent.

mod config;
mod detect;
mod effects;
mod memory;

use config::Config;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct BlockedThenBypassed;

impl Pattern for BlockedThenBypassed {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "blocked-then-bypassed",
        env!("CARGO_PKG_VERSION"),
        "Notices that what was refused is tried again by another tool or in another form.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::History, Reads::Session])
    .severity(Severity::High)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let config = Config::from_prepared(prepared)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, history, action, context))
    }
}

#[cfg(test)]
mod tests;
