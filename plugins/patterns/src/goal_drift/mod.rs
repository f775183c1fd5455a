//! The builtin pattern `goal_drift`: the steps serve the stated goal less and less.
//!
//! It looks when an outcome arrives and a goal was stated, and reports when the recent steps that
//! were compared with the goal serve it by less than the threshold on average, and the newer half
//! by less than the older; only at a step that itself does not serve the goal. It reports again
//! while that lasts: when the average has fallen by `worse_by`, and every few steps, unless the
//! newest steps show that the agent has turned round. The judges decide how far a step serves a
//! goal, and interventions decide on the response to drift.

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
pub struct GoalDrift;

impl Pattern for GoalDrift {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "goal-drift",
        env!("CARGO_PKG_VERSION"),
        "Notices that the steps serve the stated goal less and less.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::Outcome, Reads::History])
    .severity(Severity::Medium)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let config = Config::from_prepared(prepared)?;
        let reported = memory::read(state)?;
        Ok(detect::look(&config, reported, history, action, context, &host::detail))
    }
}

#[cfg(test)]
mod tests;
