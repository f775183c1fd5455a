//! Saves the files that an action may change before it runs, and makes the verdict stricter for
//! permanent losses. After it, restores files if an intervention requires it.

use super::Run;
use super::before::{sentence, summary};
use super::judge::CallReview;
use crate::action::{Facts, Status};
use crate::event::Call;
use crate::finding::{Checkpoint, Response, Situation};
use crate::record::{RecordedCheckpoint, RecordedRestore};
use crate::recover::{Recovery, RecoveryOutcome};
use crate::score::{Score, Verdict};
use crate::undo::{OnFailure, PendingAction};

impl Run<'_, '_> {
    /// Saves the files that the call may change, and makes its verdict stricter for those that
    /// would be lost. The decision stays for an action that a person allowed, that runs already, or
    /// that was changed into a safer form (`runs_as`).
    pub(super) fn take_checkpoint(
        &self,
        call: &Call,
        judged: &mut CallReview,
        runs_as: Option<&Facts>,
        excepted: bool,
    ) -> Option<RecordedCheckpoint> {
        // A blocked action runs in observe mode only, and there it can lose files too.
        if judged.decision.verdict == Verdict::Block && !self.observing() {
            return None;
        }
        let action = &judged.understood.action;
        let mut kept = self.ports.undo.keep(&PendingAction {
            // In observe mode the call runs as received, whatever rewrite was accepted.
            facts: runs_as.filter(|_| !self.observing()).unwrap_or(&action.facts),
            review: &action.id,
            call: call.id.as_deref(),
            summary: &summary(action),
            masked: &judged.understood.mask.placeholders(),
            roots: &self.state.session.roots,
        })?;
        kept.mask_texts(&|text| self.settings.masker.build_mask(&[text]).apply_to(text));
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
            judged.decision.tighten_for_loss(what.clone(), to);
        }
        Some(kept)
    }

    /// Returns the session's checkpoints, with the success of the agent's steps before each.
    pub(super) fn checkpoints(&self) -> Vec<Checkpoint> {
        let kept = self.ports.undo.kept().into_iter().take(MOST_CHECKPOINTS);
        kept.map(|kept| Checkpoint {
            success_rate: self.success_before(kept.step),
            id: kept.id,
            step: kept.step,
            at: kept.at,
            unsafe_because: None,
        })
        .collect()
    }

    /// Returns the share of the steps before it that succeeded; the maximum if none ended.
    fn success_before(&self, step: u64) -> Score {
        let before = self.state.agent.steps.iter().rev().filter(|known| known.index < step);
        let done: Vec<bool> =
            before.filter_map(|known| ended_well(known.status)).take(RECENT).collect();
        let well = done.iter().filter(|well| **well).count();
        Score::new(
            u16::try_from((well * 1000).checked_div(done.len()).unwrap_or(1000)).unwrap_or(1000),
        )
    }

    /// Restores files if the answer is a return to a checkpoint, the action is over, and the
    /// operator enabled it.
    pub(super) fn restore_checkpoint(
        &mut self,
        recovery: Recovery,
        response: &Response,
        (situation, over): (&Situation, bool),
    ) -> (Recovery, Option<RecordedRestore>) {
        let wanted = self.settings.policy.interventions.auto_rollback
            && over
            && recovery.outcome == RecoveryOutcome::Restore;
        let (true, Response::Rollback { checkpoint, guidance }) = (wanted, response) else {
            return (recovery, None);
        };
        let mut restored = self.ports.undo.restore(checkpoint);
        restored.mask_texts(&|text| self.settings.masker.build_mask(&[text]).apply_to(text));
        let first = situation.checkpoints.iter().find(|known| known.id == *checkpoint);
        if let Some(first) = first.filter(|_| restored.problem.is_none()).map(|known| known.step) {
            let session = &mut self.state.session;
            restored.steps = Some((first, situation.step));
            restored.still_done =
                session.list_lasting(first).iter().map(|one| one.describe_action()).collect();
            let before = session.return_to(first);
            restored.limits = session.describe_changes(&before);
            // Those that the answer itself sets hold from now on.
            session.tighten_limits_at(situation.step, &guidance.limits);
        }
        (recovery.note_restored(&restored), Some(restored))
    }
}

/// The most checkpoints that an intervention gets, as the WIT package says.
const MOST_CHECKPOINTS: usize = 16;
/// The number of steps over which success is measured.
const RECENT: usize = 20;

const fn ended_well(status: Status) -> Option<bool> {
    match status {
        Status::Ok => Some(true),
        Status::Failed => Some(false),
        Status::Pending | Status::Refused => None,
    }
}
