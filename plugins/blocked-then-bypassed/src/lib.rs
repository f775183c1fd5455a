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

use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, History, Pattern, Reads, Report, Setting, Settings,
    Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct Plugin;

impl Pattern for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "blocked-then-bypassed",
        env!("CARGO_PKG_VERSION"),
        "Notices that what was refused is tried again by another tool or in another form.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::History, Reads::Session])
    .severity(Severity::High)
    .settings(config::SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let settings = Settings::check(config::SPECS, settings)?;
        config::Config::read(&settings)?;
        Ok(settings.to_bytes())
    }

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let config = config::Config::read(&Settings::read(prepared)?)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, history, action, context))
    }
}

#[cfg(test)]
mod tests;
