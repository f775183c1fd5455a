//! The contents and snapshots that a collection keeps, each with the time of the newest checkpoint
//! that needs it.

use crate::error::CheckpointError;
use crate::intent::Intent;
use crate::manifest::{BeforeState, Manifest};
use crate::node::ContentDigest;
use crate::packs::Packs;
use crate::stored_name::StoredName;
use crate::take::Newest;
use crate::vault::Vault;
use portcullis_encryption::Day;
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The contents that must stay. Times are in milliseconds since 1970.
pub(crate) struct LiveContents<'a> {
    vault: &'a Vault,
    sizes: BTreeMap<ContentDigest, u64>,
    max_bytes: u64,
    bytes: u64,
    pub(crate) contents: BTreeMap<ContentDigest, u64>,
    pub(crate) snapshots: BTreeMap<StoredName, u64>,
    /// The days of checkpoints that stay. Each file that stays has the key of such a day in the end.
    pub(crate) days: BTreeSet<Day>,
}

impl<'a> LiveContents<'a> {
    pub(crate) fn new(vault: &'a Vault, packs: &Packs, max_bytes: u64) -> Self {
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
            contents: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            days: BTreeSet::new(),
        }
    }

    pub(crate) fn hold(&mut self, intent: &Intent) {
        let digests = intent
            .items
            .iter()
            .flat_map(|item| [&item.wanted, &item.expected])
            .filter_map(|known| known.node.digest());
        self.insert(digests.collect(), intent.at);
    }

    pub(crate) fn fits(&self, manifest: &Manifest) -> Result<bool> {
        Ok(self.would_fit(&self.needs(manifest)?))
    }

    /// Returns true if the contents of a snapshot fit. One that nobody can read does not.
    pub(crate) fn fits_snapshot(&self, name: &StoredName) -> Result<bool> {
        match self.of_snapshot(name) {
            Err(error) if error.unreadable().is_some() => Ok(false),
            contents => Ok(self.would_fit(&contents?)),
        }
    }

    fn would_fit(&self, contents: &BTreeSet<ContentDigest>) -> bool {
        let new = contents.iter().filter(|digest| !self.contents.contains_key(digest));
        let more: u64 = new.filter_map(|digest| self.sizes.get(digest)).sum();
        self.bytes.saturating_add(more) <= self.max_bytes
    }

    pub(crate) fn add(&mut self, manifest: &Manifest) -> Result<()> {
        let needs = self.needs(manifest)?;
        self.insert(needs, manifest.at);
        for name in manifest.stored() {
            self.insert_snapshot(name, manifest.at);
        }
        Ok(())
    }

    pub(crate) fn add_newest(&mut self, newest: &Newest) -> Result<()> {
        let needs = self.of_snapshot(&newest.snapshot)?;
        self.insert(needs, newest.at);
        self.insert_snapshot(newest.snapshot, newest.at);
        Ok(())
    }

    fn insert_snapshot(&mut self, name: StoredName, at: u64) {
        let newest = self.snapshots.entry(name).or_insert(at);
        *newest = at.max(*newest);
    }

    fn insert(&mut self, contents: BTreeSet<ContentDigest>, at: u64) {
        self.days.insert(Day::of_time(at));
        for digest in contents {
            if let Some(newest) = self.contents.get_mut(&digest) {
                *newest = at.max(*newest);
            } else {
                self.contents.insert(digest, at);
                self.bytes += self.sizes.get(&digest).copied().unwrap_or(0);
            }
        }
    }

    fn needs(&self, manifest: &Manifest) -> Result<BTreeSet<ContentDigest>> {
        let mut needs = BTreeSet::new();
        manifest.contents(&mut needs);
        for name in manifest.stored() {
            needs.extend(self.of_snapshot(&name)?);
        }
        Ok(needs)
    }

    /// Returns the contents of a snapshot; none if it is lost or damaged, since nobody can use it.
    fn of_snapshot(&self, name: &StoredName) -> Result<BTreeSet<ContentDigest>> {
        match self.vault.before(&BeforeState::Stored(*name)) {
            Ok(snapshot) => Ok(snapshot.values().filter_map(|known| known.node.digest()).collect()),
            Err(CheckpointError::Damaged { .. }) => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }
}
