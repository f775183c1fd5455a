//! The builtin pattern `scope_creep`: the agent works more and more outside the expected scope.
//!
//! It looks when an outcome arrives, and reports when more than the threshold's share of the recent
//! steps' effects is outside, at a step that itself reached outside. It reports again while that
//! lasts: when the share has grown by `worse_by`, and every few steps, unless the newest steps show
//! that the agent has turned round. The host judges if a path is outside, and interventions decide
//! on the response.

mod config;
mod detect;
mod memory;

use config::Config;
use portcullis_plugin::host;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct ScopeCreep;

impl Pattern for ScopeCreep {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "scope-creep",
        env!("CARGO_PKG_VERSION"),
        "Notices that more and more of the work is outside the expected scope.",
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
        let reported = memory::read(state)?;
        Ok(detect::look(&config, reported, history, action, &host::detail))
    }
}

#[cfg(test)]
mod tests;
