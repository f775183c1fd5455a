//! The one look at the workspace: which paths exist, where links lead, what git could give back.
//!
//! This module says what to look for and takes the answers over; the command line does the looking.
//! The answers stand in the record, so a replay needs no disk.

use crate::action::{Action, EffectKind, Entry, GitState, Intent, Operation, Scope};
use crate::facts::{Place, scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A path to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Absolute and normalised; may hold a glob.
    pub path: String,
    /// It is to be removed: whether it could be had back matters too.
    pub removes: bool,
    /// Everything below it is to be removed.
    pub recursive: bool,
}

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// What stands at the path.
    pub entry: Entry,
    /// The real path, where a link is on the way.
    pub real: Option<String>,
    /// Its state in git.
    pub git: GitState,
    /// All of it could be had back.
    pub restorable: bool,
}

/// What was seen, by path. Paths that were not looked at are absent.
pub type Observations = BTreeMap<String, Observed>;

/// Looks at the workspace. Bounded in time and in how much it looks at; what it could not tell is `unknown`.
pub type Observer<'a> = dyn FnMut(&[Query]) -> Observations + 'a;

/// What to look at for an action.
#[must_use]
pub fn queries(action: &Action) -> Vec<Query> {
    let mut queries: Vec<Query> = action
        .facts
        .paths
        .iter()
        .filter(|path| path.text.starts_with('/') && path.scope != Scope::Unknown && !path.text.contains(crate::mask::PLACEHOLDER))
        .map(|path| Query { path: path.text.clone(), removes: false, recursive: false })
        .collect();
    for effect in &action.facts.effects {
        let target = queries.iter_mut().find(|query| query.path == effect.target);
        if let Some(query) = target.filter(|_| effect.kind == EffectKind::FileDelete) {
            query.removes = true;
            query.recursive |= effect.recursive;
        }
    }
    queries
}

/// Takes the answers over: fills the paths in, judges links by where they lead, and tells making a
/// file from changing one.
pub fn apply(action: &mut Action, observations: &Observations, place: &Place) {
    for path in &mut action.facts.paths {
        let Some(observed) = observations.get(&path.text) else { continue };
        path.entry = observed.entry;
        path.git = observed.git;
        path.restorable = observed.restorable;
        if let Some(real) = &observed.real {
            path.scope = path.scope.max(scope(real, place));
            path.link_target = Some(real.clone());
        }
    }
    for effect in &mut action.facts.effects {
        let entry = effect.path.and_then(|index| action.facts.paths.get(index as usize)).map_or(Entry::Unknown, |path| path.entry);
        effect.kind = match (&effect.kind, entry) {
            (EffectKind::FileModify, Entry::Absent) => EffectKind::FileCreate,
            (EffectKind::FileCreate, Entry::File | Entry::Link) => EffectKind::FileModify,
            (kind, _) => (*kind).clone(),
        };
    }
    let writes = matches!(&action.operation, Operation::File(_)) && action.intent == Intent::FileCreation;
    if writes && action.facts.effects.iter().any(|effect| effect.kind == EffectKind::FileModify) {
        action.intent = Intent::FileModification;
    }
}
