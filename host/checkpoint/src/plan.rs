//! The plan of a restore: for each path the wanted state, the current state, and the resulting
//! action.

use crate::content_writer::ContentWriter;
use crate::current::{self, CurrentState};
use crate::difference::{Difference, PathStatus};
use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::history::{PathHistories, PathHistory};
use crate::id::Id;
use crate::node::Node;
use crate::path::{Rel, root};
use crate::report::below;
use crate::request::ExclusionPolicy;
use crate::snapshot::KnownNode;
use crate::tree::{PathAccess, Root};
use crate::vault::Vault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// One path to be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) path: Rel,
    pub(crate) wanted: KnownNode,
    /// The state when the restore was planned. No other state is overwritten.
    pub(crate) expected: KnownNode,
}

impl Item {
    pub(crate) fn full(&self) -> PathBuf {
        self.root.join(self.path.as_path())
    }
}

/// A path with its history and its current state.
pub(crate) struct Examined {
    history: PathHistory,
    now: KnownNode,
    standing: PathStatus,
}

impl Vault {
    /// Returns the paths that a restore of this checkpoint would change, each with its current
    /// state.
    ///
    /// # Errors
    /// Fails if the checkpoint does not exist or is damaged, or if the system refuses.
    pub fn diff_checkpoint(&self, id: &Id) -> Result<Vec<Difference>> {
        let _lock = self.lock_shared()?;
        let history = self.histories(id, &[])?;
        Ok(differences(&self.examine(history.paths, &history.policy, &[], false)?))
    }

    /// Scans each path of the histories that is below one of `only`.
    pub(crate) fn examine(
        &self,
        histories: PathHistories,
        policy: &ExclusionPolicy,
        only: &[PathBuf],
        force: bool,
    ) -> Result<BTreeMap<PathBuf, Examined>> {
        let mut keeper = ContentWriter::looking(&self.dir, policy.max_file);
        let mut examined = BTreeMap::new();
        let chosen: BTreeSet<PathBuf> =
            histories.keys().filter(|path| only.is_empty() || below(path, only)).cloned().collect();
        for (path, history) in histories {
            let mut root = Root::new(&self.files, &history.root);
            let like: Vec<&KnownNode> =
                std::iter::once(&history.wanted).chain(&history.left).collect();
            let looked = current::look(&mut root, &history.path, &path, &like, &mut keeper)?;
            // A folder that a chosen path needs is chosen too.
            let needed = || {
                history.wanted.node.is_folder()
                    && chosen.iter().any(|other| other.starts_with(&path))
            };
            if !chosen.contains(&path) && !needed() {
                continue;
            }
            let (now, standing) = match looked {
                CurrentState::Barred => (KnownNode::MISSING, blocked(&history)),
                CurrentState::Is(now) => {
                    let standing = stands(&history, &now);
                    (now, standing)
                }
            };
            examined.insert(path, Examined { history, now, standing });
        }
        unblock(&mut examined);
        find_orphans(&self.files, &mut examined, force)?;
        find_strangers(&self.files, &mut examined, force)?;
        Ok(examined)
    }
}

/// Returns the standing of a path below something that is not a folder: it is missing, which may be
/// all that is wanted.
fn blocked(history: &PathHistory) -> PathStatus {
    match stands(history, &KnownNode::MISSING) {
        standing @ (PathStatus::AlreadyBack | PathStatus::NotKept(_)) => standing,
        _ => PathStatus::Barred,
    }
}

fn stands(history: &PathHistory, now: &KnownNode) -> PathStatus {
    if now.same(&history.wanted) {
        return PathStatus::AlreadyBack;
    }
    if let Some(why) = history.wanted.node.left_out() {
        return PathStatus::NotKept(why);
    }
    match &history.left {
        None => PathStatus::NeverSettled,
        Some(left) if history.between || !now.same(left) => PathStatus::ChangedSince,
        Some(_) => PathStatus::AsLeft,
    }
}

/// Clears the block of paths below something that the restore turns into a folder again.
fn unblock(examined: &mut BTreeMap<PathBuf, Examined>) {
    let again: BTreeSet<PathBuf> = examined
        .iter()
        .filter(|(_, one)| {
            one.history.wanted.node.is_folder()
                && !one.now.node.is_folder()
                && one.standing != PathStatus::Barred
        })
        .map(|(path, _)| path.clone())
        .collect();
    for (path, one) in examined.iter_mut().filter(|(_, one)| one.standing == PathStatus::Barred) {
        if path.ancestors().skip(1).any(|above| again.contains(above)) {
            one.standing = stands(&one.history, &one.now);
        }
    }
}

