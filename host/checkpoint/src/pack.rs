//! Packs: files of contents, one per checkpoint, written once and then only read.
//!
//! ```text
//! mark | contents, one after the other | digest, offset, length of each, by digest | count | checksum | mark
//! ```

use crate::error::CheckpointError;
use crate::node::ContentDigest;
use crate::sealed::VaultDir;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

const MARK: &[u8; 8] = b"pcpack\0\x01";
const ENTRY: usize = 48;
const FOOT: usize = 8 + 32 + 8;
/// The size up to which contents pass through memory.
pub(crate) const SMALL: usize = 1 << 20;
const BUFFER: usize = 1 << 20;

/// The location of a content in a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A finished pack. It is not held open: there may be more of them than a process may have open
/// files.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) path: PathBuf,
    /// The checksum of its index.
    pub(crate) name: ContentDigest,
    pub(crate) size: u64,
    index: Vec<u8>,
}

impl Pack {
    pub(crate) fn path(dir: &VaultDir, name: &ContentDigest) -> PathBuf {
        dir.folder.join("packs").join(format!("{name}.pack"))
    }

    pub(crate) fn open(path: &Path) -> Result<Self> {
        let damaged = |reason| CheckpointError::Damaged { path: path.to_owned(), reason };
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
            _ => CheckpointError::io("read", path)(error),
        };
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut foot = [0; FOOT];
        let foot_at = size.checked_sub(FOOT as u64).ok_or_else(|| damaged("it is cut off"))?;
        file.read_exact_at(&mut foot, foot_at).map_err(unreadable)?;
        let (count, rest) = foot.split_at(8);
        let (sum, mark) = rest.split_at(32);
        if mark != MARK {
            return Err(damaged("it is cut off or of another version"));
        }
        let length = number(count)
            .checked_mul(ENTRY as u64)
            .filter(|length| *length <= foot_at)
            .ok_or_else(|| damaged("its index is wrong"))?;
        let mut index =
            vec![0; usize::try_from(length).map_err(|_| damaged("its index is wrong"))?];
        file.read_exact_at(&mut index, foot_at - length).map_err(unreadable)?;
        let name = ContentDigest::of_bytes(&index);
        if name.0 != sum {
            return Err(damaged("the checksum of its index is wrong"));
        }
        Ok(Self { path: path.to_owned(), name, size, index })
    }

    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = (ContentDigest, Extent)> + '_ {
        self.index.chunks_exact(ENTRY).map(entry)
    }

    pub(crate) fn find(&self, digest: &ContentDigest) -> Option<Extent> {
        let (mut low, mut high) = (0, self.index.len() / ENTRY);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (found, extent) = entry(self.index.get(middle * ENTRY..(middle + 1) * ENTRY)?);
            match found.cmp(digest) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(extent),
            }
        }
        None
    }

    /// Copies a content and returns true if it still has that digest.
    pub(crate) fn copy(
        &self,
        digest: &ContentDigest,
        extent: Extent,
        to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let file = File::open(&self.path)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; BUFFER.min(usize::try_from(extent.length).unwrap_or(BUFFER))];
        let (mut at, mut left) = (extent.offset, extent.length);
        while left > 0 {
            let length = buffer.len().min(usize::try_from(left).unwrap_or(BUFFER));
            let part = buffer.get_mut(..length).unwrap_or_default();
            match file.read_exact_at(part, at) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                other => other?,
            }
            hasher.update(part);
            to(part)?;
            at += length as u64;
            left -= length as u64;
        }
        Ok(hasher.finalize().as_bytes() == &digest.0)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(u64::MAX, u64::from_le_bytes)
}

fn entry(bytes: &[u8]) -> (ContentDigest, Extent) {
    let mut digest = [0; 32];
    let (name, place) = bytes.split_at_checked(32).unwrap_or_default();
    if name.len() == 32 {
        digest.copy_from_slice(name);
    }
    let (offset, length) = place.split_at_checked(8).unwrap_or_default();
    (ContentDigest(digest), Extent { offset: number(offset), length: number(length) })
}

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct PackWriter {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes in the file, without the buffer.
    written: u64,
    pub(crate) index: BTreeMap<ContentDigest, Extent>,
}

impl PackWriter {
    pub(crate) fn begin(dir: &VaultDir) -> Result<Self> {
        let (path, file) = dir.draft()?;
        Ok(Self { path, file, buffer: MARK.to_vec(), written: 0, index: BTreeMap::new() })
    }

    /// Returns the start of the next content.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Registers the bytes appended since `start` as a content.
    pub(crate) fn add(&mut self, digest: ContentDigest, start: u64) {
        self.index.insert(digest, Extent { offset: start, length: self.position() - start });
    }

    /// Discards the bytes appended since `start`.
    pub(crate) fn take_back(&mut self, start: u64) -> io::Result<()> {
        match start.checked_sub(self.written) {
            Some(kept) => self.buffer.truncate(usize::try_from(kept).unwrap_or(usize::MAX)),
            None => {
                self.buffer.clear();
                self.file.set_len(start)?;
                self.file.seek(SeekFrom::Start(start))?;
                self.written = start;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Returns the size in bytes of the pack if it were finished now.
    pub(crate) fn size(&self) -> u64 {
        self.position() + (self.index.len() * ENTRY + FOOT) as u64
    }

    /// Turns it into a pack, named by its index, and returns the name. Without contents no pack is
    /// created.
    pub(crate) fn finish(mut self, dir: &VaultDir) -> Result<Option<ContentDigest>> {
        if self.index.is_empty() {
            self.discard();
            return Ok(None);
        }
        let mut index = Vec::with_capacity(self.index.len() * ENTRY);
        for (digest, extent) in &self.index {
            index.extend_from_slice(&digest.0);
            index.extend_from_slice(&extent.offset.to_le_bytes());
            index.extend_from_slice(&extent.length.to_le_bytes());
        }
        let name = ContentDigest::of_bytes(&index);
        let foot = [&(self.index.len() as u64).to_le_bytes()[..], &name.0, MARK].concat();
        let write =
            self.append(&index).and_then(|()| self.append(&foot)).and_then(|()| self.flush());
        if let Err(error) = write {
            let path = self.path.clone();
            self.discard();
            return Err(CheckpointError::io("write", path)(error));
        }
        // A pack of that name has the same contents.
        dir.publish(&self.path, &self.file, &Pack::path(dir, &name), true).map(|_| Some(name))
    }

    pub(crate) fn discard(self) {
        // If it is left over after a crash, the next collection removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Reads until the buffer is full or the file ends.
pub(crate) fn fill(file: &mut impl Read, buffer: &mut Vec<u8>, limit: usize) -> io::Result<()> {
    buffer.clear();
    file.take(limit as u64).read_to_end(buffer).map(|_| ())
}
