//! The changes and the resource usage of a session up to its stop.

use super::IncidentState;
use super::actions::{ActionRecord, list_actions};
use crate::action::{EffectKind, Entry, Limit, Timestamp, Totals};
use crate::record::Record;
use crate::score::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most paths of each kind that are named.
const NAMED: usize = 100;

/// The session's impact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Impact {
    /// Files that commands and tools created, changed, deleted or moved away, as far as that was
    /// known in advance.
    pub files: Files,
    /// The number of paths that changed according to checkpoints, including those not known in
    /// advance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen_to_change: Option<u64>,
    /// Other machines that were reached.
    pub hosts: Vec<String>,
    /// Actions that were refused.
    pub refused: u64,
    /// The totals: steps, files, bytes, tokens, time of actions.
    pub used: Totals,
    /// Limits, and their usage for the newest prompt.
    pub limits: Vec<Limit>,
    /// From the session's beginning to its stop, in milliseconds.
    pub duration_ms: u64,
}

/// Paths by the change to them, the first 100 of each kind in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Files that did not exist before.
    pub made: Vec<String>,
    /// Files that existed.
    pub changed: Vec<String>,
    /// Files that no longer exist.
    pub deleted: Vec<String>,
    /// Files moved into a quarantine instead of being deleted.
    pub quarantined: Vec<String>,
    /// The number of all paths.
    pub total: u64,
}

/// Returns the impact of a session up to its stop.
pub(super) fn impact(state: &IncidentState, at: Timestamp, records: &[Record]) -> Impact {
    let acted = list_actions(records);
    let ran = || acted.iter().filter(|one| one.ran());
    let hosts: BTreeSet<String> = ran()
        .flat_map(|one| &one.record.action)
        .flat_map(|action| action.facts.hosts.iter().cloned())
        .collect();
    let changed: Vec<u64> =
        records.iter().filter_map(|record| record.checkpoint.as_ref()?.changed).collect();
    Impact {
        files: files(&acted),
        seen_to_change: (!changed.is_empty()).then(|| changed.iter().sum()),
        hosts: hosts.into_iter().take(NAMED).collect(),
        refused: acted
            .iter()
            .filter(|one| one.record.verdict().is_some_and(|verdict| verdict >= Verdict::Ask))
            .count() as u64,
        used: state.totals,
        limits: state.limits.clone(),
        duration_ms: at.saturating_sub(state.started),
    }
}

fn files(acted: &[ActionRecord<'_>]) -> Files {
    let [mut made, mut changed, mut deleted, mut quarantined] = [const { BTreeSet::new() }; 4];
    for one in acted.iter().filter(|one| one.ran()) {
        let moved = one.record.quarantined.iter().map(|moved| moved.from.clone());
        quarantined.extend(moved);
        let Some(action) = &one.record.action else { continue };
        for effect in action.facts.effects.iter().filter(|effect| effect.kind.changes_files()) {
            let path = effect.path.and_then(|index| action.facts.paths.get(index as usize));
            let Some(path) = path.filter(|_| !effect.target.is_empty()) else { continue };
            match effect.kind {
                EffectKind::FileDelete
                    if one.record.quarantined.iter().any(|moved| moved.from == path.text) =>
                {
                    continue;
                }
                EffectKind::FileDelete => deleted.insert(path.text.clone()),
                _ if path.entry == Entry::Absent => made.insert(path.text.clone()),
                _ if made.contains(&path.text) => continue,
                _ => changed.insert(path.text.clone()),
            };
        }
    }
    let total = [&made, &changed, &deleted, &quarantined].iter().map(|set| set.len() as u64).sum();
    let first = |set: BTreeSet<String>| set.into_iter().take(NAMED).collect();
    Files {
        made: first(made),
        changed: first(changed),
        deleted: first(deleted),
        quarantined: first(quarantined),
        total,
    }
}
