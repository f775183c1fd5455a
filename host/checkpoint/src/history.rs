//! The history of each path since a checkpoint: the oldest state, and the state that the newest
//! action left.

use crate::content_writer::ContentWriter;
use crate::error::CheckpointError;
use crate::git_state;
use crate::id::Id;
use crate::manifest::{Manifest, RootRecord};
use crate::node::Why;
use crate::path::Rel;
use crate::report::{LeftOuts, below};
use crate::request::ExclusionPolicy;
use crate::snapshot::{EntryChange, KnownNode};
use crate::vault::Vault;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The history of a path since a checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct PathHistory {
    pub(crate) root: PathBuf,
    pub(crate) path: Rel,
    /// The state before the first action.
    pub(crate) wanted: KnownNode,
    /// The state after the last one; none if that was never settled.
    pub(crate) left: Option<KnownNode>,
    /// True if somebody else changed it between two actions.
    pub(crate) between: bool,
    settled_at: u64,
}

/// Histories by absolute path, so that a folder comes before its entries.
pub(crate) type PathHistories = BTreeMap<PathBuf, PathHistory>;

/// Everything that is known about the time since a checkpoint.
pub(crate) struct CheckpointHistory {
    pub(crate) paths: PathHistories,
    /// The policy of the checkpoint.
    pub(crate) policy: ExclusionPolicy,
    /// The paths that no scan looked at.
    pub(crate) not_covered: LeftOuts,
}

impl Vault {
    /// Returns the histories of all paths below the roots of a checkpoint and of those in `also`,
    /// since then.
    pub(crate) fn histories(&self, id: &Id, also: &[Id]) -> Result<CheckpointHistory> {
        let first = self.manifest(id)?;
        let mut later = self.manifests()?.0;
        later.retain(|one| (one.at, &one.id) >= (first.at, &first.id));
        let roots: Vec<PathBuf> = later
            .iter()
            .filter(|one| one.id == first.id || also.contains(&one.id))
            .flat_map(|one| one.areas.iter().map(|area| area.root.clone()))
            .collect();
        let mut histories = PathHistories::new();
        let mut not_covered = LeftOuts::default();
        for manifest in &later {
            if manifest.areas.iter().any(|area| below(&area.root, &roots)) {
                not_covered.add_unseen(&manifest.left_out);
                let settled = manifest.settled.as_ref();
                settled.iter().for_each(|settled| not_covered.add_unseen(&settled.left_out));
            }
            for area in manifest.areas.iter().filter(|area| {
                below(&area.root, &roots) || roots.iter().any(|root| root.starts_with(&area.root))
            }) {
                for change in self.changes_of(manifest, area)? {
                    let full = area.root.join(change.path.as_path());
                    if below(&full, &roots) {
                        follow(&mut histories, full, manifest, area, change);
                    }
                }
            }
        }
        // A repository as it was before needs no mention.
        not_covered.retain_seen(|left| {
            left.why != Why::Git || !git_state::is_unchanged(&self.files, &left.path, first.at)
        });
        Ok(CheckpointHistory { paths: histories, policy: first.policy, not_covered })
    }

    /// Returns the changes of an action; for one that was never settled, the current differences.
    fn changes_of(&self, manifest: &Manifest, area: &RootRecord) -> Result<Vec<EntryChange>> {
        if manifest.settled.is_some() {
            return Ok(area.changes.clone());
        }
        let before = self.before(&area.before)?;
        let mut keeper = ContentWriter::looking(&self.dir, manifest.policy.max_file);
        let time = (None, Instant::now());
        let seen = self.look(
            (&area.root, &area.scopes),
            manifest,
            (&before, true),
            time,
            &mut keeper,
            &mut LeftOuts::default(),
        )?;
        Ok(before.changes(&seen.snapshot))
    }
}

fn follow(
    histories: &mut PathHistories,
    full: PathBuf,
    manifest: &Manifest,
    area: &RootRecord,
    change: EntryChange,
) {
    let left = manifest.settled.as_ref().map(|_| change.after.clone());
    let settled_at = manifest.settled.as_ref().map_or(u64::MAX, |settling| settling.at);
    let Some(history) = histories.get_mut(&full) else {
        let history = PathHistory {
            root: area.root.clone(),
            path: change.path,
            wanted: change.before,
            left,
            between: false,
            settled_at,
        };
        histories.insert(full, history);
        return;
    };
    if left.is_none() && history.left.as_ref().is_some_and(|known| known.same(&change.after)) {
        // The current state is the result of an action that was settled.
        return;
    }
    let known = history.left.as_ref().unwrap_or(&history.wanted);
    // Concurrent actions may see each other's work half done.
    let overlap = manifest.at < history.settled_at && history.left.is_some();
    // For two actions that were never settled, the changes cannot be attributed anyway.
    let vague = left.is_none() && history.left.is_none();
    history.between = history.between || (!overlap && !vague && !known.same(&change.before));
    if !overlap || settled_at >= history.settled_at {
        history.left = left;
        history.settled_at = settled_at;
    }
}
