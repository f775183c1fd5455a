//! The answers to each pattern, from mild to severe: a part of the policy.
//!
//! A pattern has no way to choose its own answers. Those of the builtin patterns are defaults of the
//! policy, and the operator sets those of any pattern, whoever wrote it.

use crate::intervention_kind::InterventionKind;
use std::collections::BTreeMap;

/// The answers to one pattern by column: low, medium, high, critical. None is milder than the one
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder([InterventionKind; 4]);

impl Ladder {
    /// The answers to a pattern without a ladder of its own.
    pub const FALLBACK: Self = Self([
        InterventionKind::SoftCorrection,
        InterventionKind::ContextReinforcement,
        InterventionKind::CheckpointRollback,
        InterventionKind::CheckpointRollback,
    ]);

    /// Creates a ladder; `None` if an answer is milder than the one before it.
    #[must_use]
    pub fn new(answers: [InterventionKind; 4]) -> Option<Self> {
        answers.is_sorted().then_some(Self(answers))
    }

    /// Returns the answer in a column, 0 to 3; the last one for a higher column.
    #[must_use]
    pub const fn answer_at(&self, column: usize) -> InterventionKind {
        let [low, medium, high, critical] = self.0;
        match column {
            0 => low,
            1 => medium,
            2 => high,
            _ => critical,
        }
    }

    /// Returns all four answers.
    #[must_use]
    pub const fn answers(&self) -> [InterventionKind; 4] {
        self.0
    }
}

/// The ladders of the builtin patterns.
const BUILTIN: &[(&str, [InterventionKind; 4])] = {
    use InterventionKind::{
        CheckpointRollback as R, ContextReinforcement as C, EmergencyStop as E,
        ResourceThrottling as T,
    };
    &[
        ("blocked_then_bypassed", [C, E, E, E]),
        ("hallucination", [C, R, E, E]),
        ("instruction_injection", [C, R, E, E]),
        ("resource_spiral", [T, R, E, E]),
        ("scope_creep", [C, T, E, E]),
        ("secret_egress", [C, E, E, E]),
    ]
};

/// Returns the default ladders, by the pattern's name.
#[must_use]
pub fn default_ladders() -> BTreeMap<String, Ladder> {
    BUILTIN.iter().map(|(name, answers)| ((*name).to_owned(), Ladder(*answers))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_default_ladder_goes_down() {
        for (name, ladder) in default_ladders() {
            assert_eq!(Ladder::new(ladder.answers()), Some(ladder), "{name}");
        }
        assert_eq!(Ladder::new(Ladder::FALLBACK.answers()), Some(Ladder::FALLBACK));
    }
}
