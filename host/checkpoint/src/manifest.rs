//! Manifests: one file per checkpoint, with everything except the contents.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::node::ContentDigest;
use crate::packs::Packs;
use crate::path::{Rel, root};
use crate::report::{self, Cause, CheckpointDetail, CheckpointList, CheckpointSummary, LeftOuts};
use crate::request::ExclusionPolicy;
use crate::snapshot::{EntryChange, TreeSnapshot};
use crate::stored_name::StoredName;
use crate::vault::Vault;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, CheckpointError>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) id: Id,
    pub(crate) at: u64,
    pub(crate) cause: Cause,
    pub(crate) tree: bool,
    pub(crate) policy: ExclusionPolicy,
    pub(crate) areas: Vec<RootRecord>,
    pub(crate) left_out: LeftOuts,
    pub(crate) settled: Option<Settling>,
}

/// One root's part of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RootRecord {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) scopes: Vec<ScannedPath>,
    pub(crate) before: BeforeState,
    /// The changes of the action, once settled.
    pub(crate) changes: Vec<EntryChange>,
}

/// A path that was scanned: alone, or with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ScannedPath {
    pub(crate) path: Rel,
    pub(crate) deep: bool,
}

/// The location of the scan before the action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum BeforeState {
    Here(TreeSnapshot),
    /// In a file of its own, shared by all checkpoints of an unchanged tree.
    Stored(StoredName),
    /// No longer needed: the changes contain it.
    Settled,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settling {
    pub(crate) at: u64,
    pub(crate) left_out: LeftOuts,
}

impl Manifest {
    pub(crate) fn listed(&self) -> CheckpointSummary {
        CheckpointSummary {
            id: self.id.clone(),
            at: self.at,
            cause: self.cause.clone(),
            roots: self.areas.iter().map(|area| area.root.clone()).collect(),
            tree: self.tree,
            complete: self.left_out.by_choice(),
            settled_at: self.settled.as_ref().map(|settling| settling.at),
            changes: self.areas.iter().map(|area| area.changes.len()).sum(),
        }
    }

    pub(crate) fn changes(&self) -> Vec<report::PathChange> {
        let public = |area: &RootRecord, change: &EntryChange| report::PathChange {
            path: area.root.join(change.path.as_path()),
            before: change.before.node.clone(),
            after: change.after.node.clone(),
        };
        self.areas
            .iter()
            .flat_map(|area| area.changes.iter().map(move |change| public(area, change)))
            .collect()
    }

    /// Returns the snapshots that it still needs.
    pub(crate) fn stored(&self) -> impl Iterator<Item = StoredName> {
        self.areas.iter().filter_map(|area| match area.before {
            BeforeState::Stored(name) => Some(name),
            _ => None,
        })
    }

    /// Adds the contents that its changes and its own snapshots need.
    pub(crate) fn contents(&self, into: &mut BTreeSet<ContentDigest>) {
        for area in &self.areas {
            into.extend(
                area.changes
                    .iter()
                    .flat_map(|change| [&change.before, &change.after])
                    .filter_map(|known| known.node.digest()),
            );
            if let BeforeState::Here(snapshot) = &area.before {
                into.extend(snapshot.values().filter_map(|known| known.node.digest()));
            }
        }
    }
}

impl Vault {
    /// Returns all checkpoints, oldest first.
    ///
    /// # Errors
    /// Fails if the vault cannot be read. A checkpoint that is damaged, or whose key is missing, is
    /// part of the result instead.
    pub fn list(&self) -> Result<CheckpointList> {
        let _lock = self.lock_shared()?;
        let (manifests, mut damaged) = self.manifests()?;
        damaged.extend(Packs::load(&self.dir)?.unreadable);
        let unfinished = self.unfinished()?;
        Ok(CheckpointList {
            checkpoints: manifests.iter().map(Manifest::listed).collect(),
            damaged,
            unfinished,
        })
    }

    /// Returns one checkpoint and the changes of its action.
    ///
    /// # Errors
    /// Fails if no checkpoint has that id, or if it is damaged.
    pub fn show_checkpoint(&self, id: &Id) -> Result<CheckpointDetail> {
        let _lock = self.lock_shared()?;
        let manifest = self.manifest(id)?;
        Ok(CheckpointDetail {
            summary: manifest.listed(),
            left_out: manifest.left_out.clone(),
            changes: manifest.changes(),
        })
    }

    pub(crate) fn manifest_path(&self, id: &Id) -> PathBuf {
        self.dir.folder.join("checkpoints").join(id.as_str())
    }

    pub(crate) fn manifest(&self, id: &Id) -> Result<Manifest> {
        self.dir
            .read(&self.manifest_path(id))?
            .ok_or_else(|| CheckpointError::Unknown { id: id.clone() })
    }

    /// Returns all manifests that can be read, oldest first, and an error for each of the others.
    pub(crate) fn manifests(&self) -> Result<(Vec<Manifest>, Vec<CheckpointError>)> {
        let (mut good, mut damaged) = (Vec::new(), Vec::new());
        for path in self.dir.list("checkpoints")? {
            match self.dir.read::<Manifest>(&path) {
                Ok(manifest) => good.extend(manifest),
                Err(error) => damaged.push(error),
            }
        }
        good.sort_by(|one: &Manifest, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        Ok((good, damaged))
    }

    /// Returns the state of a root before the action.
    pub(crate) fn before(&self, before: &BeforeState) -> Result<TreeSnapshot> {
        match before {
            BeforeState::Here(snapshot) => Ok(snapshot.clone()),
            BeforeState::Stored(name) => {
                let path = self.snapshot_path(name);
                self.dir.read(&path)?.ok_or(CheckpointError::Damaged { path, reason: "it is gone" })
            }
            BeforeState::Settled => Ok(TreeSnapshot::default()),
        }
    }

    pub(crate) fn snapshot_path(&self, name: &StoredName) -> PathBuf {
        self.dir.folder.join("snapshots").join(name.to_string())
    }
}
