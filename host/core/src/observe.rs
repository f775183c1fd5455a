//! The single look at the workspace: which paths exist, where links lead, what git could restore.
//!
//! This module lists what to look for and applies the answers; the command line does the looking.
//! The record keeps the answers, so a replay needs no disk.

mod climbs;
mod emptied;
mod links;

pub use emptied::{Remainder, loses_most};

use crate::action::{Action, Command, EffectKind, Entry, GitState, Intent, Operation, Path, Scope};
use crate::facts::{CallLocation, as_glob, scope_of};
use crate::run_files::{FileContents, MountLedger};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A path to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Absolute. Normalised, unless it leads through `..` after what may be a link.
    pub path: String,
    /// True if it is a shell pattern.
    pub glob: bool,
    /// True if it is to be removed, so it also matters if it could be restored.
    pub removes: bool,
    /// True if everything below it is to be removed.
    pub recursive: bool,
    /// True if it is to be changed in another way.
    pub changes: bool,
    /// True if its text is to be read, and nothing else.
    pub text: bool,
    /// True if it matters if git holds that text as it is, however short it is.
    pub committed: bool,
    /// The rest of its text, if all or a part of it is replaced by a short one. Its size matters then,
    /// and for a file that loses most of its bytes, whether it could be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<Remainder>,
}

impl Query {
    const fn of(path: String, glob: bool) -> Self {
        Self {
            path,
            glob,
            removes: false,
            recursive: false,
            changes: false,
            text: false,
            committed: false,
            leaves: None,
        }
    }

    /// Creates a query for the text of a file that is run; `committed` as the field.
    pub(crate) fn of_text(path: String, committed: bool) -> Self {
        Self { text: true, committed, ..Self::of(path, false) }
    }

    /// Returns the key of its answer: a pattern and a file with the same text are different.
    #[must_use]
    pub fn key(&self) -> String {
        key(&self.path, self.glob)
    }
}

pub(crate) fn key(path: &str, glob: bool) -> String {
    if glob { path.to_owned() } else { as_glob(path) }
}

/// The observed state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The kind of entry at the path.
    pub entry: Entry,
    /// The real path, if a link is on the way.
    pub real: Option<String>,
    /// Its state in git.
    pub git: GitState,
    /// True if all of it could be restored.
    pub restorable: bool,
    /// The place that `..` in the path leads to; none if the path has no `..`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads: Option<ClimbTarget>,
    /// The contents of a file that the action runs; none if they do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<FileContents>,
    /// Everything below a folder that is removed, absolute; a folder's path ends with `/`. None if
    /// it does not matter, or if there is too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Vec<String>>,
    /// The bytes of a file whose text is replaced by a short one; none if they do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl Observed {
    /// The observation of a path about which nothing is known.
    pub const UNKNOWN: Self = Self {
        entry: Entry::Unknown,
        real: None,
        git: GitState::Unknown,
        restorable: false,
        leads: None,
        contents: None,
        holds: None,
        size: None,
    };
}

/// The place that a path leads to if each `..` is followed as the system does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClimbTarget {
    /// An existing path.
    To(String),
    /// Nowhere yet: this folder, from which a `..` goes up, does not exist.
    Missing(String),
    /// Not known.
    Unknown,
}

/// Observed states by path. Paths that were not examined are absent.
pub type Observations = BTreeMap<String, Observed>;

/// Looks at the workspace, with a bound on its time and its work; anything that it could not
/// determine is `unknown`.
pub type Observer<'a> = dyn FnMut(&[Query]) -> Observations + 'a;

