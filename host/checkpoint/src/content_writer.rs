//! Reads files of the tree and stores their contents, each once, within limits.

use crate::entry::EntryInfo;
use crate::error::CheckpointError;
use crate::folder::{OpenFolder, SourceFile};
use crate::index::VaultIndex;
use crate::name_key::NameKey;
use crate::node::{ContentDigest, NodeStamp, Why};
use crate::pack_writer::PackWriter;
use crate::request::ExclusionPolicy;
use crate::sealed::VaultDir;
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of attempts to read a file that changes while it is read.
const TRIES: u32 = 3;
/// The size up to which contents pass through memory.
const SMALL: usize = 1 << 20;

/// The limits of storing, and its cost so far.
#[derive(Debug)]
pub(crate) struct ContentWriter<'a> {
    dir: &'a VaultDir,
    /// None for a scan only: contents are read for their digests and not stored.
    store: Option<Store<'a>>,
    max_file: u64,
    max_total: u64,
    room: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_stored: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Store<'a> {
    index: VaultIndex<'a>,
    writer: Option<PackWriter>,
    at: u64,
}

impl<'a> ContentWriter<'a> {
    /// Creates one that stores. What it writes gets the key of the day of `at`, in milliseconds since
    /// 1970.
    pub(crate) fn new(
        dir: &'a VaultDir,
        policy: &ExclusionPolicy,
        max_bytes: u64,
        at: u64,
    ) -> Result<Self> {
        let index = VaultIndex::open(dir, at)?;
        let room = max_bytes.saturating_sub(index.size);
        Ok(Self {
            max_total: policy.max_total,
            room,
            store: Some(Store { index, writer: None, at }),
            ..Self::looking(dir, policy.max_file)
        })
    }

    pub(crate) fn looking(dir: &'a VaultDir, max_file: u64) -> Self {
        Self {
            dir,
            store: None,
            max_file,
            max_total: u64::MAX,
            room: u64::MAX,
            bytes_read: 0,
            bytes_stored: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns the key of names in the vault; none for a scan only.
    pub(crate) fn names(&self) -> Option<&NameKey> {
        self.store.as_ref().map(|store| &store.index.names)
    }

    /// Returns true if a content that a snapshot knows still exists.
    ///
    /// # Errors
    /// Fails if the index cannot be read, or cannot be rebuilt.
    pub(crate) fn has(&mut self, digest: &ContentDigest) -> Result<bool> {
        self.store.as_mut().map_or(Ok(true), |store| store.has(digest))
    }

    /// Stores the file of that name and returns its digest and its stamp at the time of reading; or
    /// the reason why it is left out.
    pub(crate) fn keep(
        &mut self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &Path,
    ) -> Result<std::result::Result<(ContentDigest, EntryInfo), Why>> {
        for _ in 0..TRIES {
            let mut file = match folder.read(name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(Err(Why::Unreadable));
                }
                // It no longer exists, or is a link by now.
                Err(_) => return Ok(Err(Why::Changing)),
                Ok(file) => file,
            };
            let found = file.info().map_err(CheckpointError::io("read", path))?;
            if found.kind != FileType::RegularFile {
                return Ok(Err(Why::Changing));
            }
            if let Some(why) = self.refuses(found.stamp.size) {
                return Ok(Err(why));
            }
            match self.read(&mut file, &found.stamp, path)? {
                Ok(Some(digest)) => return Ok(Ok((digest, found))),
                Ok(None) => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Err(Why::Changing))
    }

    fn refuses(&self, size: u64) -> Option<Why> {
        let stored = self.bytes_stored.saturating_add(size);
        match size {
            _ if size > self.max_file => Some(Why::TooLarge),
            _ if stored > self.max_total => Some(Why::TotalReached),
            _ if stored > self.room => Some(Why::VaultFull),
            _ => None,
        }
    }

    /// Reads and stores a file; none if the file changed in the meantime.
    fn read(
        &mut self,
        file: &mut SourceFile,
        stamp: &NodeStamp,
        path: &Path,
    ) -> Result<std::result::Result<Option<ContentDigest>, Why>> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.read_parts(file, stamp, &mut buffer, path);
        self.buffer = buffer;
        read
    }

    fn read_parts(
        &mut self,
        file: &mut SourceFile,
        stamp: &NodeStamp,
        buffer: &mut Vec<u8>,
        path: &Path,
    ) -> Result<std::result::Result<Option<ContentDigest>, Why>> {
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => Ok(Err(Why::Unreadable)),
            _ => Err(CheckpointError::io("read", path)(error)),
        };
        let mut hasher = blake3::Hasher::new();
        let mut length = 0;
        let mut start =
            self.store.as_ref().and_then(|store| store.writer.as_ref()).map(PackWriter::position);
        loop {
            if let Err(error) = fill(file, buffer, SMALL) {
                self.take_back(start, path)?;
                return unreadable(error);
            }
            length += buffer.len() as u64;
            hasher.update(buffer);
            let last = buffer.len() < SMALL;
            // A small file that is already known is not written at all.
            let known = last
                && length < SMALL as u64
                && self.has(&ContentDigest(*hasher.finalize().as_bytes()))?;
            if !known && length <= stamp.size {
                start = Some(self.append(start, buffer, path)?);
            }
            // A file that keeps growing would never end.
            if last || length > stamp.size {
                break;
            }
        }
        self.bytes_read += length;
        let after = file.info().map_err(CheckpointError::io("read", path))?;
        let digest = ContentDigest(*hasher.finalize().as_bytes());
        if length != stamp.size || after.stamp != *stamp {
            self.take_back(start, path)?;
            return Ok(Ok(None));
        }
        if self.has(&digest)? {
            self.take_back(start, path)?;
        } else if let (Some(start), Some(writer)) =
            (start, self.store.as_mut().and_then(|store| store.writer.as_mut()))
        {
            writer.add(digest, start).map_err(CheckpointError::io("keep", path))?;
            self.bytes_stored += length;
        }
        Ok(Ok(Some(digest)))
    }

