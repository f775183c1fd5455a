//! The builtin risk-calculator: how dangerous an action is by itself.
//!
//! It starts from a base for the riskiest known effect of the action, then adds modifiers for its
//! location, its earlier failures, its privileges and its dangerous forms. It judges by effects, so
//! that an unlisted program counts by its effects. It knows no programs and reads no files, and
//! leaves the question if an action makes sense to `rationality`.

mod base;
mod grave;
mod modifiers;
mod requested;
mod score;
mod weights;

use portcullis_plugin::risk_calculator::{
    Action, Assessment, Context, Descriptor, Error, FromSettings, Reads, RiskCalculator,
};
use weights::Weights;

/// The plugin.
#[derive(Debug)]
pub struct RiskScore;

impl RiskCalculator for RiskScore {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "risk",
        env!("CARGO_PKG_VERSION"),
        "Scores how dangerous an action is by what it does, where, and with whose power.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .config::<Weights>();

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let weights = Weights::from_prepared(prepared)?;
        Ok(score::judge(action, context, &weights).into())
    }
}

#[cfg(test)]
mod tests;
