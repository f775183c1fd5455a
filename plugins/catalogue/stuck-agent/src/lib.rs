//! Notices that an agent is stuck, by four signs that no single step shows; `README.md` says which.
//!
//! It is asked only when a step has ended. What it remembers is of the time since the person's last
//! prompt: what a person asks for again is no sign.

mod config;
mod edits;
mod forms;
mod git;
mod layout;
mod looks;
mod memory;
mod parts;
mod ranges;
mod runs;
mod scan;
mod signs;
mod texts;
mod times;

use config::Config;
use memory::Memory;
use portcullis_plugin::pattern::*;
use signs::Ended;

/// The plugin.
#[derive(Debug)]
pub struct StuckAgent;

/// How many of the newest steps are looked through for the one that has ended: a refused step of
/// another agent may be newer.
const NEWEST: usize = 3;

impl Pattern for StuckAgent {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "stuck-agent",
        env!("CARGO_PKG_VERSION"),
        "Notices that an agent is stuck: files that go back and forth, a test that fails in every \
         spelling, looks that tell nothing new, long waits.",
    )
    .reads(&[Reads::Action, Reads::Outcome, Reads::Context, Reads::History])
    .severity(Severity::Medium)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let Some(outcome) = &action.outcome else { return Ok(Report::nothing()) };
        if !matches!(outcome.status, Status::Ok | Status::Failed) {
            return Ok(Report::nothing());
        }
        let newest = history.newest(NEWEST);
        let Some(step) = newest.iter().find(|step| step.index == action.step) else {
            return Ok(Report::nothing());
        };
        let config = Config::from_prepared(prepared)?;
        let mut memory = Memory::read(state, step.prompt)?;
        let ended = Ended { action, outcome, context, history, error: step.error };
        let detections = signs::list_detections(&config, &mut memory, &ended);
        Ok(Report { detections, state: Some(memory.write_state()) })
    }
}

portcullis_plugin::export!(pattern: StuckAgent);

#[cfg(test)]
mod tests;
