//! The builtin side-effect analysis: the consequences of an action, their severity, their
//! reversibility, and ways to soften them.
//!
//! A critical side effect blocks, so only five things are critical: an irreversible loss outside
//! the scope or of a whole tree, credentials that leave, remote code that runs unseen, and damage
//! to the machine or to a remote service. A whole tree is a project's folder, its `.git`, a folder
//! above them or one that everybody shares: a folder inside the project is for the rules to save.
//! It scores nothing and forbids nothing itself.

mod critical;
mod effects;
mod levels;

use levels::Levels;
use portcullis_plugin::risk_calculator::{
    Action, Assessment, Context, Descriptor, Error, FromSettings, Reads, RiskCalculator,
};

/// The plugin.
#[derive(Debug)]
pub struct SideEffectAnalysis;

impl RiskCalculator for SideEffectAnalysis {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "side-effects",
        env!("CARGO_PKG_VERSION"),
        "Lists what an action leaves behind, whether it can be undone, and how it could be softened.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .config::<Levels>();

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let levels = Levels::from_prepared(prepared)?;
        Ok(effects::left_by(action, context, &levels).into())
    }
}

#[cfg(test)]
mod tests;
