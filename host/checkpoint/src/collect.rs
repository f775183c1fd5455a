//! Removes old checkpoints, frees the space of contents that are no longer needed, and destroys the
//! keys of their days.
//!
//! A file keeps the key of its day for as long as a checkpoint of that day stays. Then the contents
//! that later checkpoints still need move to packs with the key of the newest of these, and the old
//! key is destroyed: a content is readable as long as a checkpoint of it is kept, and no longer.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::index;
use crate::intent::Intent;
use crate::live_contents::LiveContents;
use crate::name_key::NameKey;
use crate::node::ContentDigest;
use crate::pack::Pack;
use crate::pack_writer::PackWriter;
use crate::packs::Packs;
use crate::report::Collected;
use crate::request::{CheckpointDurability, Retention};
use crate::sealed::{KIND, VaultDir};
use crate::stored_name::StoredName;
use crate::take::Newest;
use crate::vault::{FOLDERS, Vault};
use portcullis_encryption::{Day, KeyId};
use portcullis_fs::sync_folder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of packs that may be small, besides one for each day; more are merged.
const SMALL_PACKS: usize = 32;
const SMALL: u64 = 1 << 20;

impl Vault {
    /// Removes checkpoints older than the retention allows (`now` in milliseconds since 1970), and
    /// if the rest is too large, the oldest of it; then removes contents without a reference, and
    /// destroys the keys of days before yesterday that nothing needs any more. Contents that an
    /// unfinished restore needs stay. A damaged checkpoint stays until its day is over, and its
    /// contents are removed. What an earlier version left plain is encrypted.
    ///
    /// # Errors
    /// Fails if another process uses the vault, a checkpoint is of another version, a key is not
    /// available, or the system refuses. The steps up to that point remain in effect; the vault is
    /// consistent at every moment. Without its keys, nothing is removed.
    pub fn collect_garbage(&self, retention: &Retention, now: u64) -> Result<Collected> {
        let _lock = self.lock_exclusive()?;
        let mut vault = self.clone();
        // The replacement of a file must be on the disk before the file's key is destroyed.
        vault.dir.durability = CheckpointDurability::Power;
        let keep = u64::try_from(retention.keep.as_millis()).unwrap_or(u64::MAX);
        let encrypts = vault.dir.encrypts()?;
        let collection = Collection { vault, now, oldest: now.saturating_sub(keep), encrypts };
        collection.run(retention.max_bytes)
    }
}

/// One collection, under the exclusive lock.
struct Collection {
    vault: Vault,
    now: u64,
    /// The time of the oldest checkpoint that may stay.
    oldest: u64,
    encrypts: bool,
}

impl Collection {
    fn run(&self, max_bytes: u64) -> Result<Collected> {
        let dir = self.dir();
        let (manifests, unreadable) = self.vault.manifests()?;
        let packs = Packs::load(dir)?;
        let intents = self.intents()?;
        let over = self.find_over(unreadable, &packs.unreadable)?;
        // A process that is killed below must not leave an index that names removed packs.
        index::forget(dir)?;
        let names = NameKey::renew(dir, self.now)?;
        let mut live = LiveContents::new(&self.vault, &packs, max_bytes);
        let held: BTreeSet<&Id> =
            intents.iter().flat_map(|intent| [&intent.undo, &intent.of]).collect();
        intents.iter().for_each(|intent| live.hold(intent));
        let mut collected = Collected { bytes_before: packs.size(), ..Collected::default() };
        // Newest first: a checkpoint that no longer fits is older than those that do.
        for manifest in manifests.iter().rev() {
            let path = self.vault.manifest_path(&manifest.id);
            let kept = held.contains(&manifest.id)
                || (manifest.at >= self.oldest && live.fits(manifest)?);
            if kept {
                live.add(manifest)?;
                self.renew_file(&path, manifest.at, &live)?;
            } else {
                dir.remove(&path)?;
                collected.checkpoints += 1;
            }
        }
        self.collect_roots(&names, &mut live)?;
        self.collect_snapshots(&live)?;
        // Nobody writes a draft while the exclusive lock is held: these are left from crashes.
        for path in dir.list("drafts")?.iter().chain(&over) {
            dir.remove(path)?;
        }
        self.collect_packs(packs, &live)?;
        collected.bytes_after = index::write(dir, &Packs::load(dir)?, &names)?;
        collected.keys = self.destroy_keys()?;
        Ok(collected)
    }

    const fn dir(&self) -> &VaultDir {
        &self.vault.dir
    }

