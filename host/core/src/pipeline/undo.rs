//! Before an action runs: what it may change is kept, and what is lost for good counts against it.

use super::Run;
use super::before::{sentence, summary};
use super::judge::Judged;
use crate::action::Facts;
use crate::event::Call;
use crate::record::RecordedCheckpoint;
use crate::score::Verdict;
use crate::undo::{Coming, OnFailure};

impl Run<'_, '_> {
    /// Has kept what the call may change, and holds against it what would be lost. What a person allowed, what runs
    /// already, and what was changed into a safer form (`runs_as`) stays as it was decided.
    pub(super) fn keep(&self, call: &Call, judged: &mut Judged, runs_as: Option<&Facts>, excepted: bool) -> Option<RecordedCheckpoint> {
        if judged.decision.verdict == Verdict::Block && !self.observing() {
            return None;
        }
        let action = &judged.understood.action;
        let mut kept = self.ports.undo.keep(&Coming {
            facts: runs_as.filter(|_| !self.observing()).unwrap_or(&action.facts),
            review: &action.id,
            call: call.id.as_deref(),
            summary: &summary(action),
            masked: &judged.understood.mask.placeholders(),
            roots: &self.state.session.roots,
        })?;
        kept.mask(&|text| self.settings.masker.mask(&[text]).apply(text));
        let to = match self.settings.policy.on_failure {
            OnFailure::Ignore => None,
            OnFailure::Warn => Some(Verdict::Warn),
            OnFailure::Ask => Some(Verdict::Ask),
        };
        let spared = excepted || judged.provisional || runs_as.is_some();
        if let (Some(what), Some(to), false) = (&kept.irreversible, to, spared) {
            if judged.decision.verdict >= to {
                judged.note.push_str(&format!(" Also, {}", sentence(what)));
            }
            judged.decision.cannot_be_undone(what.clone(), to);
        }
        Some(kept)
    }
}
