//! The builtin pattern `loop`: the same few steps again and again, with the same results.
//!
//! It looks when an outcome arrives, and reports when the newest steps that ended are one cycle of
//! a few steps, the threshold's number of times over: the same exact actions, each with the same
//! result as before. It reports again after each further complete cycle, which is worse than the
//! one before, and stays silent in between. A step whose result changes breaks the cycle, so
//! waiting for a log to grow is not one. Refused steps and steps that have not ended are left out.
//! Errors that come back in other ways are for `repetitive_errors`; interventions decide on the
//! response to a loop.

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
pub struct Loop;

impl Pattern for Loop {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "loop",
        env!("CARGO_PKG_VERSION"),
        "Notices the same few steps being repeated with the same results.",
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
        let reported = memory::read(state)?;
        Ok(detect::look(&config, reported, history, action, &host::detail))
    }
}

#[cfg(test)]
mod tests;
