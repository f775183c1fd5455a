//! Removes old checkpoints, and frees the space of contents that are no longer needed.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::index;
use crate::intent::Intent;
use crate::manifest::{BeforeState, Manifest};
use crate::node::ContentDigest;
use crate::pack::{Pack, PackWriter};
use crate::packs::Packs;
use crate::report::Collected;
use crate::request::Retention;
use crate::sealed;
use crate::take::Newest;
use crate::vault::Vault;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of packs that may be small; more are merged.
const SMALL_PACKS: usize = 32;
const SMALL: u64 = 1 << 20;

impl Vault {
    /// Removes checkpoints older than the retention allows (`now` in milliseconds since 1970), and
    /// if the rest is too large, the oldest of it; then removes contents without a reference.
    /// Contents that an unfinished restore needs stay. A damaged checkpoint stays, and its contents
    /// are removed.
    ///
    /// # Errors
    /// Fails if another process uses the vault, a checkpoint is of another version, or the system
    /// refuses. The steps up to that point remain in effect; the vault is consistent at every
    /// moment.
    pub fn collect_garbage(&self, retention: &Retention, now: u64) -> Result<Collected> {
        let _lock = self.lock_exclusive()?;
        let (manifests, damaged) = self.manifests()?;
        // The contents of a checkpoint that cannot be read here would look unused.
        if let Some(error) =
            damaged.into_iter().find(|error| matches!(error, CheckpointError::OtherVersion { .. }))
        {
            return Err(error);
        }
        let packs = Packs::load(&self.dir)?;
        let intents = self.intents()?;
        let oldest =
            now.saturating_sub(u64::try_from(retention.keep.as_millis()).unwrap_or(u64::MAX));
        let mut live = LiveContents::new(self, &packs, retention.max_bytes);
        let held: BTreeSet<&Id> =
            intents.iter().flat_map(|intent| [&intent.undo, &intent.of]).collect();
        intents.iter().for_each(|intent| live.hold(intent));
        let mut collected = Collected { bytes_before: packs.size(), ..Collected::default() };
        // Newest first: a checkpoint that no longer fits is older than those that do.
        for manifest in manifests.iter().rev() {
            let kept =
                held.contains(&manifest.id) || (manifest.at >= oldest && live.fits(manifest)?);
            if kept {
                live.add(manifest)?;
            } else {
                self.dir.remove(&self.manifest_path(&manifest.id))?;
                collected.checkpoints += 1;
            }
        }
        self.collect_snapshots(oldest, &mut live)?;
        // Nobody writes a draft while the exclusive lock is held: these are left from crashes.
        for path in self.dir.list("drafts")? {
            self.dir.remove(&path)?;
        }
        // A process that is killed below must not leave an index that names removed packs.
        index::forget(&self.dir)?;
        self.collect_packs(packs, &live.contents)?;
        collected.bytes_after = index::write(&self.dir, &Packs::load(&self.dir)?)?;
        Ok(collected)
    }

