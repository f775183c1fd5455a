//! Restores an earlier state, or completes an earlier restore.

use crate::difference::{Difference, PathStatus};
use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::history::CheckpointHistory;
use crate::id::Id;
use crate::intent::Intent;
use crate::manifest::{Manifest, ScannedPath};
use crate::node::Node;
use crate::plan::{Item, differences, items};
use crate::report::{Cause, LeftOut, LeftOuts, Restored, Taken};
use crate::request::{ExclusionPolicy, RestoreOptions};
use crate::restore_executor::RestoreExecutor;
use crate::targets;
use crate::vault::Vault;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

type Result<T> = std::result::Result<T, CheckpointError>;

impl Vault {
    /// Undoes the action of a checkpoint and all later ones below the same roots: each path gets
    /// its oldest state since the checkpoint back. All or nothing: one path that does not hold the
    /// state that the newest action left refuses the whole restore, unless it is forced or not
    /// among [`RestoreOptions::only`](crate::RestoreOptions::only). Paths whose state was not
    /// stored are left as they are and reported; so is a folder that contains files of others. An
    /// earlier restore that did not finish is completed first.
    ///
    /// # Errors
    /// Nothing is changed if paths are refused, a content is lost or damaged, a root is no longer a
    /// folder, or the system refuses before the first path is restored. After that,
    /// [`CheckpointError::HalfDone`] gives the cause, and the next restore, or [`Vault::resume`],
    /// completes the work.
    pub fn restore_checkpoint(&self, id: &Id, how: &RestoreOptions) -> Result<Restored> {
        let _lock = self.lock_shared()?;
        let _restores = self.lock_restores()?;
        if !how.dry {
            for (undo, restored) in self.resume_shared()? {
                if undo == how.undo {
                    return self.look_again(id, how, restored);
                }
            }
            if self.manifest_path(&how.undo).exists() {
                return Err(CheckpointError::Exists { id: how.undo.clone() });
            }
        }
        let only = resolve_all(&self.files, &how.only)?;
        let CheckpointHistory { paths, mut policy, not_covered } = self.histories(id, &how.also)?;
        let examined = self.examine(paths, &policy, &only, how.force)?;
        let found = differences(&examined);
        let bars = |one: &&Difference| {
            if how.force { one.standing == PathStatus::Barred } else { one.standing.is_refused() }
        };
        let refused: Vec<Difference> = found.iter().filter(bars).cloned().collect();
        if !refused.is_empty() {
            return Err(CheckpointError::Refused { paths: refused });
        }
        let items = items(&examined, how.force, self, &policy)?;
        let restored = Restored { not_covered, ..report(&found, &items) };
        if how.dry || items.is_empty() {
            return Ok(restored);
        }
        // A person's changes are stored regardless of their size.
        let forced =
            found.iter().filter(|one| one.standing.is_refused()).map(|one| size(&one.now)).max();
        policy = ExclusionPolicy {
            max_file: policy.max_file.max(forced.unwrap_or(0)),
            max_total: u64::MAX,
            ..policy
        };
        let loosened = RestoreExecutor::loosened(&self.files, &items)?;
        let intent =
            Intent { undo: how.undo.clone(), of: id.clone(), at: how.at, policy, items, loosened };
        // From here on the next restore completes what a crash interrupts.
        self.dir.write(&self.intent_path(&intent.undo), &intent, false, intent.at)?;
        let restored = self.carry_out(&intent, true, restored)?;
        self.look_again(id, how, restored)
    }

    /// Looks at each path once more after a restore, and reports those that are not as wanted.
    fn look_again(&self, id: &Id, how: &RestoreOptions, restored: Restored) -> Result<Restored> {
        let CheckpointHistory { paths, policy, not_covered } = self.histories(id, &how.also)?;
        let examined =
            self.examine(paths, &policy, &resolve_all(&self.files, &how.only)?, false)?;
        let known = |one: &Difference| {
            restored.stays.contains(&one.path)
                || matches!(
                    one.standing,
                    PathStatus::AlreadyBack | PathStatus::Stays | PathStatus::NotKept(_)
                )
        };
        let mut differs = differences(&examined);
        differs.retain(|one| !known(one) && !restored.left_alone.contains(&one.path));
        Ok(Restored { differs, not_covered, ..restored })
    }

    /// Completes restores that did not finish, and returns the result of each, by the id of its own
    /// checkpoint. A path that somebody changed between the crash and now is left as it is and
    /// reported.
    ///
    /// # Errors
    /// Fails as [`Vault::restore_checkpoint`] does.
    pub fn resume(&self) -> Result<Vec<(Id, Restored)>> {
        let _lock = self.lock_shared()?;
        let _restores = self.lock_restores()?;
        self.resume_shared()
    }