    fn intents(&self) -> Result<Vec<Intent>> {
        let ids = self.vault.unfinished()?;
        Ok(ids
            .iter()
            .map(|id| self.dir().read(&self.vault.intent_path(id)))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// Returns the files that nobody can read any more and whose day is over.
    ///
    /// # Errors
    /// Fails with the error of a file that can be read again: the contents of such a checkpoint would
    /// look unused.
    fn find_over(
        &self,
        checkpoints: Vec<CheckpointError>,
        packs: &[CheckpointError],
    ) -> Result<Vec<PathBuf>> {
        let mut over = Vec::new();
        for error in checkpoints {
            match error.unreadable() {
                Some(path) if self.is_over(path)? => over.push(path.to_owned()),
                Some(_) if matches!(error, CheckpointError::Damaged { .. }) => {}
                _ => return Err(error),
            }
        }
        for error in packs {
            match error {
                CheckpointError::Damaged { path, .. } if self.is_over(path)? => {
                    over.push(path.clone());
                }
                CheckpointError::Damaged { .. } => {}
                // Later checkpoints may need it as well, so its day says nothing.
                CheckpointError::Encryption { path, .. } => {
                    return Pack::open(self.dir(), path).map(|_| over);
                }
                _ => {}
            }
        }
        Ok(over)
    }

    /// Returns true if the key of a file is of a day of which the retention keeps nothing.
    fn is_over(&self, path: &Path) -> Result<bool> {
        Ok(self.dir().key_of(path)?.is_some_and(|key| self.is_day_over(key)))
    }

    fn is_day_over(&self, key: KeyId) -> bool {
        key.day < Day::of_time(self.oldest)
    }

    /// Returns true if a file that stays needs the key of another day, or a first one.
    fn needs_renewal(&self, key: Option<KeyId>, live: &LiveContents<'_>) -> bool {
        self.encrypts && key.is_none_or(|key| !live.days.contains(&key.day))
    }

    fn renew_file(&self, path: &Path, at: u64, live: &LiveContents<'_>) -> Result<()> {
        if !self.needs_renewal(self.dir().key_of(path)?, live) {
            return Ok(());
        }
        match self.dir().rewrite(path, at) {
            Err(error) if error.unreadable().is_some() => Ok(()),
            written => written,
        }
    }

    /// Keeps the newest snapshot of each root in use, if its contents fit, under the root's new name.
    fn collect_roots(&self, names: &NameKey, live: &mut LiveContents<'_>) -> Result<()> {
        let dir = self.dir();
        let paths = dir.list("roots")?;
        let mut roots: BTreeMap<PathBuf, Newest> = BTreeMap::new();
        for path in &paths {
            let newest = match dir.read::<Newest>(path) {
                Err(error @ CheckpointError::Encryption { .. }) if error.unreadable().is_none() => {
                    return Err(error);
                }
                read => read.ok().flatten().filter(|newest| newest.at >= self.oldest),
            };
            let Some(newest) = newest else { continue };
            // A process that was killed can have left one under an old name.
            if roots.get(&newest.root).is_none_or(|known| known.at < newest.at) {
                roots.insert(newest.root.clone(), newest);
            }
        }
        let mut kept = BTreeSet::new();
        for newest in roots.values() {
            if live.fits_snapshot(&newest.snapshot)? {
                live.add_newest(newest)?;
                let path = self.vault.newest_path(&newest.root, Some(names));
                dir.write(&path, newest, true, newest.at)?;
                kept.insert(path);
            }
        }
        paths.iter().filter(|path| !kept.contains(*path)).try_for_each(|path| dir.remove(path))
    }

    /// Removes snapshots that nothing needs.
    fn collect_snapshots(&self, live: &LiveContents<'_>) -> Result<()> {
        for path in self.dir().list("snapshots")? {
            let name = path.file_name().and_then(|name| StoredName::parse(name.to_str()?));
            match name.and_then(|name| live.snapshots.get(&name)) {
                Some(at) => self.renew_file(&path, *at, live)?,
                None => self.dir().remove(&path)?,
            }
        }
        Ok(())
    }

    /// Removes packs without a live content, and writes new packs to replace those that are mostly
    /// dead, or numerous and small, or hold dead contents of a day without a checkpoint.
    fn collect_packs(&self, packs: Packs, live: &LiveContents<'_>) -> Result<()> {
        let may_be_small = SMALL_PACKS + if self.encrypts { live.days.len() } else { 0 };
        let small = packs.packs.iter().filter(|pack| pack.size < SMALL).count() > may_be_small;
        let is_live = |digest: &ContentDigest| live.contents.contains_key(digest);
        let is_dead = |pack: &Pack| !pack.entries().any(|(digest, _)| is_live(&digest));
        let is_poor = |pack: &Pack| {
            let used: u64 = pack
                .entries()
                .filter(|(digest, _)| is_live(digest))
                .map(|(_, extent)| extent.length)
                .sum();
            let has_dead = || pack.entries().any(|(digest, _)| !is_live(&digest));
            used < pack.size / 2
                || (small && pack.size < SMALL)
                || (self.needs_renewal(pack.key, live) && (pack.key.is_none() || has_dead()))
        };
        let (dead, rest): (Vec<Pack>, Vec<Pack>) = packs.packs.into_iter().partition(is_dead);
        let (poor, rich): (Vec<Pack>, Vec<Pack>) = rest.into_iter().partition(is_poor);
        let copied = self.join(&poor, &rich, live)?;
        for pack in rich.iter().filter(|pack| self.needs_renewal(pack.key, live)) {
            // Of the day whose end comes first: then it has to be looked through again.
            let times = pack.entries().filter_map(|(digest, _)| live.contents.get(&digest));
            pack.renew_key(self.dir(), times.min().copied().unwrap_or(self.now))?;
        }
        for path in dead.into_iter().map(|pack| pack.path).chain(copied) {
            self.dir().remove(&path)?;
        }
        Ok(())
    }

    /// Writes the live contents of some packs into new ones, as far as no rich pack has them: one for
    /// each day to whose end they are needed. Returns the packs that are no longer needed.
    fn join(&self, packs: &[Pack], rich: &[Pack], live: &LiveContents<'_>) -> Result<Vec<PathBuf>> {
        let mut wanted: BTreeMap<Option<Day>, (u64, BTreeSet<ContentDigest>)> = BTreeMap::new();
        for (digest, _) in packs.iter().flat_map(Pack::entries) {
            let at = live.contents.get(&digest).copied();
            if let Some(at) = at.filter(|_| !rich.iter().any(|pack| pack.find(&digest).is_some())) {
                let day = self.encrypts.then(|| Day::of_time(at));
                wanted.entry(day).or_insert_with(|| (at, BTreeSet::new())).1.insert(digest);
            }
        }
        let (mut broken, mut joined) = (BTreeSet::new(), BTreeSet::new());
        for (at, digests) in wanted.values() {
            let mut writer = PackWriter::begin(self.dir(), *at)?;
            match copy_all(&mut writer, packs, digests) {
                Ok(damaged) => broken.extend(damaged),
                Err(error) => {
                    writer.discard();
                    return Err(error);
                }
            }
            joined.extend(writer.finish(self.dir())?.map(|name| Pack::path(self.dir(), &name)));
        }
        let is_needed = |pack: &Pack| {
            // The rest of a damaged one can be salvaged until its day is over.
            let is_over = pack.key.is_some_and(|key| self.is_day_over(key));
            joined.contains(&pack.path) || (broken.contains(&pack.path) && !is_over)
        };
        Ok(packs.iter().filter(|pack| !is_needed(pack)).map(|pack| pack.path.clone()).collect())
    }

    /// Destroys the keys of days before yesterday that no file of the vault names, and returns their
    /// number.
    fn destroy_keys(&self) -> Result<u64> {
        let dir = self.dir();
        let failed = || CheckpointError::encryption("destroy keys in", dir.keys.folder());
        let before = Day::of_time(self.now).minus_days(1);
        let old = dir.keys.keys_before(KIND, before).map_err(failed())?;
        if old.is_empty() {
            return Ok(0);
        }
        let mut needed = BTreeSet::new();
        for folder in FOLDERS {
            for path in dir.list(folder)? {
                needed.extend(dir.key_of(&path)?);
            }
        }
        if old.iter().all(|key| needed.contains(key)) {
            return Ok(0);
        }
        dir.step("destroy", dir.keys.folder())?;
        // A file that a power failure brings back would have lost its key.
        for folder in FOLDERS.map(|name| dir.folder.join(name)) {
            sync_folder(&folder).map_err(CheckpointError::io("flush", &folder))?;
        }
        let destroyed = dir.keys.destroy_all_keys(KIND, before, &needed).map_err(failed())?;
        Ok(destroyed.count)
    }
}

/// Copies the wanted contents of some packs, each once; returns the packs of which one is damaged.
fn copy_all(
    writer: &mut PackWriter,
    packs: &[Pack],
    wanted: &BTreeSet<ContentDigest>,
) -> Result<Vec<PathBuf>> {
    let mut damaged = Vec::new();
    for pack in packs {
        for (digest, extent) in pack.entries().filter(|(digest, _)| wanted.contains(digest)) {
            if writer.index.contains_key(&digest) {
                continue;
            }
            let start = writer.position();
            let failed = |error| CheckpointError::io("copy", &pack.path)(error);
            if pack.copy(&digest, extent, &mut |part| writer.append(part)).map_err(failed)? {
                writer.add(digest, start).map_err(failed)?;
            } else {
                writer.take_back(start).map_err(failed)?;
                damaged.push(pack.path.clone());
            }
        }
    }
    Ok(damaged)
}
