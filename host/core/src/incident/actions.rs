//! The actions of a session, as its records tell of them.

use crate::action::{Status, Timestamp};
use crate::record::{Record, RecordKind};
use crate::score::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

crate::score::named! {
    /// How far an action came.
    Progress {
        /// It was refused, or nobody approved it.
        Refused => "refused",
        /// It ran and ended well.
        Ended => "ended",
        /// It ran and failed.
        Failed => "failed",
        /// Its end is not known.
        Open => "open",
    }
}

/// One action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastAction {
    /// When it was reviewed.
    pub at: Timestamp,
    /// Its step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u64>,
    /// The subagent, if one acted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// What was decided; none where nobody reviewed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// How far it came.
    pub progress: Progress,
    /// In one line.
    pub what: String,
    /// The record of its review.
    pub review: String,
}

/// A record that tells of an action, with how far that came.
pub(super) struct Acted<'r> {
    /// The record.
    pub record: &'r Record,
    /// How far.
    pub progress: Progress,
}

impl Acted<'_> {
    /// It ran, as far as anybody knows.
    pub(super) fn ran(&self) -> bool {
        self.progress != Progress::Refused
    }
}

/// Every action, oldest first.
pub(super) fn acted(records: &[Record]) -> Vec<Acted<'_>> {
    let ends = records.iter().filter(|record| record.outcome.is_some());
    let ends: BTreeMap<(Option<&str>, Option<u64>), &Record> = ends.map(|record| (key(record), record)).collect();
    let reviewed: BTreeSet<_> = records.iter().filter(|record| record.kind == RecordKind::Review).map(key).collect();
    // An action that was blocked and ran all the same has a record of each kind.
    let alone = |record: &Record| record.step.is_none() || !reviewed.contains(&key(record));
    let tells = |record: &&Record| record.kind == RecordKind::Review || record.kind == RecordKind::Unreviewed && alone(record);
    let progress = |record: &Record| match ends.get(&key(record)).and_then(|end| end.outcome.as_ref()) {
        Some(outcome) if outcome.status == Status::Failed => Progress::Failed,
        Some(_) => Progress::Ended,
        None if record.verdict().is_some_and(|verdict| verdict >= Verdict::Ask) => Progress::Refused,
        None => Progress::Open,
    };
    records.iter().filter(tells).map(|record| Acted { record, progress: progress(record) }).collect()
}

/// Every action in a line, oldest first.
pub(super) fn all(records: &[Record]) -> Vec<PastAction> {
    let told = |acted: &Acted<'_>| PastAction {
        at: acted.record.at,
        step: acted.record.step,
        agent: acted.record.agent.clone(),
        verdict: acted.record.verdict(),
        progress: acted.progress,
        what: acted.record.summary.clone(),
        review: acted.record.id.clone(),
    };
    acted(records).iter().map(told).collect()
}

/// What a review and its outcome share.
fn key(record: &Record) -> (Option<&str>, Option<u64>) {
    (record.agent.as_deref(), record.step)
}
