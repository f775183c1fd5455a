//! The location of each content, so that a take opens only the packs that it needs, regardless of
//! their number.
//!
//! ```text
//! index/00 .. index/3f   digest of a content, name of its pack; by the first bits of the digest
//! index/key              the key that hides these digests; none in a plain vault
//! index/sizes            size of each pack and its complement; written last, so that without it nothing counts
//! ```
//!
//! The index is only a hint. The packs themselves are authoritative: a wrong entry costs a read, a
//! missing one a content that is stored twice until the next collection, which rewrites the index.
//! So nothing here is ever flushed, and a missing or torn file is rebuilt from the packs.

use crate::error::CheckpointError;
use crate::name_key::{INDEX, NameKey};
use crate::node::ContentDigest;
use crate::pack::Pack;
use crate::pack_writer::PackWriter;
use crate::packs::Packs;
use crate::sealed::VaultDir;
use crate::stored_name::StoredName;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

const SIZES: &str = "sizes";
/// The bits of a digest's first byte that do not select its file.
const SHIFT: u32 = 2;
const ENTRY: usize = 64;
const SIZE: usize = 16;

/// The contents of a vault, as far as they were looked up.
#[derive(Debug)]
pub(crate) struct VaultIndex<'a> {
    dir: &'a VaultDir,
    /// The time of new files.
    at: u64,
    /// Hides the digests.
    pub(crate) names: NameKey,
    /// Bytes of all packs.
    pub(crate) size: u64,
    parts: HashMap<u8, Vec<IndexEntry>>,
    packs: HashMap<StoredName, Option<Pack>>,
}

/// A hidden content, and the pack that should contain it.
type IndexEntry = (ContentDigest, StoredName);

impl<'a> VaultIndex<'a> {
    /// Opens the index. What has to be written gets the key of the day of `at`, in milliseconds since
    /// 1970.
    pub(crate) fn open(dir: &'a VaultDir, at: u64) -> Result<Self> {
        let known = match NameKey::read(dir)? {
            Some(names) => sum(&read(&part(dir, SIZES))?).map(|size| (names, size)),
            None => None,
        };
        let (names, size) = known.map_or_else(|| rebuild(dir, at), Ok)?;
        Ok(Self { dir, at, names, size, parts: HashMap::new(), packs: HashMap::new() })
    }

