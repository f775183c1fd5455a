//! Where a content lies, so that a take opens only the packs that it asks for, however many there are.
//!
//! ```text
//! index/00 .. index/3f   digest of a content, name of its pack; by the first bits of the digest
//! index/sizes            size of each pack and its complement; written last, so that without it nothing counts
//! ```
//!
//! All of it is a guess. What a pack holds is told by the pack alone: a wrong entry costs a look, a missing one a
//! content that is kept twice until the next collection, which writes all anew. So nothing here is ever flushed, and
//! what is gone or torn is made again from the packs.

use crate::error::CheckpointError;
use crate::node::Digest;
use crate::pack::{Draft, Pack};
use crate::packs::Packs;
use crate::sealed::Desk;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(crate) const FOLDER: &str = "index";
const SIZES: &str = "sizes";
/// Bits of a digest's first byte that do not tell which file is its own.
const SHIFT: u32 = 2;
const ENTRY: usize = 64;
const SIZE: usize = 16;

/// The contents of a vault, as far as they were asked for.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    desk: &'a Desk,
    /// Bytes of all packs.
    pub(crate) size: u64,
    parts: HashMap<u8, Vec<Entry>>,
    packs: HashMap<Digest, Option<Pack>>,
}

/// A content, and the pack that should have it.
type Entry = (Digest, Digest);

impl<'a> Index<'a> {
    pub(crate) fn open(desk: &'a Desk) -> Result<Self> {
        let size = match sum(&read(&part(desk, SIZES))?) {
            Some(size) => size,
            None => write(desk, &Packs::load(desk)?)?,
        };
        Ok(Self { desk, size, parts: HashMap::new(), packs: HashMap::new() })
    }

    /// Whether a content is there. Its bytes are not looked at.
    pub(crate) fn has(&mut self, digest: &Digest) -> Result<bool> {
        let key = key(digest);
        let entries = match self.parts.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(entries(self.desk, key)?),
        };
        let first = entries.partition_point(|(known, _)| known < digest);
        for (_, name) in entries.iter().skip(first).take_while(|(known, _)| known == digest) {
            let pack = self.packs.entry(*name).or_insert_with(|| Pack::open(&Pack::path(self.desk, name)).ok());
            if pack.as_ref().is_some_and(|pack| pack.find(digest).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes a draft a pack of the vault.
    pub(crate) fn add(&self, draft: Draft) -> Result<()> {
        let digests: Vec<Digest> = draft.index.keys().copied().collect();
        // First: of a process that dies in between, too much is counted and not too little.
        append(self.desk, SIZES, &weight(draft.size()))?;
        let Some(name) = draft.finish(self.desk)? else { return Ok(()) };
        let entries = digests.into_iter().map(|digest| (digest, name));
        by_part(entries).iter().try_for_each(|(key, bytes)| append(self.desk, &file_name(*key), bytes))
    }
}

/// Nothing counts any more until all is written anew.
pub(crate) fn forget(desk: &Desk) -> Result<()> {
    desk.remove(&part(desk, SIZES))
}

/// Writes all of it anew and says how many bytes the packs have.
pub(crate) fn write(desk: &Desk, packs: &Packs) -> Result<u64> {
    let entries = packs.packs.iter().flat_map(|pack| pack.entries().map(|(digest, _)| (digest, pack.name)));
    let parts = by_part(entries);
    for key in 0..=key(&Digest([u8::MAX; 32])) {
        match parts.get(&key) {
            Some(bytes) => replace(desk, &file_name(key), bytes)?,
            None if part(desk, &file_name(key)).exists() => desk.remove(&part(desk, &file_name(key)))?,
            None => {}
        }
    }
    let sizes: Vec<u8> = packs.packs.iter().flat_map(|pack| weight(pack.size)).collect();
    replace(desk, SIZES, &sizes)?;
    Ok(packs.size())
}

fn key(digest: &Digest) -> u8 {
    digest.0[0] >> SHIFT
}

fn file_name(key: u8) -> String {
    format!("{key:02x}")
}

fn part(desk: &Desk, name: &str) -> PathBuf {
    desk.folder.join(FOLDER).join(name)
}

fn by_part(entries: impl Iterator<Item = Entry>) -> BTreeMap<u8, Vec<u8>> {
    let mut parts: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    for (digest, pack) in entries {
        let bytes = parts.entry(key(&digest)).or_default();
        bytes.extend_from_slice(&digest.0);
        bytes.extend_from_slice(&pack.0);
    }
    parts
}

/// What one file says, in order. One that was torn says nothing that could be relied on, so all is made anew.
fn entries(desk: &Desk, key: u8) -> Result<Vec<Entry>> {
    let path = part(desk, &file_name(key));
    let mut bytes = read(&path)?.unwrap_or_default();
    if !bytes.len().is_multiple_of(ENTRY) {
        write(desk, &Packs::load(desk)?)?;
        bytes = read(&path)?.unwrap_or_default();
    }
    let (digests, _) = bytes.as_chunks::<32>();
    let (pairs, _) = digests.as_chunks::<2>();
    let mut entries: Vec<Entry> = pairs.iter().map(|[digest, pack]| (Digest(*digest), Digest(*pack))).collect();
    entries.sort_unstable();
    Ok(entries)
}

/// None if there is nothing or it was torn.
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

/// With one write, which no other process's comes between.
fn append(desk: &Desk, name: &str, bytes: &[u8]) -> Result<()> {
    let path = part(desk, name);
    desk.step("index", &path)?;
    let write = || OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?.write_all(bytes);
    write().map_err(CheckpointError::io("write", &path))
}

fn replace(desk: &Desk, name: &str, bytes: &[u8]) -> Result<()> {
    let path = part(desk, name);
    let (draft, mut file) = desk.draft()?;
    let written = file.write_all(bytes).map_err(CheckpointError::io("write", &path)).and_then(|()| desk.step("index", &path));
    if let Err(error) = written.and_then(|()| fs::rename(&draft, &path).map_err(CheckpointError::io("write", &path))) {
        // Left over by a crash, it goes with the next collection.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(())
}
