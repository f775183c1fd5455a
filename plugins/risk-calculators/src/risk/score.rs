//! The score: the sum of base and modifiers, each within its bounds.

use super::weights::Weights;
use super::{base, grave, modifiers};
use portcullis_plugin::risk_calculator::Risk;
use portcullis_plugin::types::{Action, Context};

const MOST: u16 = 1000;

/// Judges how risky an action is.
///
/// Base, privilege and forms make the action's own risk, which passes the ceiling only for grave
/// effects. Scope and repetition are added last and never lift anything past it.
pub(super) fn judge(action: &Action, context: &Context, weights: &Weights) -> Risk {
    let base = base::factor(action, context, weights);
    let scope = modifiers::scope(action, &base, weights);
    let repetition = modifiers::repetition(action, context, weights);
    let power: Vec<_> = modifiers::privilege(action, &base, weights)
        .into_iter()
        .chain(modifiers::forms(action, weights))
        .collect();

    let own = power.iter().fold(base.weight, |sum, factor| sum.saturating_add(factor.weight));
    let own = own.min(if grave::is_grave(action, context) { MOST } else { weights.ceiling });
    let lifted = scope
        .iter()
        .chain(&repetition)
        .fold(own, |sum, factor| sum.saturating_add(factor.weight))
        .min(weights.ceiling);

    // Earlier failures say least about an action, so they come last in its reason.
    let factors = std::iter::once(base).chain(scope).chain(power).chain(repetition).collect();
    Risk { score: own.max(lifted), factors }
}
