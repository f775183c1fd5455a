//! Going back to a checkpoint: what a session has to know of the steps after it.
//!
//! Files go back by themselves. The limits return to those that held then, and the agent gets a
//! list of the steps with effects beyond files.

use super::{Session, push};
use crate::action::{EffectKind, Facts, Limit, Quantity};
use crate::own_files::OwnFiles;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// Changes of limits that are kept.
const CHANGES: usize = 16;
/// Actions with effects beyond files that are kept, and the most bytes of each.
const LASTING: (usize, usize) = (48, 100);

/// A change of the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitChange {
    /// The step at which it was made.
    pub step: u64,
    /// The limits before it.
    pub before: Vec<(Quantity, u64)>,
}

/// An action with effects that no file holds, so that going back leaves them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastingAction {
    /// Its step.
    pub step: u64,
    /// The action in one line, masked.
    pub action: String,
    /// The kinds of its effects, the gravest first.
    pub effects: Vec<EffectKind>,
}

/// The effects that files cannot undo, the gravest first, each in words.
const BEYOND_FILES: &[(EffectKind, &str)] = &[
    (EffectKind::RemoteDelete, "deleted something on another machine"),
    (EffectKind::Publish, "published"),
    (EffectKind::RemoteChange, "changed something on another machine"),
    (EffectKind::Send, "sent data"),
    (EffectKind::SystemChange, "changed the system"),
    (EffectKind::Persistence, "set something up that starts later"),
    (EffectKind::ProcessStop, "ended a process"),
    (EffectKind::UnseenCode, "ran code from elsewhere"),
    (EffectKind::Network, "used the network"),
    (EffectKind::ProcessStart, "started a program"),
];

impl LastingAction {
    /// Formats it: `step 4, git push origin main (published)`.
    #[must_use]
    pub fn describe_action(&self) -> String {
        let words = BEYOND_FILES.iter().filter(|(kind, _)| self.effects.contains(kind));
        let words: Vec<&str> = words.map(|(_, words)| *words).collect();
        format!("step {}, `{}` ({})", self.step, self.action, words.join(", "))
    }

    fn rank(&self) -> usize {
        let graver = |(kind, _): &(EffectKind, &str)| self.effects.contains(kind);
        BEYOND_FILES.iter().position(graver).unwrap_or(BEYOND_FILES.len())
    }
}

impl Session {
    /// Adopts limits that are stricter than those in force, and remembers the earlier ones.
    pub fn tighten_limits_at(&mut self, step: u64, limits: &[Limit]) {
        let before = self.limits.clone();
        self.tighten_limits(limits);
        self.note_limit_change(step, &before);
    }

    /// Remembers the limits before a change of them.
    pub(super) fn note_limit_change(&mut self, step: u64, before: &[Limit]) {
        let maxima = |limits: &[Limit]| -> Vec<(Quantity, u64)> {
            limits.iter().map(|limit| (limit.quantity.clone(), limit.maximum)).collect()
        };
        let before = maxima(before);
        if before != maxima(&self.limits) {
            push(&mut self.limit_changes, LimitChange { step, before }, CHANGES);
        }
    }

    /// Remembers what an action did that no file holds. `action` is masked.
    pub fn note_lasting(&mut self, step: u64, action: &str, facts: &Facts) {
        let done = |kind: &EffectKind| facts.effects.iter().any(|effect| effect.kind == *kind);
        let kinds = BEYOND_FILES.iter().map(|(kind, _)| kind).filter(|kind| done(kind));
        let effects: Vec<EffectKind> = kinds.cloned().collect();
        if !effects.is_empty() {
            let action = one_line(action, LASTING.1);
            push(&mut self.lasting, LastingAction { step, action, effects }, LASTING.0);
        }
    }

    /// Returns the session to a checkpoint after its files were restored: the limits are those that
    /// held before its step, and their usage restarts. Returns the limits that this changed, as
    /// they were.
    pub fn return_to(&mut self, step: u64) -> Vec<Limit> {
        // A file of the agent's own may be somebody else's again.
        self.own_files = OwnFiles::default();
        let first = self.limit_changes.iter().position(|change| change.step >= step);
        let before = first.map(|first| self.limit_changes.split_off(first));
        let mut changed = Vec::new();
        if let Some(LimitChange { before, .. }) = before.as_ref().and_then(|later| later.front()) {
            let held = |limit: &Limit| {
                before
                    .iter()
                    .find(|(quantity, _)| *quantity == limit.quantity)
                    .map(|(_, most)| *most)
            };
            changed = self
                .limits
                .iter()
                .filter(|limit| held(limit) != Some(limit.maximum))
                .cloned()
                .collect();
            self.limits.retain(|limit| held(limit).is_some());
            for limit in &mut self.limits {
                limit.maximum = held(limit).unwrap_or(limit.maximum);
            }
        }
        self.restart_usage();
        changed
    }

    /// Returns what the steps since one did that no file holds, the gravest first.
    #[must_use]
    pub fn list_lasting(&self, since: u64) -> Vec<&LastingAction> {
        let mut listed: Vec<&LastingAction> =
            self.lasting.iter().filter(|one| one.step >= since).collect();
        listed.sort_by_key(|one| (one.rank(), one.step));
        listed
    }
}
