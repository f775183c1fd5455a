//! The builtin risk-calculator: how dangerous an action is by itself.
//!
//! A base by the riskiest thing that the action is known to do, then modifiers for where it does it, how
//! often it failed, with whose power and in which dangerous form. Judged by effects, so that a program
//! that nobody listed counts by what it does. It knows no programs and reads no files, and whether an
//! action makes sense is for `rationality` to say.

mod base;
mod grave;
mod modifiers;
mod score;
mod weights;

use portcullis_plugin::risk_calculator::{Action, Assessment, Context, Descriptor, Error, Reads, RiskCalculator, Settings};

/// The plugin.
#[derive(Debug)]
pub struct Plugin;

impl RiskCalculator for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "risk",
        env!("CARGO_PKG_VERSION"),
        "Scores how dangerous an action is by what it does, where, and with whose power.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .settings(weights::SPECS);

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let weights = weights::Weights::read(&Settings::read(prepared)?)?;
        Ok(score::judge(action, context, &weights).into())
    }
}

#[cfg(test)]
mod tests;
