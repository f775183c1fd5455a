//! The builtin pattern `resource_spiral`: the session uses more and more.
//!
//! It looks when an outcome arrives. The newest steps are cut into four equal windows, of a minute
//! each or, if times are not informative, of forty steps; the use of files, bytes, tokens and time
//! in each is summed. It reports when the mean growth from window to window passes the threshold
//! for one of the four, again when that has become worse by `worse_by` or another of the four joins
//! in, and again when it comes back after it had ended. Windows with too little use to measure
//! growth are ignored. Absolute use is not judged here, that is for limits; interventions decide on
//! the response to growth.

mod config;
mod detect;
mod growth;
mod memory;

use config::Config;
use portcullis_plugin::host;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct ResourceSpiral;

impl Pattern for ResourceSpiral {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "resource-spiral",
        env!("CARGO_PKG_VERSION"),
        "Notices that files, bytes, tokens or time grow from window to window.",
    )
    .reads(&[Reads::Action, Reads::Outcome, Reads::History])
    .severity(Severity::Critical)
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
