//! Notices when a prompt or the session has used a share of its budget of tokens, time or money.
//!
//! It is asked only when a step has ended, and reports each threshold of each budget once.

mod amounts;
mod budgets;
mod config;
mod passed;
mod report;
mod usage;

use config::Config;
use portcullis_plugin::pattern::*;
use usage::Usage;

/// The plugin.
#[derive(Debug)]
pub struct TokenBudget;

impl Pattern for TokenBudget {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "token-budget",
        env!("CARGO_PKG_VERSION"),
        "Notices when a prompt or the session has used a share of its budget of tokens, time or \
         money.",
    )
    .reads(&[Reads::Action, Reads::Outcome, Reads::Context, Reads::Session])
    .severity(Severity::Medium)
    .config::<Config>();

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        config::check_settings(settings)?;
        Self::DESCRIPTOR.prepare(settings)
    }

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
        let config = Config::from_prepared(prepared)?;
        let prompt = history.totals.prompts;
        let known = Usage::read(state)?;
        let mut usage = known.unwrap_or_else(|| Usage::new(prompt, action.step));
        usage.add_step(prompt, action, outcome, context);
        let passed = passed::list_passed(&mut usage, &config);
        let detection = report::describe(&passed, &usage, &config, action.step);
        Ok(Report { detections: detection.into_iter().collect(), state: Some(usage.write_state()) })
    }
}

portcullis_plugin::export!(pattern: TokenBudget);

#[cfg(test)]
mod tests;
