//! The actions of a session, read from its records.

use crate::action::{Status, Timestamp};
use crate::record::{Record, RecordKind};
use crate::score::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

crate::score::named! {
    /// The progress of an action.
    ActionProgress {
        /// It was refused, or nobody approved it.
        Refused => "refused",
        /// It ran and succeeded.
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
    /// The time of its review.
    pub at: Timestamp,
    /// Its step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u64>,
    /// The subagent, if one acted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The verdict; none if it was not reviewed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// Its progress.
    pub progress: ActionProgress,
    /// A description in one line.
    pub what: String,
    /// The record of its review.
    pub review: String,
}

/// A record of an action, with the action's progress.
pub(super) struct ActionRecord<'r> {
    /// The record.
    pub record: &'r Record,
    /// The action's progress.
    pub progress: ActionProgress,
}

impl ActionRecord<'_> {
    /// Returns true if it ran, as far as is known.
    pub(super) fn ran(&self) -> bool {
        self.progress != ActionProgress::Refused
    }
}

/// Returns every action, oldest first.
pub(super) fn list_actions(records: &[Record]) -> Vec<ActionRecord<'_>> {
    let ends = records.iter().filter(|record| record.outcome.is_some());
    let ends: BTreeMap<(Option<&str>, Option<u64>), &Record> =
        ends.map(|record| (key(record), record)).collect();
    let reviewed: BTreeSet<_> =
        records.iter().filter(|record| record.kind == RecordKind::Review).map(key).collect();
    // An action that ran although it was blocked has a record of each kind.
    let alone = |record: &Record| record.step.is_none() || !reviewed.contains(&key(record));
    let tells = |record: &&Record| {
        record.kind == RecordKind::Review || record.kind == RecordKind::Unreviewed && alone(record)
    };
    let progress =
        |record: &Record| match ends.get(&key(record)).and_then(|end| end.outcome.as_ref()) {
            Some(outcome) if outcome.status == Status::Failed => ActionProgress::Failed,
            Some(outcome) if outcome.status == Status::Refused => ActionProgress::Refused,
            Some(_) => ActionProgress::Ended,
            None if record.verdict().is_some_and(|verdict| verdict >= Verdict::Ask) => {
                ActionProgress::Refused
            }
            None => ActionProgress::Open,
        };
    records
        .iter()
        .filter(tells)
        .map(|record| ActionRecord { record, progress: progress(record) })
        .collect()
}

/// Returns every action in one line, oldest first.
pub(super) fn all(records: &[Record]) -> Vec<PastAction> {
    let to_past_action = |acted: &ActionRecord<'_>| PastAction {
        at: acted.record.at,
        step: acted.record.step,
        agent: acted.record.agent.clone(),
        verdict: acted.record.verdict(),
        progress: acted.progress,
        what: acted.record.summary.clone(),
        review: acted.record.id.clone(),
    };
    list_actions(records).iter().map(to_past_action).collect()
}

/// Returns the key that a review and its outcome share.
fn key(record: &Record) -> (Option<&str>, Option<u64>) {
    (record.agent.as_deref(), record.step)
}