    /// Returns true if a content is indexed. Its bytes are not read.
    pub(crate) fn has(&mut self, digest: &ContentDigest) -> Result<bool> {
        let hidden = self.names.hide(digest);
        let key = key(&hidden);
        let entries = match self.parts.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(entries(self.dir, key, self.at)?)
            }
        };
        let first = entries.partition_point(|(known, _)| *known < hidden);
        for (_, name) in entries.iter().skip(first).take_while(|(known, _)| *known == hidden) {
            let pack = self
                .packs
                .entry(*name)
                .or_insert_with(|| Pack::open(self.dir, &Pack::path(self.dir, name)).ok());
            if pack.as_ref().is_some_and(|pack| pack.find(digest).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Turns what was written into a pack of the vault.
    pub(crate) fn add(&self, writer: PackWriter) -> Result<()> {
        let digests: Vec<ContentDigest> = writer.index.keys().copied().collect();
        // The size is written first: if the process dies in between, the total is too high and not
        // too low.
        append(self.dir, SIZES, &weight(writer.size()))?;
        let Some(name) = writer.finish(self.dir)? else { return Ok(()) };
        let entries = digests.into_iter().map(|digest| (self.names.hide(&digest), name));
        by_part(entries)
            .iter()
            .try_for_each(|(key, bytes)| append(self.dir, &file_name(*key), bytes))
    }
}

/// Invalidates the index until it is rewritten.
pub(crate) fn forget(dir: &VaultDir) -> Result<()> {
    dir.remove(&part(dir, SIZES))
}

/// Rewrites the index, with a new key if the one that it has cannot be read.
fn rebuild(dir: &VaultDir, at: u64) -> Result<(NameKey, u64)> {
    let names = match NameKey::read(dir)? {
        Some(names) => names,
        None => {
            forget(dir)?;
            NameKey::make(dir, at)?
        }
    };
    let size = write(dir, &Packs::load(dir)?, &names)?;
    Ok((names, size))
}

/// Rewrites the index and returns the total bytes of the packs.
pub(crate) fn write(dir: &VaultDir, packs: &Packs, names: &NameKey) -> Result<u64> {
    let entries = packs
        .packs
        .iter()
        .flat_map(|pack| pack.entries().map(|(digest, _)| (names.hide(&digest), pack.name)));
    let parts = by_part(entries);
    for key in 0..=key(&ContentDigest([u8::MAX; 32])) {
        match parts.get(&key) {
            Some(bytes) => replace(dir, &file_name(key), bytes)?,
            None if part(dir, &file_name(key)).exists() => {
                dir.remove(&part(dir, &file_name(key)))?
            }
            None => {}
        }
    }
    let sizes: Vec<u8> = packs.packs.iter().flat_map(|pack| weight(pack.size)).collect();
    replace(dir, SIZES, &sizes)?;
    Ok(packs.size())
}

fn key(digest: &ContentDigest) -> u8 {
    digest.0[0] >> SHIFT
}

fn file_name(key: u8) -> String {
    format!("{key:02x}")
}

fn part(dir: &VaultDir, name: &str) -> PathBuf {
    dir.folder.join(INDEX).join(name)
}

fn by_part(entries: impl Iterator<Item = IndexEntry>) -> BTreeMap<u8, Vec<u8>> {
    let mut parts: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    for (digest, pack) in entries {
        let bytes = parts.entry(key(&digest)).or_default();
        bytes.extend_from_slice(&digest.0);
        bytes.extend_from_slice(&pack.0);
    }
    parts
}

/// Returns the entries of one file, in order. A torn file is not reliable, so the index is rebuilt.
fn entries(dir: &VaultDir, key: u8, at: u64) -> Result<Vec<IndexEntry>> {
    let path = part(dir, &file_name(key));
    let mut bytes = read(&path)?.unwrap_or_default();
    if !bytes.len().is_multiple_of(ENTRY) {
        rebuild(dir, at)?;
        bytes = read(&path)?.unwrap_or_default();
    }
    let (digests, _) = bytes.as_chunks::<32>();
    let (pairs, _) = digests.as_chunks::<2>();
    let mut entries: Vec<IndexEntry> =
        pairs.iter().map(|[digest, pack]| (ContentDigest(*digest), StoredName(*pack))).collect();
    entries.sort_unstable();
    Ok(entries)
}

/// Returns the total size; none if the file is missing or torn.
fn sum(bytes: &Option<Vec<u8>>) -> Option<u64> {
    let (numbers, rest) = bytes.as_ref()?.as_chunks::<8>();
    let (pairs, odd) = numbers.as_chunks::<2>();
    let good = |[size, complement]: &[[u8; 8]; 2]| {
        let size = u64::from_le_bytes(*size);
        (u64::from_le_bytes(*complement) == !size).then_some(size)
    };
    let whole = rest.is_empty() && odd.is_empty();
    pairs.iter().try_fold(0_u64, |sum, pair| sum.checked_add(good(pair)?)).filter(|_| whole)
}

fn weight(size: u64) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let (one, other) = bytes.split_at_mut(SIZE / 2);
    one.copy_from_slice(&size.to_le_bytes());
    other.copy_from_slice(&(!size).to_le_bytes());
    bytes
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(CheckpointError::io("read", path)),
    }
}

/// Appends in a single write, which other processes cannot interleave.
fn append(dir: &VaultDir, name: &str, bytes: &[u8]) -> Result<()> {
    let path = part(dir, name);
    dir.step("index", &path)?;
    let write =
        || OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?.write_all(bytes);
    write().map_err(CheckpointError::io("write", &path))
}

fn replace(dir: &VaultDir, name: &str, bytes: &[u8]) -> Result<()> {
    let path = part(dir, name);
    let (draft, mut file) = dir.draft()?;
    let written = file
        .write_all(bytes)
        .map_err(CheckpointError::io("write", &path))
        .and_then(|()| dir.step("index", &path));
    if let Err(error) = written
        .and_then(|()| fs::rename(&draft, &path).map_err(CheckpointError::io("write", &path)))
    {
        // If it is left over after a crash, the next collection removes it.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(())
}
