//! The builtin rationality check: judges if an action makes sense, given the person's request and
//! the session so far.
//!
//! | component | 1.00 | less |
//! |---|---|---|
//! | alignment | it serves a goal: by its words, by its kind, or by looking and testing | .70 ordinary work in the project; 0 neither, or the person asked not to; absent without a goal |
//! | progression | it builds on earlier steps | .70 a new path, .30 repeats, 0 contradicts a goal |
//! | efficiency | no cheaper way is known | .50 |
//! | completeness | no needed earlier step is missing | .50; absent if the history does not reach back far enough |
//!
//! It is generous on purpose: looking, testing and ordinary work in the project pass without a word
//! in common with the goal, and repeating a look or a test never counts against an action. An
//! action that the person forbade is different: then nothing else is scored, so that the score is
//! 0, and the rule `keep_prohibition` asks, which no leniency for first steps lifts; while a
//! condition of the prohibition may be met it warns. It reads text by words and stems, not by
//! meaning, and does not judge danger.

mod config;
mod efficiency;
mod goals;
mod judge;
mod nature;
mod objects;
mod past;
mod prohibitions;
mod protected;
mod words;

use config::Config;
use portcullis_plugin::host;
use portcullis_plugin::risk_calculator::{
    Action, Assessment, Context, Descriptor, Error, FromSettings, Reads, RiskCalculator,
};

/// The plugin.
#[derive(Debug)]
pub struct RationalityCheck;

impl RiskCalculator for RationalityCheck {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "rationality",
        env!("CARGO_PKG_VERSION"),
        "Scores whether an action makes sense, given the goals and the session so far.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::History])
    .config::<Config>();

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let config = Config::from_prepared(prepared)?;
        Ok(judge::assess(action, context, &config, &host::detail))
    }
}

#[cfg(test)]
mod tests;
