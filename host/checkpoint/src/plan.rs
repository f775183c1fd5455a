//! What a restore would do: for each path what is wanted, what stands there, and what that means.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::keep::Keeper;
use crate::node::Node;
use crate::now::{self, Now};
use crate::path::{Rel, root};
use crate::report::{Difference, Standing, below};
use crate::request::Policy;
use crate::snapshot::Known;
use crate::trail::{Trail, Trails};
use crate::tree::{Root, Way};
use crate::vault::Vault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// One path to be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) path: Rel,
    pub(crate) wanted: Known,
    /// What stood there when the restore was planned. Nothing else is overwritten.
    pub(crate) expected: Known,
}

impl Item {
    pub(crate) fn full(&self) -> PathBuf {
        self.root.join(self.path.as_path())
    }
}

/// A path with its trail and its present.
pub(crate) struct Examined {
    trail: Trail,
    now: Known,
    standing: Standing,
}

impl Vault {
    /// What a restore of this checkpoint would put back, each path with what stands there now.
    ///
    /// # Errors
    /// There is no such checkpoint or it is damaged, or the system refuses.
    pub fn diff(&self, id: &Id) -> Result<Vec<Difference>> {
        let _lock = self.share()?;
        let (trails, policy) = self.trails(id)?;
        Ok(differences(&self.examine(trails, &policy, &[], false)?))
    }

    /// Looks at each path of the trails that lies below one of `only`.
    pub(crate) fn examine(&self, trails: Trails, policy: &Policy, only: &[PathBuf], force: bool) -> Result<BTreeMap<PathBuf, Examined>> {
        let mut keeper = Keeper::looking(&self.desk, policy.max_file);
        let mut examined = BTreeMap::new();
        let chosen: BTreeSet<PathBuf> = trails.keys().filter(|path| only.is_empty() || below(path, only)).cloned().collect();
        for (path, trail) in trails {
            let mut root = Root::new(&trail.root);
            let like: Vec<&Known> = std::iter::once(&trail.wanted).chain(&trail.left).collect();
            let looked = now::look(&mut root, &trail.path, &path, &like, &mut keeper)?;
            // A folder that must be there for what is chosen is chosen too.
            let needed = || trail.wanted.node.is_folder() && chosen.iter().any(|other| other.starts_with(&path));
            if !chosen.contains(&path) && !needed() {
                continue;
            }
            let (now, standing) = match looked {
                Now::Barred => (Known::MISSING, barred(&trail)),
                Now::Is(now) => {
                    let standing = stands(&trail, &now);
                    (now, standing)
                }
            };
            examined.insert(path, Examined { trail, now, standing });
        }
        unbar(&mut examined);
        find_orphans(&mut examined, force)?;
        find_strangers(&mut examined, force)?;
        Ok(examined)
    }
}

/// Below something that is no folder there is nothing, which may be all that is wanted.
fn barred(trail: &Trail) -> Standing {
    match stands(trail, &Known::MISSING) {
        standing @ (Standing::AlreadyBack | Standing::NotKept(_)) => standing,
        _ => Standing::Barred,
    }
}

fn stands(trail: &Trail, now: &Known) -> Standing {
    if now.same(&trail.wanted) {
        return Standing::AlreadyBack;
    }
    if let Some(why) = trail.wanted.node.left_out() {
        return Standing::NotKept(why);
    }
    match &trail.left {
        None => Standing::NeverSettled,
        Some(left) if trail.between || !now.same(left) => Standing::ChangedSince,
        Some(_) => Standing::AsLeft,
    }
}

/// A path below something that the restore will make a folder again is not barred by it.
fn unbar(examined: &mut BTreeMap<PathBuf, Examined>) {
    let again: BTreeSet<PathBuf> = examined
        .iter()
        .filter(|(_, one)| one.trail.wanted.node.is_folder() && !one.now.node.is_folder() && one.standing != Standing::Barred)
        .map(|(path, _)| path.clone())
        .collect();
    for (path, one) in examined.iter_mut().filter(|(_, one)| one.standing == Standing::Barred) {
        if path.ancestors().skip(1).any(|above| again.contains(above)) {
            one.standing = stands(&one.trail, &one.now);
        }
    }
}