/// Returns the queries for an action that runs in `cwd`.
#[must_use]
pub fn list_queries(action: &Action, cwd: &str) -> Vec<Query> {
    let mut all: Vec<Query> =
        action.facts.paths.iter().map(|path| Query::of(path.text.clone(), path.glob)).collect();
    let left = emptied::left_by(action);
    for effect in &action.facts.effects {
        let Some(query) = effect.path.and_then(|index| all.get_mut(index as usize)) else {
            continue;
        };
        query.changes |= effect.kind.changes_files()
            && !matches!(effect.kind, EffectKind::FileDelete | EffectKind::Discard);
        if query.changes && !query.glob {
            query.leaves = left;
        }
        if matches!(effect.kind, EffectKind::FileDelete | EffectKind::Discard) {
            query.removes = true;
            query.recursive |= effect.recursive;
        }
    }
    let can_be_looked_at = |path: &Path| {
        // A path with a placeholder is not the real one, and nothing can be looked up at it.
        path.text.starts_with('/')
            && path.scope != Scope::Unknown
            && !path.text.contains(crate::mask::PLACEHOLDER)
    };
    let mut queries: Vec<Query> = all
        .into_iter()
        .zip(&action.facts.paths)
        .filter(|(_, path)| can_be_looked_at(path))
        .map(|(query, _)| query)
        .collect();
    if let Operation::Shell(shell) = &action.operation {
        let dotted: Vec<String> = shell
            .commands
            .iter()
            .flat_map(|command| dotted(command, cwd))
            .take(MOST_DOTTED)
            .collect();
        for path in dotted {
            if !queries.iter().any(|query| query.path == path && !query.glob) {
                queries.push(Query::of(path, false));
            }
        }
    }
    queries
}

/// The most paths containing `..` that are queried as they are written.
const MOST_DOTTED: usize = 16;

/// Adds where paths lead through the mounts of earlier steps, which a look at the disk does not
/// show.
pub(crate) fn add_mounts(action: &Action, observations: &mut Observations, mounts: &MountLedger) {
    for path in &action.facts.paths {
        let Some(behind) = mounts.place_behind(&path.text) else { continue };
        let seen = observations.entry(key(&path.text, path.glob)).or_insert(Observed::UNKNOWN);
        seen.real.get_or_insert(behind);
    }
}

/// Takes back what only counts for files that the session did not make. `own` are the positions of
/// those that it made among the paths, with blanks between them.
pub(crate) fn pardon_own(action: &mut Action, own: &str) {
    emptied::pardon_own(action, own);
}

/// Applies the answers: fills in the paths, judges links by their targets, and distinguishes
/// creating a file from changing one.
pub fn apply_observations(action: &mut Action, observations: &Observations, place: &CallLocation) {
    for path in &mut action.facts.paths {
        let Some(observed) = observations.get(&key(&path.text, path.glob)) else { continue };
        path.entry = observed.entry;
        path.git = observed.git;
        path.restorable = observed.restorable;
        if let Some(real) = &observed.real {
            // The worse scope counts: the link itself may be outside too.
            path.scope = path.scope.max(scope_of(real, place));
            path.link_target = Some(real.clone());
        }
    }
    climbs::resolve_climbs(action, observations, place);
    for effect in &mut action.facts.effects {
        let entry = effect
            .path
            .and_then(|index| action.facts.paths.get(index as usize))
            .map_or(Entry::Unknown, |path| path.entry);
        effect.kind = match (&effect.kind, entry) {
            (EffectKind::FileModify, Entry::Absent) => EffectKind::FileCreate,
            (EffectKind::FileCreate, Entry::File | Entry::Link) => EffectKind::FileModify,
            (kind, _) => (*kind).clone(),
        };
    }
    links::imply_by_links(action, place);
    emptied::note_emptied(action, observations);
    let writes =
        matches!(&action.operation, Operation::File(_)) && action.intent == Intent::FileCreation;
    if writes && action.facts.effects.iter().any(|effect| effect.kind == EffectKind::FileModify) {
        action.intent = Intent::FileModification;
    }
}

/// The most words with `..` of one command that are looked up.
const MOST_DOTTED_OF_ONE: usize = 4;

/// Returns the words of a command with a `..` after a name, absolute but otherwise as written: the
/// system follows a link there before it goes up, and the text alone does not show where that
/// leads.
pub(crate) fn dotted<'c>(command: &'c Command, cwd: &'c str) -> impl Iterator<Item = String> + 'c {
    let words = command
        .words
        .iter()
        .chain(command.redirections.iter().map(|redirection| &redirection.target));
    let through = |text: &str| {
        let named = text.find(|c| c != '.' && c != '/').and_then(|at| text.get(at..)).unwrap_or("");
        named.contains("/../") && text.len() < 1024 && !text.contains(['\n', '*', '?', '['])
    };
    words.filter(move |word| word.known && through(&word.text)).take(MOST_DOTTED_OF_ONE).map(
        move |word| {
            if word.text.starts_with('/') {
                word.text.clone()
            } else {
                format!("{cwd}/{}", word.text)
            }
        },
    )
}