    /// Appends to the pack, which is created with the first content, and returns the start of this
    /// one.
    fn append(&mut self, start: Option<u64>, bytes: &[u8], path: &Path) -> Result<u64> {
        let Some(store) = self.store.as_mut() else { return Ok(0) };
        self.dir.step("keep", path)?;
        let writer = match &mut store.writer {
            Some(writer) => writer,
            none => none.insert(PackWriter::begin(self.dir, store.at)?),
        };
        let start = start.unwrap_or_else(|| writer.position());
        writer.append(bytes).map_err(CheckpointError::io("keep", path))?;
        Ok(start)
    }

    fn take_back(&mut self, start: Option<u64>, path: &Path) -> Result<()> {
        match (start, self.store.as_mut().and_then(|store| store.writer.as_mut())) {
            (Some(start), Some(writer)) => {
                writer.take_back(start).map_err(CheckpointError::io("keep", path))
            }
            _ => Ok(()),
        }
    }

    /// Adds the stored contents to the vault.
    pub(crate) fn finish(&mut self) -> Result<()> {
        match self.store.as_mut().and_then(|store| Some((store.writer.take()?, &store.index))) {
            Some((writer, index)) => index.add(writer),
            None => Ok(()),
        }
    }

    /// Discards contents that were not added to the vault.
    pub(crate) fn discard(&mut self) {
        if let Some(writer) = self.store.as_mut().and_then(|store| store.writer.take()) {
            writer.discard();
        }
    }
}

impl Store<'_> {
    fn has(&mut self, digest: &ContentDigest) -> Result<bool> {
        if self.writer.as_ref().is_some_and(|writer| writer.index.contains_key(digest)) {
            Ok(true)
        } else {
            self.index.has(digest)
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, buffer: &mut Vec<u8>, limit: usize) -> io::Result<()> {
    buffer.clear();
    file.take(limit as u64).read_to_end(buffer).map(|_| ())
}