/// Of a path that is to come back, the folder above it must be there or come back too: if not, a person removed
/// that.
fn find_orphans(examined: &mut BTreeMap<PathBuf, Examined>, force: bool) -> Result<()> {
    let mut orphans = Vec::new();
    for (path, one) in examined.iter().filter(|(_, one)| one.standing == Standing::AsLeft && one.now.node == Node::Missing) {
        let comes = |above: &Path| examined.get(above).is_some_and(|above| above.trail.wanted.node.is_folder() && goes(above, force));
        if !path.parent().is_some_and(comes) && !is_reachable(&one.trail)? {
            orphans.push(path.clone());
        }
    }
    for path in orphans {
        if let Some(one) = examined.get_mut(&path) {
            one.standing = Standing::ChangedSince;
        }
    }
    Ok(())
}

fn is_reachable(trail: &Trail) -> Result<bool> {
    let mut root = Root::new(&trail.root);
    let way = root.way(&trail.path).map_err(CheckpointError::io("look at", trail.root.join(trail.path.as_path())))?;
    Ok(matches!(way, Way::Open(..)))
}

/// A folder that is to go may hold what no action made.
fn find_strangers(examined: &mut BTreeMap<PathBuf, Examined>, force: bool) -> Result<()> {
    let paths: Vec<PathBuf> = examined.keys().rev().cloned().collect();
    for path in paths {
        let Some(one) = examined.get(&path) else { continue };
        if !one.now.node.is_folder() || one.trail.wanted.node.is_folder() || !goes(one, force) {
            continue;
        }
        let strange = names(&one.trail.root, &one.trail.path)?
            .into_iter()
            .any(|name| examined.get(&path.join(name)).is_none_or(|child| child.trail.wanted.node != Node::Missing || !goes(child, force)));
        // One that a person put in the place of what the action made goes only with force, and whole.
        let is_actions = one.trail.left.as_ref().is_none_or(|left| left.node.is_folder());
        let standing = if one.trail.wanted.node == Node::Missing && is_actions { Standing::Stays } else { Standing::ChangedSince };
        if let Some(one) = examined.get_mut(&path).filter(|_| strange) {
            one.standing = standing;
        }
    }
    Ok(())
}

fn goes(one: &Examined, force: bool) -> bool {
    match one.standing {
        Standing::AsLeft => true,
        Standing::ChangedSince | Standing::NeverSettled => force,
        _ => false,
    }
}

/// The names in a folder; none if it is gone.
pub(crate) fn names(root: &Path, path: &Rel) -> Result<Vec<OsString>> {
    let failed = |error| CheckpointError::io("look at", root.join(path.as_path()))(error);
    match Root::new(root).way(path).map_err(failed)? {
        Way::Open(folder, name) => match folder.enter_to_list(&name).and_then(|folder| folder.names()) {
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(Vec::new()),
            other => other.map_err(failed),
        },
        Way::Missing | Way::Barred => Ok(Vec::new()),
    }
}

pub(crate) fn differences(examined: &BTreeMap<PathBuf, Examined>) -> Vec<Difference> {
    let public = |(path, one): (&PathBuf, &Examined)| Difference {
        path: path.clone(),
        wanted: one.trail.wanted.node.clone(),
        left: one.trail.left.as_ref().map(|left| left.node.clone()),
        now: one.now.node.clone(),
        standing: one.standing,
    };
    examined.iter().map(public).collect()
}

/// What is to be done, in the order of paths. With force also what stands in the way of it.
pub(crate) fn items(examined: &BTreeMap<PathBuf, Examined>, force: bool, vault: &Vault, policy: &Policy) -> Result<Vec<Item>> {
    let mut items = BTreeMap::new();
    for (path, one) in examined.iter().filter(|(_, one)| goes(one, force)) {
        let Trail { root, path: below, wanted, .. } = &one.trail;
        items.insert(path.clone(), Item { root: root.clone(), path: below.clone(), wanted: wanted.clone(), expected: one.now.clone() });
    }
    let mut keeper = Keeper::looking(&vault.desk, policy.max_file);
    let folders: Vec<Item> = items.values().filter(|item| force && in_the_way(item)).cloned().collect();
    for folder in folders {
        let mut open = vec![folder.path.clone()];
        while let Some(path) = open.pop() {
            for name in names(&folder.root, &path)? {
                let path = path.join(&name);
                let full = folder.root.join(path.as_path());
                let Now::Is(expected) = now::look(&mut Root::new(&folder.root), &path, &full, &[], &mut keeper)? else { continue };
                if expected.node.is_folder() {
                    open.push(path.clone());
                }
                items.entry(full).or_insert(Item { root: folder.root.clone(), path, wanted: Known::MISSING, expected });
            }
        }
    }
    Ok(items.into_values().collect())
}

fn in_the_way(item: &Item) -> bool {
    item.expected.node.is_folder() && !item.wanted.node.is_folder()
}