    fn resume_shared(&self) -> Result<Vec<(Id, Restored)>> {
        let mut ended = Vec::new();
        for undo in self.unfinished()? {
            if let Some(intent) = self.dir.read::<Intent>(&self.intent_path(&undo))? {
                let restored = self.carry_out(&intent, false, report(&[], &intent.items))?;
                ended.push((undo, restored));
            }
        }
        Ok(ended)
    }

    /// Executes an intent. A fresh one that fails before the first path is restored is abandoned;
    /// nothing was changed then.
    fn carry_out(&self, intent: &Intent, fresh: bool, mut restored: Restored) -> Result<Restored> {
        let half_done = |error| CheckpointError::HalfDone {
            undo: intent.undo.clone(),
            source: Box::new(error),
        };
        let carrier = RestoreExecutor { vault: self, intent };
        let taken =
            match self.keep_overwritten(intent).and_then(|taken| carrier.stage().map(|()| taken)) {
                Ok(taken) => taken,
                Err(error) if fresh => {
                    carrier.abandon()?;
                    self.dir.remove(&self.manifest_path(&intent.undo))?;
                    self.dir.remove(&self.intent_path(&intent.undo))?;
                    return Err(error);
                }
                Err(error) => return Err(half_done(error)),
            };
        let outcome = carrier.put_back().map_err(half_done)?;
        self.settle_shared(&intent.undo, intent.at, None).map_err(half_done)?;
        self.dir.remove(&self.intent_path(&intent.undo)).map_err(half_done)?;
        restored
            .restored
            .retain(|path| !outcome.left_alone.contains(path) && !outcome.stays.contains(path));
        restored.stays.extend(outcome.stays);
        restored.left_alone = outcome.left_alone;
        restored.undo = taken.map(|taken| (intent.undo.clone(), taken));
        Ok(restored)
    }

    /// Takes the restore's own checkpoint, unless an earlier run did so.
    fn keep_overwritten(&self, intent: &Intent) -> Result<Option<Taken>> {
        if self.manifest_path(&intent.undo).exists() {
            return Ok(None);
        }
        let mut areas: BTreeMap<PathBuf, BTreeSet<ScannedPath>> = BTreeMap::new();
        for item in &intent.items {
            let scopes = areas.entry(item.root.clone()).or_default();
            scopes.insert(ScannedPath { path: item.path.clone(), deep: false });
            let missing = item
                .path
                .ancestors()
                .take_while(|above| self.files.is_missing(&item.root.join(above.as_path())));
            scopes.extend(missing.map(|path| ScannedPath { path, deep: false }));
        }
        let manifest = Manifest {
            id: intent.undo.clone(),
            at: intent.at,
            cause: Cause::Restore(intent.of.clone()),
            tree: false,
            policy: intent.policy,
            areas: Vec::new(),
            left_out: LeftOuts::default(),
            settled: None,
        };
        let mut roomy = self.clone();
        // A full vault must not make this checkpoint leave out what the restore overwrites.
        roomy.bounds.max_bytes = u64::MAX;
        let areas =
            areas.into_iter().map(|(root, scopes)| (root, scopes.into_iter().collect())).collect();
        roomy.take_areas(manifest, areas, None, Instant::now()).map(Some)
    }

    pub(crate) fn intent_path(&self, undo: &Id) -> PathBuf {
        self.dir.folder.join("restores").join(undo.as_str())
    }
}

fn resolve_all(files: &FileAccess, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    paths.iter().map(|path| targets::resolve(files, path)).collect()
}

fn size(node: &Node) -> u64 {
    match node {
        Node::File { size, .. } => *size,
        _ => 0,
    }
}

fn report(found: &[Difference], items: &[Item]) -> Restored {
    let standing = |wanted: PathStatus| {
        found.iter().filter(move |one| one.standing == wanted).map(|one| one.path.clone()).collect()
    };
    let not_kept = |one: &Difference| match one.standing {
        PathStatus::NotKept(why) => Some(LeftOut { path: one.path.clone(), why }),
        _ => None,
    };
    Restored {
        restored: items.iter().map(Item::full).collect(),
        already: standing(PathStatus::AlreadyBack),
        stays: standing(PathStatus::Stays),
        not_kept: found.iter().filter_map(not_kept).collect(),
        left_alone: Vec::new(),
        differs: Vec::new(),
        not_covered: LeftOuts::default(),
        undo: None,
        planned: found.to_vec(),
    }
}