    fn intents(&self) -> Result<Vec<Intent>> {
        let ids = self.unfinished()?;
        Ok(ids
            .iter()
            .map(|id| sealed::read(&self.intent_path(id)))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// Removes snapshots that no checkpoint needs, except for the newest of a root in use, if its
    /// contents fit.
    fn collect_snapshots(&self, oldest: u64, live: &mut LiveContents<'_>) -> Result<()> {
        for path in self.dir.list("roots")? {
            let newest =
                sealed::read::<Newest>(&path).ok().flatten().filter(|newest| newest.at >= oldest);
            let kept =
                newest.filter(|newest| live.fits_snapshot(&newest.snapshot).unwrap_or(false));
            match kept {
                Some(newest) => live.add_snapshot(&newest.snapshot)?,
                None => self.dir.remove(&path)?,
            }
        }
        for path in self.dir.list("snapshots")? {
            let needed = path.file_name().is_some_and(|name| {
                live.snapshots.iter().any(|digest| name == &*digest.to_string())
            });
            if !needed {
                self.dir.remove(&path)?;
            }
        }
        Ok(())
    }

    /// Removes packs without a live content, and writes one new pack to replace those that are
    /// mostly dead or numerous and small.
    fn collect_packs(&self, packs: Packs, live: &BTreeSet<ContentDigest>) -> Result<()> {
        let small = packs.packs.iter().filter(|pack| pack.size < SMALL).count() > SMALL_PACKS;
        let is_dead = |pack: &Pack| !pack.entries().any(|(digest, _)| live.contains(&digest));
        let is_poor = |pack: &Pack| {
            let used: u64 = pack
                .entries()
                .filter(|(digest, _)| live.contains(digest))
                .map(|(_, extent)| extent.length)
                .sum();
            used < pack.size / 2 || (small && pack.size < SMALL)
        };
        let (dead, rest): (Vec<Pack>, Vec<Pack>) = packs.packs.into_iter().partition(is_dead);
        let (poor, rich): (Vec<Pack>, Vec<Pack>) = rest.into_iter().partition(is_poor);
        let wanted = |digest: &ContentDigest| {
            live.contains(digest) && !rich.iter().any(|pack| pack.find(digest).is_some())
        };
        let copied = if poor.is_empty() { Vec::new() } else { self.join(poor, wanted)? };
        for path in dead.into_iter().map(|pack| pack.path).chain(copied) {
            self.dir.remove(&path)?;
        }
        Ok(())
    }

    /// Writes the wanted contents of some packs into one, and returns the packs that are no longer
    /// needed.
    fn join(
        &self,
        packs: Vec<Pack>,
        wanted: impl Fn(&ContentDigest) -> bool,
    ) -> Result<Vec<PathBuf>> {
        let mut writer = PackWriter::begin(&self.dir)?;
        let copied = packs
            .into_iter()
            .map(|pack| Ok(copy(&mut writer, &pack, &wanted)?.then_some(pack.path)))
            .collect::<Result<Vec<_>>>();
        match copied {
            Ok(copied) => {
                let joined = writer.finish(&self.dir)?.map(|name| Pack::path(&self.dir, &name));
                Ok(copied
                    .into_iter()
                    .flatten()
                    .filter(|path| Some(path) != joined.as_ref())
                    .collect())
            }
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }
}

/// Copies the wanted contents of a pack; false if one is damaged. Such a pack stays, so that the
/// rest can be salvaged.
fn copy(
    writer: &mut PackWriter,
    pack: &Pack,
    wanted: &impl Fn(&ContentDigest) -> bool,
) -> Result<bool> {
    let mut whole = true;
    for (digest, extent) in pack.entries().filter(|(digest, _)| wanted(digest)) {
        if writer.index.contains_key(&digest) {
            continue;
        }
        let start = writer.position();
        let failed = |error| CheckpointError::io("copy", &pack.path)(error);
        if pack.copy(&digest, extent, &mut |part| writer.append(part)).map_err(failed)? {
            writer.add(digest, start);
        } else {
            writer.take_back(start).map_err(failed)?;
            whole = false;
        }
    }
    Ok(whole)
}

/// The contents that must stay.
struct LiveContents<'a> {
    vault: &'a Vault,
    sizes: BTreeMap<ContentDigest, u64>,
    max_bytes: u64,
    bytes: u64,
    contents: BTreeSet<ContentDigest>,
    snapshots: BTreeSet<ContentDigest>,
}

impl<'a> LiveContents<'a> {
    fn new(vault: &'a Vault, packs: &Packs, max_bytes: u64) -> Self {
        let sizes = packs
            .packs
            .iter()
            .flat_map(|pack| pack.entries().map(|(digest, extent)| (digest, extent.length)))
            .collect();
        Self {
            vault,
            sizes,
            max_bytes,
            bytes: 0,
            contents: BTreeSet::new(),
            snapshots: BTreeSet::new(),
        }
    }

    fn hold(&mut self, intent: &Intent) {
        let digests = intent
            .items
            .iter()
            .flat_map(|item| [&item.wanted, &item.expected])
            .filter_map(|known| known.node.digest());
        self.insert(digests.collect());
    }

    fn fits(&self, manifest: &Manifest) -> Result<bool> {
        Ok(self.would_fit(&self.needs(manifest)?))
    }

    fn fits_snapshot(&self, digest: &ContentDigest) -> Result<bool> {
        Ok(self.would_fit(&self.of_snapshot(digest)?))
    }

    fn would_fit(&self, contents: &BTreeSet<ContentDigest>) -> bool {
        let more: u64 =
            contents.difference(&self.contents).filter_map(|digest| self.sizes.get(digest)).sum();
        self.bytes.saturating_add(more) <= self.max_bytes
    }

    fn add(&mut self, manifest: &Manifest) -> Result<()> {
        let needs = self.needs(manifest)?;
        self.insert(needs);
        self.snapshots.extend(manifest.stored());
        Ok(())
    }

    fn add_snapshot(&mut self, digest: &ContentDigest) -> Result<()> {
        let needs = self.of_snapshot(digest)?;
        self.insert(needs);
        self.snapshots.insert(*digest);
        Ok(())
    }

    fn insert(&mut self, contents: BTreeSet<ContentDigest>) {
        for digest in contents {
            if self.contents.insert(digest) {
                self.bytes += self.sizes.get(&digest).copied().unwrap_or(0);
            }
        }
    }

    fn needs(&self, manifest: &Manifest) -> Result<BTreeSet<ContentDigest>> {
        let mut needs = BTreeSet::new();
        manifest.contents(&mut needs);
        for digest in manifest.stored() {
            needs.extend(self.of_snapshot(&digest)?);
        }
        Ok(needs)
    }

    /// Returns the contents of a snapshot; none if it is lost or damaged, since nobody can use it.
    fn of_snapshot(&self, digest: &ContentDigest) -> Result<BTreeSet<ContentDigest>> {
        match self.vault.before(&BeforeState::Stored(*digest)) {
            Ok(snapshot) => Ok(snapshot.values().filter_map(|known| known.node.digest()).collect()),
            Err(CheckpointError::Damaged { .. }) => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }
}
