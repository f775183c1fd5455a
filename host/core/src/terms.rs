//! Demands on an action in a stopped session that a person resumed on terms.
//!
//! They apply by effect, regardless of the tool or command that causes it. A demand only tightens a
//! decision; a person's exception for this exact action lifts it like any other.

use crate::action::{Coverage, Effect, EffectKind, Facts};
use crate::facts::is_outside_scope;
use crate::score::Verdict;
use crate::session::ResumeConditions;
use crate::text::one_line;

/// A demand on an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The least strict verdict that is allowed.
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
    /// The alternative.
    pub instead: &'static str,
}

/// Returns true if an action only reads, and all of it is understood.
#[must_use]
pub fn is_read_only(facts: &Facts) -> bool {
    facts.coverage == Coverage::Full
        && facts.effects.iter().all(|effect| effect.kind == EffectKind::FileRead)
}

/// Returns the terms' demand on an action with these facts; none if they permit it.
#[must_use]
pub fn find_demand(terms: ResumeConditions, facts: &Facts) -> Option<Demand> {
    match terms {
        ResumeConditions::Limited => dangerous(facts).map(|what| Demand {
            verdict: Verdict::Block,
            reason: format!("this session was stopped and goes on without dangerous actions until \
                 a person lifts that: {what}"),
            instead: "read, and make or change files of the project; tell the person what else has to be done",
        }),
        ResumeConditions::Supervised if !is_read_only(facts) => Some(Demand {
            verdict: Verdict::Ask,
            reason: "this session was stopped and goes on under supervision: a person approves \
                 each write, deletion and command".into(),
            instead: "read what you need first; then ask for one change at a time and say what it is for",
        }),
        ResumeConditions::Supervised | ResumeConditions::RolledBack | ResumeConditions::Aborted | ResumeConditions::Lifted => None,
    }
}

/// Describes the first effect that goes beyond reading and writing files of the project, or else
/// the gap in what is understood.
fn dangerous(facts: &Facts) -> Option<String> {
    let beyond = facts.effects.iter().find(|effect| {
        let harmless = matches!(
            effect.kind,
            EffectKind::FileRead | EffectKind::FileCreate | EffectKind::FileModify
        );
        !harmless || is_outside_scope(effect, facts)
    });
    if let Some(effect) = beyond {
        return Some(describe_effect(effect));
    }
    // The reader reports a script, a build or a test run as a change of the folder that is not
    // certain: such a program may also delete, send or start something.
    let opaque = facts.effects.iter().find(|effect| effect.kind.changes_files() && !effect.certain);
    if let Some(effect) = opaque {
        return Some(format!("what it changes is not fully known ({})", describe_effect(effect)));
    }
    (facts.coverage != Coverage::Full).then(|| {
        let gap = facts
            .limits
            .iter()
            .chain(&facts.gaps)
            .next()
            .map(|gap| format!(" ({})", one_line(gap, 256)))
            .unwrap_or_default();
        format!("what it does is not fully known{gap}")
    })
}

/// Names an effect and its target.
pub(crate) fn describe_effect(effect: &Effect) -> String {
    let kind = effect.kind.as_str();
    if effect.target.is_empty() {
        return kind.to_owned();
    }
    format!("{kind} on `{}`", one_line(&effect.target, 256))
}
