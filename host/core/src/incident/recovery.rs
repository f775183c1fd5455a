//! The recovery options after a stop, as commands for a person, and the leftovers of a permanent
//! end.

use super::actions::{ActionRecord, list_actions};
use crate::action::{EffectKind, Entry};
use crate::client::ClientProfile;
use crate::facts::runs_in_background;
use crate::finding::{Issue, Response};
use crate::record::Record;
use crate::session::ResumeConditions;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The most paths that are kept.
const NAMED: usize = 1000;

/// One recovery option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryOption {
    /// Its name.
    pub option: String,
    /// The command that a person runs.
    pub command: String,
    /// A description of its effect.
    pub what: String,
    /// The reason that it is unavailable, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_now: Option<String>,
    /// The checkpoint that files are restored from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<String>,
    /// The reason for that choice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub because: Option<String>,
}

/// The leftovers if a session ends permanently. All of it comes from the session's records, and has
/// to be checked before anything is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleanup {
    /// Files that the agent created where none existed, by path.
    pub made: Vec<String>,
    /// Commands that were started in the background.
    pub background: Vec<String>,
    /// Checkpoints kept for the session's actions, oldest first.
    pub checkpoints: Vec<String>,
    /// Quarantined paths: the reviews' ids, oldest first.
    pub quarantined: Vec<String>,
}

/// Returns the four recovery options.
pub(super) fn recovery_options(id: &str, issue: &Issue, records: &[Record]) -> Vec<RecoveryOption> {
    let target = rollback_to(issue, records);
    let back = match &target {
        Some(RollbackTarget { id, before, because }) => {
            let to = before.map_or_else(
                || format!("at the checkpoint {}", one_line(id, 64)),
                |it| format!("before `{}`", one_line(it, 120)),
            );
            format!(
                "put the files back as they were {to} ({because}), then let the session go on as before"
            )
        }
        None => "put the files back, then let the session go on as before".to_owned(),
    };
    let (checkpoint, because) = target.map(|target| (target.id.to_owned(), target.because)).unzip();
    let not_now =
        checkpoint.is_none().then(|| "no checkpoint was taken of what the session did".to_owned());
    let way = |terms: ResumeConditions, verb: &str, what: &str| RecoveryOption {
        option: terms.as_str().into(),
        command: format!("portcullis incident {verb} {id}"),
        what: what.into(),
        not_now: None,
        checkpoint: None,
        because: None,
    };
    vec![
        way(
            ResumeConditions::Limited,
            "resume",
            "go on with half of each limit, and refuse what does more than read and write files of the project",
        ),
        RecoveryOption {
            not_now,
            checkpoint,
            because,
            ..way(ResumeConditions::RolledBack, "rollback", &back)
        },
        way(
            ResumeConditions::Supervised,
            "supervise",
            "go on; you approve each write, deletion and command, reading needs no approval",
        ),
        way(
            ResumeConditions::Aborted,
            "abort",
            "leave it stopped permanently, and list what to clean up",
        ),
    ]
}

/// The target of a rollback.
struct RollbackTarget<'r> {
    id: &'r str,
    /// The action, in one line, that it undoes together with everything after it; none if that is
    /// no longer known.
    before: Option<&'r str>,
    because: String,
}

/// Returns the checkpoint that an intervention for this issue chose, since that one considered
/// safety. Otherwise returns that of the first action since the issue began, and if none of these
/// changed files, that of the newest action before it.
fn rollback_to<'r>(issue: &Issue, records: &'r [Record]) -> Option<RollbackTarget<'r>> {
    let ran = list_actions(records).into_iter().filter(ActionRecord::ran).map(|one| one.record);
    let kept = |record: &'r Record| {
        Some((record.step?, record.checkpoint.as_ref()?.id.as_deref()?, record.summary.as_str()))
    };
    let kept: Vec<(u64, &str, &str)> = ran.filter_map(kept).collect();
    if let Some((kind, step, id)) = records.iter().rev().find_map(|record| chosen(issue, record)) {
        let before = kept.iter().find(|(_, kept, _)| *kept == id).map(|(.., before)| *before);
        let step = step.map(|step| format!(" at step {step}")).unwrap_or_default();
        return Some(RollbackTarget {
            id,
            before,
            because: format!("the intervention {kind}{step} chose that checkpoint"),
        });
    }
    if let Some((_, id, before)) = kept.iter().find(|(step, ..)| *step >= issue.first_step) {
        let because = "the first action since it began of which a checkpoint was taken".to_owned();
        return Some(RollbackTarget { id, before: Some(before), because });
    }
    let because =
        "no checkpoint was taken since it began, so that of the newest action before it".to_owned();
    kept.last().map(|(_, id, before)| RollbackTarget { id, before: Some(before), because })
}

/// Returns the checkpoint that a record's intervention for this issue goes back to, after its kind
/// and step.
fn chosen<'r>(issue: &Issue, record: &'r Record) -> Option<(&'r str, Option<u64>, &'r str)> {
    let intervention =
        record.intervention.as_ref().filter(|intervention| intervention.issue == issue.name)?;
    let Response::Rollback { checkpoint, .. } = &intervention.response else { return None };
    Some((&intervention.kind, record.step, checkpoint))
}

/// Returns the leftovers of a permanent end.
pub(super) fn cleanup(records: &[Record], clients: &[&'static ClientProfile]) -> Cleanup {
    let mut made = BTreeSet::new();
    let mut left = Cleanup::default();
    for one in list_actions(records).iter().filter(|one| one.ran()) {
        left.checkpoints
            .extend(one.record.checkpoint.iter().filter_map(|checkpoint| checkpoint.id.clone()));
        if !one.record.quarantined.is_empty() {
            left.quarantined.push(one.record.id.clone());
        }
        let Some(action) = &one.record.action else { continue };
        for effect in action
            .facts
            .effects
            .iter()
            .filter(|effect| effect.kind.changes_files() && effect.certain)
        {
            let Some(path) = effect.path.and_then(|index| action.facts.paths.get(index as usize))
            else {
                continue;
            };
            match effect.kind {
                EffectKind::FileDelete | EffectKind::Discard => {
                    made.remove(&path.text);
                }
                _ if path.entry == Entry::Absent && !path.glob => {
                    made.insert(path.text.clone());
                }
                _ => {}
            }
        }
        let parameters: Option<Map<String, Value>> = serde_json::from_str(&action.parameters).ok();
        let tool = one.record.subject.as_str();
        if parameters.is_some_and(|parameters| runs_in_background(tool, &parameters, clients)) {
            left.background.push(one.record.summary.clone());
        }
    }
    left.made = made.into_iter().take(NAMED).collect();
    left
}
