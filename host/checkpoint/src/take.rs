//! Before the action: records the state, and stores the contents that are not in the vault yet.

use crate::content_writer::ContentWriter;
use crate::error::CheckpointError;
use crate::manifest::{BeforeState, Manifest, RootRecord, ScannedPath};
use crate::name_key::NameKey;
use crate::path::root;
use crate::report::{Cause, LeftOuts, Taken};
use crate::request::{CheckpointRequest, What};
use crate::scan::{Scan, ScanResult};
use crate::snapshot::TreeSnapshot;
use crate::stored_name::StoredName;
use crate::targets;
use crate::vault::Vault;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The newest snapshot of a root, whose stamps save reading.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Newest {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) snapshot: StoredName,
    pub(crate) at: u64,
}

impl Vault {
    /// Stores the current state, so that it can be restored after the action.
    ///
    /// # Errors
    /// Fails if a root or target is not valid, the call has a checkpoint already, another process
    /// is collecting, or the system refuses (for example because the disk is full). Then no
    /// checkpoint exists: the action cannot be undone.
    pub fn take_checkpoint(&self, request: &CheckpointRequest) -> Result<Taken> {
        let start = Instant::now();
        let _lock = self.lock_shared()?;
        if self.manifest_path(&request.id).exists() {
            return Err(CheckpointError::Exists { id: request.id.clone() });
        }
        let mut left_out = LeftOuts::default();
        let roots = targets::roots(&self.files, &request.roots)?;
        let (tree, areas) = match &request.what {
            What::Tree => (true, targets::whole(roots)),
            What::Targets(paths) => {
                (false, targets::chosen(&self.files, roots, paths, &mut left_out)?)
            }
        };
        let manifest = Manifest {
            id: request.id.clone(),
            at: request.at,
            cause: Cause::Action,
            tree,
            policy: request.policy,
            areas: Vec::new(),
            left_out,
            settled: None,
        };
        self.take_areas(manifest, areas, Some(request.budget), start)
    }

    /// Scans the areas and completes the manifest with them. The caller must keep collections away.
    pub(crate) fn take_areas(
        &self,
        mut manifest: Manifest,
        areas: Vec<(PathBuf, Vec<ScannedPath>)>,
        budget: Option<Duration>,
        start: Instant,
    ) -> Result<Taken> {
        let (room, at) = (self.bounds.max_bytes, manifest.at);
        let mut keeper = ContentWriter::new(&self.dir, &manifest.policy, room, at)?;
        let taken = self.fill(&mut manifest, areas, (budget, start), &mut keeper);
        if taken.is_err() {
            keeper.discard();
        }
        let (files, hard_links) = taken?;
        Ok(Taken {
            complete: manifest.left_out.by_choice(),
            left_out: manifest.left_out,
            files,
            hard_links,
            bytes_read: keeper.bytes_read,
            bytes_stored: keeper.bytes_stored,
            elapsed: start.elapsed(),
        })
    }

    fn fill(
        &self,
        manifest: &mut Manifest,
        areas: Vec<(PathBuf, Vec<ScannedPath>)>,
        time: (Option<Duration>, Instant),
        keeper: &mut ContentWriter<'_>,
    ) -> Result<(u64, u64)> {
        let (mut files, mut hard_links) = (0, 0);
        let mut left_out = std::mem::take(&mut manifest.left_out);
        let mut snapshots = Vec::new();
        for (root, scopes) in areas {
            let base = if manifest.tree { self.newest(&root, keeper.names()) } else { None };
            let (name, base) = base.unzip();
            let base = base.unwrap_or_default();
            let seen =
                self.look((&root, &scopes), manifest, (&base, false), time, keeper, &mut left_out)?;
            files +=
                seen.snapshot.values().filter(|known| known.node.digest().is_some()).count() as u64;
            hard_links += seen.hard_links;
            snapshots.push((root, scopes, seen, name));
        }
        manifest.left_out = left_out;
        // Contents come first: a manifest must refer only to existing ones.
        keeper.finish()?;
        for (root, scopes, seen, name) in snapshots {
            let before = match name {
                _ if !manifest.tree => BeforeState::Here(seen.snapshot),
                Some(name) if !seen.news => BeforeState::Stored(name),
                _ => BeforeState::Stored(self.remember(
                    &root,
                    &seen.snapshot,
                    manifest.at,
                    keeper.names(),
                )?),
            };
            manifest.areas.push(RootRecord { root, scopes, before, changes: Vec::new() });
        }
        // Another process may have taken the checkpoint of the same call meanwhile.
        if self.dir.write(&self.manifest_path(&manifest.id), manifest, false, manifest.at)? {
            return Ok((files, hard_links));
        }
        Err(CheckpointError::Exists { id: manifest.id.clone() })
    }

    /// Scans the scopes of a root.
    pub(crate) fn look(
        &self,
        (root, scopes): (&Path, &[ScannedPath]),
        manifest: &Manifest,
        (base, rescans_base): (&TreeSnapshot, bool),
        (budget, start): (Option<Duration>, Instant),
        keeper: &mut ContentWriter<'_>,
        left_out: &mut LeftOuts,
    ) -> Result<ScanResult> {
        let scan = Scan {
            files: &self.files,
            root,
            scopes,
            policy: manifest.policy,
            applies_policy: manifest.tree,
            base,
            rescans_base,
            restore_folders: &self.restore_folders()?,
            own_folders: self.own_folders()?,
            // The scan leaves time for reading, so that each take of a large tree gets further.
            deadlines: (
                budget.map(|budget| start + budget * 3 / 4),
                budget.map(|budget| start + budget),
            ),
            now: self.clock()?,
        };
        scan.run(keeper, left_out)
    }

    /// Returns the newest snapshot of a root. One that cannot be read is treated as missing.
    fn newest(&self, root: &Path, names: Option<&NameKey>) -> Option<(StoredName, TreeSnapshot)> {
        // A vault that was plain until now has it under its plain name.
        let paths = [self.newest_path(root, names), self.newest_path(root, None)];
        let newest = paths.iter().find_map(|path| self.dir.read::<Newest>(path).ok().flatten())?;
        let snapshot = self.dir.read(&self.snapshot_path(&newest.snapshot)).ok().flatten()?;
        Some((newest.snapshot, snapshot))
    }

    /// Stores a snapshot of a root as its newest.
    pub(crate) fn remember(
        &self,
        root: &Path,
        snapshot: &TreeSnapshot,
        at: u64,
        names: Option<&NameKey>,
    ) -> Result<StoredName> {
        let failed = CheckpointError::io("write", root);
        let name = if names.is_some_and(NameKey::hides) {
            StoredName::random().map_err(failed)?
        } else {
            let bytes = postcard::to_allocvec(snapshot)
                .map_err(|error| io::Error::other(error.to_string()))
                .map_err(failed)?;
            StoredName::of_bytes(&bytes)
        };
        self.dir.write(&self.snapshot_path(&name), snapshot, true, at)?;
        let newest = Newest { root: root.to_owned(), snapshot: name, at };
        self.dir.write(&self.newest_path(root, names), &newest, true, at)?;
        Ok(name)
    }

    /// Returns the path of the file that names the newest snapshot of a root.
    pub(crate) fn newest_path(&self, root: &Path, names: Option<&NameKey>) -> PathBuf {
        let name = names.unwrap_or(&NameKey::PLAIN).of_root(root);
        self.dir.folder.join("roots").join(name)
    }
}
