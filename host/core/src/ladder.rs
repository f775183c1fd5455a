//! The answers to each pattern, from mild to severe: a part of the policy.
//!
//! A pattern has no way to choose its own answers. Those of the builtin patterns are defaults of
//! the policy, and the operator sets those of any pattern, whoever wrote it. An answer may be an
//! intervention of a plugin's own, which has its place beside one of the kinds.

use crate::intervention_kind::InterventionKind;
use std::collections::BTreeMap;

/// The text between a kind and a plugin in the configuration.
const OF_PLUGIN: char = ':';

/// One answer of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderAnswer {
    /// The kind, which is its place among the others: how strict it may be at most.
    pub kind: InterventionKind,
    /// The intervention plugin that gives it; none for the kind's usual one. With a plugin, it is
    /// an intervention of its own, beside the kind.
    pub plugin: Option<String>,
}

impl LadderAnswer {
    /// Returns the answer of a kind's usual plugin.
    #[must_use]
    pub const fn of_kind(kind: InterventionKind) -> Self {
        Self { kind, plugin: None }
    }

    /// Reads `KIND` or `KIND:PLUGIN`; none if the kind is unknown or the plugin has no name.
    #[must_use]
    pub fn parse_answer(text: &str) -> Option<Self> {
        let (kind, plugin) =
            text.split_once(OF_PLUGIN).map_or((text, None), |(kind, plugin)| (kind, Some(plugin)));
        let kind = InterventionKind::ALL.iter().copied().find(|known| known.as_str() == kind)?;
        let is_named = plugin.is_none_or(|name| !name.is_empty());
        is_named.then(|| Self { kind, plugin: plugin.map(str::to_owned) })
    }

    /// Returns its name in the configuration and in records.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.plugin {
            Some(plugin) => format!("{}{OF_PLUGIN}{plugin}", self.kind),
            None => self.kind.to_string(),
        }
    }

    /// Returns the kind in an answer's name.
    #[must_use]
    pub fn kind_in(name: &str) -> &str {
        name.split(OF_PLUGIN).next().unwrap_or(name)
    }
}

/// The answers to one pattern by column: low, medium, high, critical. None is milder than the one
/// before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder([LadderAnswer; 4]);

/// The answers to a pattern without a ladder of its own.
pub static FALLBACK: Ladder = Ladder::of_kinds([
    InterventionKind::SoftCorrection,
    InterventionKind::ContextReinforcement,
    InterventionKind::CheckpointRollback,
    InterventionKind::CheckpointRollback,
]);

impl Ladder {
    const fn of_kinds([low, medium, high, critical]: [InterventionKind; 4]) -> Self {
        Self([
            LadderAnswer::of_kind(low),
            LadderAnswer::of_kind(medium),
            LadderAnswer::of_kind(high),
            LadderAnswer::of_kind(critical),
        ])
    }

    /// Creates a ladder; `None` if an answer is milder than the one before it.
    #[must_use]
    pub fn new(answers: [LadderAnswer; 4]) -> Option<Self> {
        answers.is_sorted_by_key(|answer| answer.kind).then_some(Self(answers))
    }

    /// Creates a ladder of the kinds' usual plugins; `None` if one is milder than the one before
    /// it.
    #[must_use]
    pub fn from_kinds(kinds: [InterventionKind; 4]) -> Option<Self> {
        Self::new(kinds.map(LadderAnswer::of_kind))
    }

    /// Returns the answer in a column, 0 to 3; the last one for a higher column.
    #[must_use]
    pub const fn answer_at(&self, column: usize) -> &LadderAnswer {
        let [low, medium, high, critical] = &self.0;
        match column {
            0 => low,
            1 => medium,
            2 => high,
            _ => critical,
        }
    }

    /// Returns all four answers.
    #[must_use]
    pub const fn answers(&self) -> &[LadderAnswer; 4] {
        &self.0
    }

    /// Returns the kinds of all four answers.
    #[must_use]
    pub fn kinds(&self) -> [InterventionKind; 4] {
        self.0.each_ref().map(|answer| answer.kind)
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
    BUILTIN.iter().map(|(name, kinds)| ((*name).to_owned(), Ladder::of_kinds(*kinds))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_default_ladder_goes_down() {
        for (name, ladder) in default_ladders() {
            assert_eq!(Ladder::new(ladder.answers().clone()), Some(ladder), "{name}");
        }
        assert_eq!(Ladder::new(FALLBACK.answers().clone()).as_ref(), Some(&FALLBACK));
    }

    #[test]
    fn an_answer_has_a_kind_and_perhaps_a_plugin() {
        for (text, kind, plugin) in [
            ("soft_correction", Some("soft_correction"), None),
            ("emergency_stop:mine", Some("emergency_stop"), Some("mine")),
            ("soft_correction:", None, None),
            ("stop", None, None),
            ("stop:mine", None, None),
            (":mine", None, None),
            ("", None, None),
        ] {
            let answer = LadderAnswer::parse_answer(text);
            let found = answer.as_ref().map(|answer| answer.kind.as_str());
            assert_eq!(found, kind, "{text}");
            let Some(answer) = answer else { continue };
            assert_eq!((answer.plugin.as_deref(), answer.name().as_str()), (plugin, text));
            assert_eq!(Some(LadderAnswer::kind_in(text)), kind);
        }
    }
}
