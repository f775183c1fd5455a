//! The verdict that an action would get if git could restore what it affects: the plugins are
//! called once more, with only that part of the observed workspace changed.

use portcullis_core::action::{Entry, GitState};
use portcullis_core::event::EventKind;
use portcullis_core::observe::Observations;
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_review::recording::{self, RecordedEvent};
use portcullis_review::reviewer::{Disk, ReviewContext, Reviewer};
use serde::Serialize;

/// Another verdict, if these paths were clean in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatIfClean {
    /// The paths that would have to be clean.
    pub paths: Vec<String>,
    /// The verdict in that case.
    pub verdict: Verdict,
}

/// Returns the other verdict; `None` if the verdict stays the same, or if the review cannot be
/// reproduced: with other plugins, or without its session.
pub fn verdict_if_clean(record: &Record, reviewer: &mut Reviewer) -> Option<WhatIfClean> {
    let decided = record.verdict().filter(|verdict| *verdict > Verdict::Allow)?;
    let mut parsed = recording::parse_recordings(&record.document(), "record").ok()?;
    let item = parsed
        .pop()?
        .items
        .pop()
        .filter(|item| matches!(item.event.kind, EventKind::BeforeTool(_)))?;
    let seen = item.seen.as_ref().map(|seen| seen.observed.clone())?;
    let (clean, paths) = clean(&seen);
    if paths.is_empty() || again(&item, &seen, reviewer)? != decided {
        return None;
    }
    let verdict = again(&item, &clean, reviewer)?;
    (verdict < decided).then_some(WhatIfClean { paths, verdict })
}

fn again(item: &RecordedEvent, seen: &Observations, reviewer: &mut Reviewer) -> Option<Verdict> {
    let home = item.seen.as_ref().and_then(|seen| seen.home.as_deref());
    let around = ReviewContext { disk: Disk::Recorded(seen), home, ..ReviewContext::default() };
    reviewer
        .review_event(&item.event, State::default(), item.at, &around, &|_| None)
        .records
        .first()?
        .verdict()
}

/// Returns the same workspace with all existing paths clean in git, and the changed paths.
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
