//! The ways on after a stop, as commands for a person, and what an end for good leaves behind.

use super::actions::{Acted, acted};
use crate::action::{EffectKind, Entry};
use crate::finding::{Issue, Response};
use crate::record::Record;
use crate::session::Terms;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// So many paths are kept.
const NAMED: usize = 1000;

/// One way on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Its name.
    pub option: String,
    /// What a person runs.
    pub command: String,
    /// What that does.
    pub what: String,
    /// Why it cannot be taken, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_now: Option<String>,
    /// The checkpoint that files go back to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<String>,
    /// Why that one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub because: Option<String>,
}

/// What an end for good leaves behind. All of it is as the session's records tell, to be looked at before anything
/// is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleanup {
    /// Files that the agent made where nothing was, by path.
    pub made: Vec<String>,
    /// Commands that were started in the background.
    pub background: Vec<String>,
    /// Checkpoints that are kept for the session's actions, oldest first.
    pub checkpoints: Vec<String>,
    /// What was moved into a quarantine: the reviews' ids, oldest first.
    pub quarantined: Vec<String>,
}

/// The four ways on.
pub(super) fn ways(id: &str, issue: &Issue, records: &[Record]) -> Vec<Way> {
    let target = rollback_to(issue, records);
    let back = match &target {
        Some(Target { id, before, because }) => {
            let to =
                before.map_or_else(|| format!("at the checkpoint {}", one_line(id, 64)), |it| format!("before `{}`", one_line(it, 120)));
            format!("put the files back as they were {to} ({because}), then let the session go on as before")
        }
        None => "put the files back, then let the session go on as before".to_owned(),
    };
    let (checkpoint, because) = target.map(|target| (target.id.to_owned(), target.because)).unzip();
    let not_now = checkpoint.is_none().then(|| "no checkpoint was taken of what the session did".to_owned());
    let way = |terms: Terms, verb: &str, what: &str| Way {
        option: terms.as_str().into(),
        command: format!("portcullis incident {verb} {id}"),
        what: what.into(),
        not_now: None,
        checkpoint: None,
        because: None,
    };
    vec![
        way(Terms::Limited, "resume", "go on with half of each limit, and refuse what does more than read and write files of the project"),
        Way { not_now, checkpoint, because, ..way(Terms::RolledBack, "rollback", &back) },
        way(Terms::Supervised, "supervise", "go on; you approve each write, deletion and command, reading goes by itself"),
        way(Terms::Aborted, "abort", "leave it stopped for good, and list what is to be cleaned up"),
    ]
}

/// Where files go back to.
struct Target<'r> {
    id: &'r str,
    /// The action in a line that it undoes, with all that came after it; none where that is not known any more.
    before: Option<&'r str>,
    because: String,
}

/// The checkpoint that an intervention for this issue chose, which knew what is safe; else that of the first action
/// since the issue began, and where none of these changed files, of the newest action before it.
fn rollback_to<'r>(issue: &Issue, records: &'r [Record]) -> Option<Target<'r>> {
    let ran = acted(records).into_iter().filter(Acted::ran).map(|one| one.record);
    let kept = |record: &'r Record| Some((record.step?, record.checkpoint.as_ref()?.id.as_deref()?, record.summary.as_str()));
    let kept: Vec<(u64, &str, &str)> = ran.filter_map(kept).collect();
    if let Some((kind, step, id)) = records.iter().rev().find_map(|record| chosen(issue, record)) {
        let before = kept.iter().find(|(_, kept, _)| *kept == id).map(|(.., before)| *before);
        let step = step.map(|step| format!(" at step {step}")).unwrap_or_default();
        return Some(Target { id, before, because: format!("the intervention {kind}{step} chose that checkpoint") });
    }
    if let Some((_, id, before)) = kept.iter().find(|(step, ..)| *step >= issue.first_step) {
        let because = "the first action since it began of which a checkpoint was taken".to_owned();
        return Some(Target { id, before: Some(before), because });
    }
    let because = "no checkpoint was taken since it began, so that of the newest action before it".to_owned();
    kept.last().map(|(_, id, before)| Target { id, before: Some(before), because })
}

/// The checkpoint that a record's intervention for this issue goes back to, after its kind and step.
fn chosen<'r>(issue: &Issue, record: &'r Record) -> Option<(&'r str, Option<u64>, &'r str)> {
    let intervention = record.intervention.as_ref().filter(|intervention| intervention.issue == issue.name)?;
    let Response::Rollback { checkpoint, .. } = &intervention.response else { return None };
    Some((&intervention.kind, record.step, checkpoint))
}

/// What an end for good leaves behind.
pub(super) fn cleanup(records: &[Record]) -> Cleanup {
    let mut made = BTreeSet::new();
    let mut left = Cleanup::default();
    for one in acted(records).iter().filter(|one| one.ran()) {
        left.checkpoints.extend(one.record.checkpoint.iter().filter_map(|checkpoint| checkpoint.id.clone()));
        if !one.record.quarantined.is_empty() {
            left.quarantined.push(one.record.id.clone());
        }
        let Some(action) = &one.record.action else { continue };
        for effect in action.facts.effects.iter().filter(|effect| effect.kind.changes_files() && effect.certain) {
            let Some(path) = effect.path.and_then(|index| action.facts.paths.get(index as usize)) else { continue };
            match effect.kind {
                EffectKind::FileDelete | EffectKind::Discard => drop(made.remove(&path.text)),
                _ if path.entry == Entry::Absent && !path.glob => drop(made.insert(path.text.clone())),
                _ => {}
            }
        }
        let parameters: Option<Value> = serde_json::from_str(&action.parameters).ok();
        if parameters.is_some_and(|parameters| parameters.get("run_in_background").is_some_and(|background| background == true)) {
            left.background.push(one.record.summary.clone());
        }
    }
    left.made = made.into_iter().take(NAMED).collect();
    left
}