/// Finds paths to be restored whose parent folder neither exists nor is restored: a person removed
/// it.
fn find_orphans(
    files: &FileAccess,
    examined: &mut BTreeMap<PathBuf, Examined>,
    force: bool,
) -> Result<()> {
    let mut orphans = Vec::new();
    for (path, one) in examined
        .iter()
        .filter(|(_, one)| one.standing == PathStatus::AsLeft && one.now.node == Node::Missing)
    {
        let comes = |above: &Path| {
            examined
                .get(above)
                .is_some_and(|above| above.history.wanted.node.is_folder() && goes(above, force))
        };
        if !path.parent().is_some_and(comes) && !is_reachable(files, &one.history)? {
            orphans.push(path.clone());
        }
    }
    for path in orphans {
        if let Some(one) = examined.get_mut(&path) {
            one.standing = PathStatus::ChangedSince;
        }
    }
    Ok(())
}

fn is_reachable(files: &FileAccess, history: &PathHistory) -> Result<bool> {
    let mut root = Root::new(files, &history.root);
    let way = root
        .way(&history.path)
        .map_err(CheckpointError::io("look at", history.root.join(history.path.as_path())))?;
    Ok(matches!(way, PathAccess::Open(..)))
}

/// Finds folders to be removed that contain files which no action created.
fn find_strangers(
    files: &FileAccess,
    examined: &mut BTreeMap<PathBuf, Examined>,
    force: bool,
) -> Result<()> {
    let paths: Vec<PathBuf> = examined.keys().rev().cloned().collect();
    for path in paths {
        let Some(one) = examined.get(&path) else { continue };
        if !one.now.node.is_folder() || one.history.wanted.node.is_folder() || !goes(one, force) {
            continue;
        }
        let strange = names(files, &one.history.root, &one.history.path)?.into_iter().any(|name| {
            examined.get(&path.join(name)).is_none_or(|child| {
                child.history.wanted.node != Node::Missing || !goes(child, force)
            })
        });
        // A folder that a person put in the place of the action's object is removed only with
        // force, and as a whole.
        let is_actions = one.history.left.as_ref().is_none_or(|left| left.node.is_folder());
        let standing = if one.history.wanted.node == Node::Missing && is_actions {
            PathStatus::Stays
        } else {
            PathStatus::ChangedSince
        };
        if let Some(one) = examined.get_mut(&path).filter(|_| strange) {
            one.standing = standing;
        }
    }
    Ok(())
}

fn goes(one: &Examined, force: bool) -> bool {
    match one.standing {
        PathStatus::AsLeft => true,
        PathStatus::ChangedSince | PathStatus::NeverSettled => force,
        _ => false,
    }
}

/// Returns the names in a folder; none if it no longer exists.
fn names(files: &FileAccess, root: &Path, path: &Rel) -> Result<Vec<OsString>> {
    let failed = |error| CheckpointError::io("look at", root.join(path.as_path()))(error);
    match Root::new(files, root).way(path).map_err(failed)? {
        PathAccess::Open(folder, name) => {
            match folder.enter_to_list(&name).and_then(|folder| folder.names()) {
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) =>
                {
                    Ok(Vec::new())
                }
                other => other.map_err(failed),
            }
        }
        PathAccess::Missing | PathAccess::Barred => Ok(Vec::new()),
    }
}

pub(crate) fn differences(examined: &BTreeMap<PathBuf, Examined>) -> Vec<Difference> {
    let public = |(path, one): (&PathBuf, &Examined)| Difference {
        path: path.clone(),
        wanted: one.history.wanted.node.clone(),
        left: one.history.left.as_ref().map(|left| left.node.clone()),
        now: one.now.node.clone(),
        standing: one.standing,
    };
    examined.iter().map(public).collect()
}

/// Returns the items of the restore, ordered by path. With force this includes the objects that
/// block it.
pub(crate) fn items(
    examined: &BTreeMap<PathBuf, Examined>,
    force: bool,
    vault: &Vault,
    policy: &ExclusionPolicy,
) -> Result<Vec<Item>> {
    let mut items = BTreeMap::new();
    for (path, one) in examined.iter().filter(|(_, one)| goes(one, force)) {
        let PathHistory { root, path: below, wanted, .. } = &one.history;
        items.insert(
            path.clone(),
            Item {
                root: root.clone(),
                path: below.clone(),
                wanted: wanted.clone(),
                expected: one.now.clone(),
            },
        );
    }
    let mut keeper = ContentWriter::looking(&vault.dir, policy.max_file);
    let folders: Vec<Item> =
        items.values().filter(|item| force && in_the_way(item)).cloned().collect();
    for folder in folders {
        let mut open = vec![folder.path.clone()];
        while let Some(path) = open.pop() {
            for name in names(&vault.files, &folder.root, &path)? {
                let path = path.join(&name);
                let full = folder.root.join(path.as_path());
                let CurrentState::Is(expected) = current::look(
                    &mut Root::new(&vault.files, &folder.root),
                    &path,
                    &full,
                    &[],
                    &mut keeper,
                )?
                else {
                    continue;
                };
                if expected.node.is_folder() {
                    open.push(path.clone());
                }
                items.entry(full).or_insert(Item {
                    root: folder.root.clone(),
                    path,
                    wanted: KnownNode::MISSING,
                    expected,
                });
            }
        }
    }
    Ok(items.into_values().collect())
}

fn in_the_way(item: &Item) -> bool {
    item.expected.node.is_folder() && !item.wanted.node.is_folder()
}
