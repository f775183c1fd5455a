//! Plugins as they were before a change that failed its trial. They review beside the changed ones,
//! and the stricter outcome counts: so a change is never milder than what it replaced, and never
//! milder than it is itself.

use super::{PluginOrigin, ReviewContext, Reviewer};
use crate::compiler::Processes;
use portcullis_core::action::StepDetail;
use portcullis_core::event::{Disposition, Event};
use portcullis_core::pipeline::ReviewOutcome;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The earlier plugins, which all reviewers with the changed ones share.
pub(crate) type EarlierReviewer = Arc<Mutex<Reviewer>>;

impl Reviewer {
    /// Lets the earlier plugins review beside its own.
    pub(crate) fn review_beside(&mut self, earlier: EarlierReviewer) {
        self.earlier = Some(earlier);
    }

    /// Returns true if earlier plugins review beside its own.
    pub(crate) const fn has_earlier(&self) -> bool {
        self.earlier.is_some()
    }

    /// Replaces its origin by an equal one that others have, so that both are the same at a glance.
    pub(crate) fn share_origin(&mut self, origin: &Arc<PluginOrigin>) {
        self.origin = Arc::clone(origin);
    }

    /// Reviews an event with its own plugins and with the earlier ones.
    pub(super) fn review_with_earlier(
        &mut self,
        earlier: &EarlierReviewer,
        event: &Event,
        state: State,
        now: u64,
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
    ) -> ReviewOutcome {
        let before = {
            let mut earlier = lock_earlier(earlier);
            earlier.places.clone_from(&self.places);
            earlier.plugins.with_compiler(Arc::new(Processes::of_hook()));
            earlier.review_with_observer(event, state.clone(), now, around, details, None)
        };
        let after = self.review_with_observer(event, state, now, around, details, None);
        if strictness(&before) > strictness(&after) { before } else { after }
    }
}

/// Waits for the earlier plugins, which serve one review at a time. A panic leaves none of them
/// half-changed.
pub(crate) fn lock_earlier(earlier: &Mutex<Reviewer>) -> MutexGuard<'_, Reviewer> {
    earlier.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns how strict an outcome is: first by the ruling that the client gets, then by the verdict.
fn strictness(outcome: &ReviewOutcome) -> (u8, Option<Verdict>) {
    let ruling = match outcome.reply.ruling {
        Disposition::None => 0,
        Disposition::Rewrite(_) => 1,
        Disposition::Ask(_) => 2,
        Disposition::Refuse(_) => 3,
        Disposition::Stop(_) => 4,
    };
    (ruling, outcome.records.iter().filter_map(portcullis_core::record::Record::verdict).max())
}
