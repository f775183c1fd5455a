//! What would be decided if git could give back what an action hits: the plugins are asked once more, with
//! that alone changed of what was seen of the workspace.

use crate::recording::{self, Item};
use crate::runtime::{Circumstances, Reviewer};
use portcullis_core::action::{Entry, GitState};
use portcullis_core::event::EventKind;
use portcullis_core::observe::Observations;
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use serde::Serialize;

/// Another verdict, if these were clean in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restorable {
    /// What would have to be clean.
    pub paths: Vec<String>,
    /// What would be decided.
    pub verdict: Verdict,
}

/// The other verdict; none where there is none, or where the review comes out otherwise by itself: with
/// other plugins, or without its session.
pub fn restorable(record: &Record, reviewer: &mut Reviewer) -> Option<Restorable> {
    let decided = record.verdict().filter(|verdict| *verdict > Verdict::Allow)?;
    let mut parsed = recording::parse(&record.document(), "record").ok()?;
    let item = parsed.pop()?.items.pop().filter(|item| matches!(item.event.kind, EventKind::BeforeTool(_)))?;
    let seen = item.seen.as_ref().map(|seen| seen.observed.clone())?;
    let (clean, paths) = clean(&seen);
    if paths.is_empty() || again(&item, &seen, reviewer)? != decided {
        return None;
    }
    let verdict = again(&item, &clean, reviewer)?;
    (verdict < decided).then_some(Restorable { paths, verdict })
}

fn again(item: &Item, seen: &Observations, reviewer: &mut Reviewer) -> Option<Verdict> {
    let home = item.seen.as_ref().and_then(|seen| seen.home.as_deref());
    let around = Circumstances { seen: Some(seen), home, ..Circumstances::default() };
    reviewer.review(&item.event, State::default(), item.at, &around, &|_| None).records.first()?.verdict()
}

/// The same workspace with all that is there clean in git, and what that changes.
fn clean(seen: &Observations) -> (Observations, Vec<String>) {
    let (mut clean, mut paths) = (seen.clone(), Vec::new());
    for (path, observed) in &mut clean {
        let there = matches!(observed.entry, Entry::File | Entry::Folder);
        if there && !(observed.git == GitState::Clean && observed.restorable) {
            (observed.git, observed.restorable) = (GitState::Clean, true);
            paths.push(path.clone());
        }
    }
    (clean, paths)
}
