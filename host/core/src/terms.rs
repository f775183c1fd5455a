//! What the terms on which a stopped session goes on demand of an action.
//!
//! By effect, whichever tool or command causes it. A demand only tightens a decision; a person's exception for this
//! exact action lifts it as any other.

use crate::action::{Coverage, EffectKind, Facts};
use crate::facts::outside;
use crate::score::Verdict;
use crate::session::Terms;
use crate::text::one_line;

/// What is demanded of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// At least this.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// What to do instead.
    pub instead: &'static str,
}

/// Whether an action only looks: all of it is known, and it reads.
#[must_use]
pub fn looks(facts: &Facts) -> bool {
    facts.coverage == Coverage::Full && facts.effects.iter().all(|effect| effect.kind == EffectKind::FileRead)
}

/// What terms demand of an action with these facts; none where they let it be.
#[must_use]
pub fn demand(terms: Terms, facts: &Facts) -> Option<Demand> {
    match terms {
        Terms::Limited => dangerous(facts).map(|what| Demand {
            verdict: Verdict::Block,
            reason: format!("this session was stopped and goes on without dangerous actions until a person lifts that: {what}"),
            instead: "read, and make or change files of the project; tell the person what else has to be done",
        }),
        Terms::Supervised if !looks(facts) => Some(Demand {
            verdict: Verdict::Ask,
            reason: "this session was stopped and goes on under supervision: a person approves each write, deletion and command".into(),
            instead: "read what you need first; then ask for one change at a time and say what it is for",
        }),
        Terms::Supervised | Terms::RolledBack | Terms::Aborted | Terms::Lifted => None,
    }
}

/// What of an action goes beyond reading and writing files of the project.
fn dangerous(facts: &Facts) -> Option<String> {
    let beyond = facts.effects.iter().find(|effect| {
        let harmless = matches!(effect.kind, EffectKind::FileRead | EffectKind::FileCreate | EffectKind::FileModify);
        !harmless || outside(effect, facts)
    });
    if let Some(effect) = beyond {
        let target = if effect.target.is_empty() { String::new() } else { format!(" on `{}`", one_line(&effect.target, 256)) };
        return Some(format!("{}{target}", effect.kind.as_str()));
    }
    (facts.coverage != Coverage::Full).then(|| {
        let gap = facts.gaps.first().map(|gap| format!(" ({})", one_line(gap, 256))).unwrap_or_default();
        format!("what it does is not fully known{gap}")
    })
}
