//! The builtin pattern `repetitive_errors`: the same error again and again.
//!
//! It looks when an outcome arrives, and reports when that outcome is a failure whose error has now
//! been seen the threshold's number of times, each without a later success of the same action
//! shape. Every further failure of the kind is worse than the one before, so it reports again; any
//! other step is silent, so an unchanged situation is reported once. The history holds fingerprints
//! only, so the newest errors' texts are kept in the plugin's own state. Interventions decide on
//! the response.

mod config;
mod detect;
mod memory;

use config::Config;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct RepetitiveErrors;

impl Pattern for RepetitiveErrors {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "repetitive-errors",
        env!("CARGO_PKG_VERSION"),
        "Notices the same error coming up again without a success between.",
    )
    .reads(&[Reads::Action, Reads::Outcome, Reads::History])
    .severity(Severity::Medium)
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
