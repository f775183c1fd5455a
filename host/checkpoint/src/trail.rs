//! What became of each path since a checkpoint: the oldest state, and what the newest action left.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::keep::Keeper;
use crate::manifest::{Area, Manifest};
use crate::path::Rel;
use crate::report::{LeftOuts, below};
use crate::request::Policy;
use crate::snapshot::{Change, Known};
use crate::vault::Vault;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

type Result<T> = std::result::Result<T, CheckpointError>;

/// A path since a checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub(crate) root: PathBuf,
    pub(crate) path: Rel,
    /// Before the first action.
    pub(crate) wanted: Known,
    /// After the last one; none if that was never settled.
    pub(crate) left: Option<Known>,
    /// Between two actions somebody else changed it.
    pub(crate) between: bool,
    settled_at: u64,
}

/// By absolute path, so that a folder comes before what it holds.
pub(crate) type Trails = BTreeMap<PathBuf, Trail>;

impl Vault {
    /// The trails of all paths below the roots of a checkpoint, since then.
    pub(crate) fn trails(&self, id: &Id) -> Result<(Trails, Policy)> {
        let first = self.manifest(id)?;
        let roots: Vec<PathBuf> = first.areas.iter().map(|area| area.root.clone()).collect();
        let mut trails = Trails::new();
        for manifest in self.manifests()?.0.iter().filter(|one| (one.at, &one.id) >= (first.at, &first.id)) {
            for area in
                manifest.areas.iter().filter(|area| below(&area.root, &roots) || roots.iter().any(|root| root.starts_with(&area.root)))
            {
                for change in self.changes_of(manifest, area)? {
                    let full = area.root.join(change.path.as_path());
                    if below(&full, &roots) {
                        follow(&mut trails, full, manifest, area, change);
                    }
                }
            }
        }
        Ok((trails, first.policy))
    }

    /// What an action changed; of one that was never settled, what differs by now.
    fn changes_of(&self, manifest: &Manifest, area: &Area) -> Result<Vec<Change>> {
        if manifest.settled.is_some() {
            return Ok(area.changes.clone());
        }
        let before = self.before(&area.before)?;
        let mut keeper = Keeper::looking(&self.desk, manifest.policy.max_file);
        let time = (None, Instant::now());
        let seen = self.look((&area.root, &area.scopes), manifest, (&before, true), time, &mut keeper, &mut LeftOuts::default())?;
        Ok(before.changes(&seen.snapshot))
    }
}

fn follow(trails: &mut Trails, full: PathBuf, manifest: &Manifest, area: &Area, change: Change) {
    let left = manifest.settled.as_ref().map(|_| change.after.clone());
    let settled_at = manifest.settled.as_ref().map_or(u64::MAX, |settling| settling.at);
    let Some(trail) = trails.get_mut(&full) else {
        let trail = Trail { root: area.root.clone(), path: change.path, wanted: change.before, left, between: false, settled_at };
        trails.insert(full, trail);
        return;
    };
    if left.is_none() && trail.left.as_ref().is_some_and(|known| known.same(&change.after)) {
        // What stands there now is the doing of one that was settled.
        return;
    }
    let known = trail.left.as_ref().unwrap_or(&trail.wanted);
    // Actions that ran side by side may see each other's work half done.
    let overlap = manifest.at < trail.settled_at && trail.left.is_some();
    // Of two that were never settled nobody knows anyway who did what.
    let vague = left.is_none() && trail.left.is_none();
    trail.between = trail.between || (!overlap && !vague && !known.same(&change.before));
    if !overlap || settled_at >= trail.settled_at {
        trail.left = left;
        trail.settled_at = settled_at;
    }
}
