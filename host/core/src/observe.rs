//! The one look at the workspace: which paths exist, where links lead, what git could give back.
//!
//! This module says what to look for and takes the answers over; the command line does the looking.
//! The answers stand in the record, so a replay needs no disk.

use crate::action::{Action, Command, EffectKind, Entry, GitState, Intent, Operation, Scope};
use crate::facts::{Place, scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A path to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Absolute; may hold a glob. Normalised, unless it leads through `..` after what may be a link.
    pub path: String,
    /// It is to be removed: whether it could be had back matters too.
    pub removes: bool,
    /// Everything below it is to be removed.
    pub recursive: bool,
    /// It is to be changed otherwise.
    pub changes: bool,
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

/// What to look at for an action that runs in `cwd`.
#[must_use]
pub fn queries(action: &Action, cwd: &str) -> Vec<Query> {
    let mut queries: Vec<Query> = action
        .facts
        .paths
        .iter()
        .filter(|path| path.text.starts_with('/') && path.scope != Scope::Unknown && !path.text.contains(crate::mask::PLACEHOLDER))
        .map(|path| Query { path: path.text.clone(), removes: false, recursive: false, changes: false })
        .collect();
    for effect in &action.facts.effects {
        let Some(query) = queries.iter_mut().find(|query| query.path == effect.target) else { continue };
        query.changes |= effect.kind.changes_files() && !matches!(effect.kind, EffectKind::FileDelete | EffectKind::Discard);
        if matches!(effect.kind, EffectKind::FileDelete | EffectKind::Discard) {
            query.removes = true;
            query.recursive |= effect.recursive;
        }
    }
    if let Operation::Shell(shell) = &action.operation {
        let dotted = shell.commands.iter().flat_map(|command| dotted(command, cwd)).take(MOST_DOTTED);
        queries.extend(dotted.map(|path| Query { path, removes: false, recursive: false, changes: false }));
    }
    queries
}

/// The most paths with `..` in them that are looked at as they are written.
const MOST_DOTTED: usize = 16;

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

/// The most words with `..` of one command that are looked up.
const MOST_DOTTED_OF_ONE: usize = 4;

/// The words of a command that lead through `..` after a name, absolute and otherwise as written: the
/// system follows a link there before it goes up, and no text tells where that leads.
pub(crate) fn dotted<'c>(command: &'c Command, cwd: &'c str) -> impl Iterator<Item = String> + 'c {
    let words = command.words.iter().chain(command.redirections.iter().map(|redirection| &redirection.target));
    let through = |text: &str| {
        let named = text.find(|c| c != '.' && c != '/').and_then(|at| text.get(at..)).unwrap_or("");
        named.contains("/../") && text.len() < 1024 && !text.contains(['\n', '*', '?', '['])
    };
    words
        .filter(move |word| word.known && through(&word.text))
        .take(MOST_DOTTED_OF_ONE)
        .map(move |word| if word.text.starts_with('/') { word.text.clone() } else { format!("{cwd}/{}", word.text) })
}
