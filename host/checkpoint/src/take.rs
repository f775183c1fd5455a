//! Before the action: what stands there, and the contents that are not in the vault yet.

use crate::error::CheckpointError;
use crate::keep::Keeper;
use crate::manifest::{Area, Before, Manifest, Scope};
use crate::node::Digest;
use crate::path::root;
use crate::report::{Cause, LeftOuts, Taken};
use crate::request::{Request, What};
use crate::scan::{Scan, Seen};
use crate::sealed;
use crate::snapshot::Snapshot;
use crate::targets;
use crate::vault::Vault;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Which snapshot of a root is the newest: the one whose stamps spare reading.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Newest {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) snapshot: Digest,
    pub(crate) at: u64,
}

impl Vault {
    /// Keeps what stands there, to be put back after the action.
    ///
    /// # Errors
    /// A root or target cannot be one, the call has a checkpoint already, another process is busy collecting, or
    /// the system refuses (a full disk among that). Then there is no checkpoint: the action cannot be undone.
    pub fn take(&self, request: &Request) -> Result<Taken> {
        let start = Instant::now();
        let _lock = self.share()?;
        if self.manifest_path(&request.id).exists() {
            return Err(CheckpointError::Exists { id: request.id.clone() });
        }
        let mut left_out = LeftOuts::default();
        let roots = targets::roots(&request.roots)?;
        let (tree, areas) = match &request.what {
            What::Tree => (true, targets::whole(roots)),
            What::Targets(paths) => (false, targets::chosen(roots, paths, &mut left_out)?),
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

    /// Looks at the areas and completes the manifest with them. Collections must be kept away.
    pub(crate) fn take_areas(
        &self,
        mut manifest: Manifest,
        areas: Vec<(PathBuf, Vec<Scope>)>,
        budget: Option<Duration>,
        start: Instant,
    ) -> Result<Taken> {
        let mut keeper = Keeper::new(&self.desk, &manifest.policy, self.bounds.max_bytes)?;
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
        areas: Vec<(PathBuf, Vec<Scope>)>,
        time: (Option<Duration>, Instant),
        keeper: &mut Keeper<'_>,
    ) -> Result<(u64, u64)> {
        let (mut files, mut hard_links) = (0, 0);
        let mut left_out = std::mem::take(&mut manifest.left_out);
        let mut snapshots = Vec::new();
        for (root, scopes) in areas {
            let base = if manifest.tree { self.newest(&root)? } else { None };
            let (digest, base) = base.unzip();
            let base = base.unwrap_or_default();
            let seen = self.look((&root, &scopes), manifest, (&base, false), time, keeper, &mut left_out)?;
            files += seen.snapshot.values().filter(|known| known.node.digest().is_some()).count() as u64;
            hard_links += seen.hard_links;
            snapshots.push((root, scopes, seen, digest));
        }
        manifest.left_out = left_out;
        // Contents first: what is named by a manifest must be there.
        keeper.finish()?;
        for (root, scopes, seen, digest) in snapshots {
            let before = match digest {
                _ if !manifest.tree => Before::Here(seen.snapshot),
                Some(digest) if !seen.news => Before::Stored(digest),
                _ => Before::Stored(self.remember(&root, &seen.snapshot, manifest.at)?),
            };
            manifest.areas.push(Area { root, scopes, before, changes: Vec::new() });
        }
        if self.desk.write(&self.manifest_path(&manifest.id), manifest, false)? {
            return Ok((files, hard_links));
        }
        Err(CheckpointError::Exists { id: manifest.id.clone() })
    }

    /// Looks at the scopes of a root.
    pub(crate) fn look(
        &self,
        (root, scopes): (&Path, &[Scope]),
        manifest: &Manifest,
        (base, faithful): (&Snapshot, bool),
        (budget, start): (Option<Duration>, Instant),
        keeper: &mut Keeper<'_>,
        left_out: &mut LeftOuts,
    ) -> Result<Seen> {
        let scan = Scan {
            root,
            scopes,
            policy: manifest.policy,
            choosy: manifest.tree,
            base,
            faithful,
            passed_over: &self.passed_over()?,
            vault: self.place()?,
            // Looking leaves time for reading, so that each take of a large tree gets further.
            deadlines: (budget.map(|budget| start + budget * 3 / 4), budget.map(|budget| start + budget)),
            now: self.clock()?,
        };
        scan.run(keeper, left_out)
    }

    /// The newest snapshot of a root. One that cannot be read is as good as none.
    pub(crate) fn newest(&self, root: &Path) -> Result<Option<(Digest, Snapshot)>> {
        let Ok(Some(newest)) = sealed::read::<Newest>(&self.newest_path(root)) else { return Ok(None) };
        let snapshot = sealed::read(&self.snapshot_path(&newest.snapshot)).ok().flatten();
        Ok(snapshot.map(|snapshot| (newest.snapshot, snapshot)))
    }

    /// Keeps a snapshot of a root as its newest.
    pub(crate) fn remember(&self, root: &Path, snapshot: &Snapshot, at: u64) -> Result<Digest> {
        let bytes = postcard::to_allocvec(snapshot)
            .map_err(|error| CheckpointError::io("write", root)(std::io::Error::other(error.to_string())))?;
        let digest = Digest::of(&bytes);
        self.desk.write(&self.snapshot_path(&digest), snapshot, true)?;
        let newest = Newest { root: root.to_owned(), snapshot: digest, at };
        self.desk.write(&self.newest_path(root), &newest, true)?;
        Ok(digest)
    }

    fn newest_path(&self, root: &Path) -> PathBuf {
        let name = Digest::of(root.as_os_str().as_encoded_bytes());
        self.desk.folder.join("roots").join(name.to_string())
    }
}
