//! The set of plugins that each project was reviewed with last, and a change that failed its trial.

use super::trial::TrialVerdicts;
use crate::reviewer::{EarlierReviewer, PluginOrigin, Reviewer, lock_earlier};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The most projects that are remembered.
const MOST_SETS: usize = 64;

/// The sets of a process, the one that was met last at the end.
#[derive(Default)]
pub(super) struct PluginSets(Vec<ProjectSet>);

/// The place that a set of plugins reviews for: the state folder and the project.
pub(super) type SetPlace = (PathBuf, Option<PathBuf>);

struct ProjectSet {
    place: SetPlace,
    /// What the plugins were made of.
    origin: Arc<PluginOrigin>,
    held_back: Option<HeldBackChange>,
}

/// A change of plugins that failed its trial.
struct HeldBackChange {
    origin: Arc<PluginOrigin>,
    earlier: EarlierReviewer,
    /// The objections to it. Each completes the sentence "plugins have changed and".
    objections: Vec<String>,
    /// True if a plugin could not be loaded, so that it is tried again.
    is_undecided: bool,
}

impl PluginSets {
    /// Tries a reviewer that was just made, if only the code of its plugins has changed, and lets
    /// the earlier plugins review beside it if the trial fails. `take_earlier` returns an idle
    /// reviewer that was made of the same as the accepted one. If all are busy, nothing is decided
    /// yet.
    pub(super) fn try_reviewer(
        &mut self,
        place: SetPlace,
        reviewer: &mut Reviewer,
        take_earlier: impl FnOnce(&PluginOrigin) -> Option<Reviewer>,
    ) {
        let origin = reviewer.origin();
        let Some(set) = self.0.iter_mut().find(|set| set.place == place) else {
            if self.0.len() >= MOST_SETS {
                self.0.remove(0);
            }
            self.0.push(ProjectSet { place, origin, held_back: None });
            return;
        };
        if set.origin == origin {
            reviewer.share_origin(&set.origin);
            return;
        }
        let is_decided = |held: &&HeldBackChange| held.origin == origin && !held.is_undecided;
        if let Some(held) = set.held_back.as_ref().filter(is_decided) {
            reviewer.share_origin(&held.origin);
            reviewer.review_beside(Arc::clone(&held.earlier));
            return;
        }
        if !set.origin.differs_in_code_alone(&origin) {
            (set.origin, set.held_back) = (origin, None);
            return;
        }
        // An earlier change that was held back has the accepted plugins already.
        let kept = set.held_back.as_ref().map(|held| Arc::clone(&held.earlier));
        let Some(earlier) = kept.or_else(|| Some(Arc::new(Mutex::new(take_earlier(&set.origin)?))))
        else {
            return;
        };
        let changed = TrialVerdicts::of_plugins(reviewer);
        let is_undecided = reviewer.plugins.has_failed_loads();
        let objections = if is_undecided {
            vec!["cannot be loaded".to_owned()]
        } else {
            TrialVerdicts::of_plugins(&mut lock_earlier(&earlier)).find_objections(&changed)
        };
        if objections.is_empty() {
            (set.origin, set.held_back) = (origin, None);
        } else {
            reviewer.review_beside(Arc::clone(&earlier));
            set.held_back = Some(HeldBackChange { origin, earlier, objections, is_undecided });
        }
    }

    /// Returns true if a reviewer of that origin need not be tried any more.
    pub(super) fn is_settled(&self, origin: &Arc<PluginOrigin>) -> bool {
        self.0.iter().any(|set| {
            let held = set.held_back.as_ref().map(|held| &held.origin);
            Arc::ptr_eq(&set.origin, origin) || held.is_some_and(|held| Arc::ptr_eq(held, origin))
        })
    }

    /// Describes the changes that are held back, one line each.
    pub(super) fn describe_held_back(&self) -> Vec<String> {
        let held = self.0.iter().filter_map(|set| Some((set, set.held_back.as_ref()?)));
        let describe = |(set, held): (&ProjectSet, &HeldBackChange)| {
            let project = set.place.1.as_ref().map(|folder| folder.display().to_string());
            format!(
                "in `{}` plugins have changed and {}",
                project.as_deref().unwrap_or("no project"),
                held.objections.join("; and ")
            )
        };
        held.map(describe).collect()
    }
}
