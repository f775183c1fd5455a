//! Packs: files of contents, written once and then only read.
//!
//! ```text
//! encrypted   mark 2 | key | contents | index | length of the index | mark 2
//! plain       mark 1 | contents | index | count | checksum of the index | mark 1
//! index       digest, offset, length of each content, by digest
//! ```
//!
//! The key of an encrypted pack is random, and encrypted with the key of a day. Each content, and the
//! index, is a text in parts: the id of the text, then at most 1 MiB and a tag for each part.

use crate::error::CheckpointError;
use crate::node::ContentDigest;
use crate::sealed::{KIND, MARK_BYTES, VaultDir};
use crate::stored_name::StoredName;
use portcullis_encryption::{DataKeys, KeyId, PartCipher, PartStream};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(crate) const MARK: &[u8; MARK_BYTES] = b"pcpack\0\x01";
pub(crate) const MARK_ENCRYPTED: &[u8; MARK_BYTES] = b"pcpack\0\x02";
pub(crate) const ENTRY: usize = 48;
pub(crate) const FOOT: usize = 8 + 32 + MARK_BYTES;
pub(crate) const FOOT_ENCRYPTED: usize = 8 + MARK_BYTES;
/// The bytes of a text that are encrypted at once.
pub(crate) const PART: usize = 1 << 20;
pub(crate) const TAG: usize = PartStream::TAG_BYTES;
/// The kinds of texts in parts: an index cannot be read as a content.
pub(crate) const CONTENT: &[u8] = b"content";
pub(crate) const INDEX: &[u8] = b"index";

/// The location of a content in a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    /// Bytes of the content, not of the pack.
    pub(crate) length: u64,
}

/// A finished pack. It is not held open: there may be more of them than a process may have open
/// files.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) path: PathBuf,
    pub(crate) name: StoredName,
    pub(crate) size: u64,
    /// The key of the day; none for a plain pack.
    pub(crate) key: Option<KeyId>,
    cipher: Option<PartCipher>,
    index: Vec<u8>,
}

impl Pack {
    pub(crate) fn path(dir: &VaultDir, name: &StoredName) -> PathBuf {
        dir.folder.join("packs").join(format!("{name}.pack"))
    }

    pub(crate) fn open(dir: &VaultDir, path: &Path) -> Result<Self> {
        let file = PackFile::open(path)?;
        let mark = file.read(file.size.checked_sub(MARK_BYTES as u64), MARK_BYTES)?;
        if mark == MARK_ENCRYPTED {
            file.open_encrypted(dir)
        } else if mark == MARK {
            file.open_plain()
        } else {
            Err(file.damaged("it is cut off or of another version"))
        }
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
        let mut hashed = |part: &[u8]| {
            hasher.update(part);
            to(part)
        };
        let whole = match &self.cipher {
            Some(cipher) => copy_encrypted(&file, cipher, extent, &mut hashed)?,
            None => copy_plain(&file, extent, &mut hashed)?,
        };
        Ok(whole && hasher.finalize().as_bytes() == &digest.0)
    }

    /// Encrypts the pack's key with the key of another day; nothing else of the pack changes.
    pub(crate) fn renew_key(&self, dir: &VaultDir, at: u64) -> Result<()> {
        let Some(cipher) = &self.cipher else { return Ok(()) };
        let header = dir
            .keys
            .wrap_cipher(cipher, KIND, at, &dir.place_of(&self.path))
            .map_err(CheckpointError::encryption("encrypt", &self.path))?;
        let Some(header) = header else { return Ok(()) };
        dir.step("renew", &self.path)?;
        // A disk writes these bytes as a whole: they are in one sector.
        let write = || {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            file.write_all_at(&header, MARK_BYTES as u64)?;
            file.sync_data()
        };
        write().map_err(CheckpointError::io("write", &self.path))
    }
}

/// The file of a pack, before its form is known.
struct PackFile<'a> {
    path: &'a Path,
    file: File,
    size: u64,
}

impl<'a> PackFile<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let open = || {
            let file = File::open(path)?;
            Ok((file.metadata()?.len(), file))
        };
        let (size, file) = open().map_err(CheckpointError::io("read", path))?;
        Ok(Self { path, file, size })
    }

    fn damaged(&self, reason: &'static str) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.to_owned(), reason }
    }

    /// Reads bytes at a position; none is one before the beginning.
    fn read(&self, at: Option<u64>, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = match at {
            Some(at) => read_whole(&self.file, &mut bytes, at),
            None => Ok(false),
        };
        if read.map_err(CheckpointError::io("read", self.path))? {
            Ok(bytes)
        } else {
            Err(self.damaged("it is cut off"))
        }
    }

    /// Reads the bytes before the foot, which says how many they are.
    fn read_index(&self, foot: usize, length: Option<u64>) -> Result<Vec<u8>> {
        let end = self.size.saturating_sub(foot as u64);
        let fits = length.filter(|length| *length <= end);
        let length = fits.and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or_else(|| self.damaged("its index is wrong"))?;
        self.read(end.checked_sub(length as u64), length)
    }

    fn open_plain(self) -> Result<Pack> {
        let foot = self.read(self.size.checked_sub(FOOT as u64), FOOT)?;
        let (count, rest) = foot.split_at(8);
        let sum = rest.get(..32).unwrap_or_default();
        let index = self.read_index(FOOT, number(count).checked_mul(ENTRY as u64))?;
        let name = StoredName::of_bytes(&index);
        if name.0 != sum {
            return Err(self.damaged("the checksum of its index is wrong"));
        }
        let (path, size) = (self.path.to_owned(), self.size);
        Ok(Pack { path, name, size, key: None, cipher: None, index })
    }

    fn open_encrypted(self, dir: &VaultDir) -> Result<Pack> {
        let name = self.path.file_stem().and_then(|name| StoredName::parse(name.to_str()?));
        let name = name.ok_or_else(|| self.damaged("its name is wrong"))?;
        let foot = self.read(self.size.checked_sub(FOOT_ENCRYPTED as u64), FOOT_ENCRYPTED)?;
        let length = number(foot.get(..8).unwrap_or_default());
        let index = self.read_index(FOOT_ENCRYPTED, Some(length))?;
        let header = self.read(Some(MARK_BYTES as u64), PartCipher::HEADER_BYTES)?;
        let cipher = dir
            .keys
            .open_cipher(KIND, &dir.place_of(self.path), &header)
            .map_err(CheckpointError::encryption("decrypt", self.path))?;
        let index = decrypt_index(&cipher, index);
        let index = index.ok_or_else(|| self.damaged("its index is wrong"))?;
        let key = DataKeys::key_of(&header);
        let (path, size) = (self.path.to_owned(), self.size);
        Ok(Pack { path, name, size, key, cipher: Some(cipher), index })
    }
}

fn decrypt_index(cipher: &PartCipher, mut stored: Vec<u8>) -> Option<Vec<u8>> {
    let (id, mut rest) = stored.split_first_chunk_mut()?;
    let mut stream = cipher.open_stream(*id, INDEX);
    let mut index = Vec::with_capacity(rest.len());
    loop {
        let (part, later) = rest.split_at_mut(rest.len().min(PART + TAG));
        let (part, tag) = part.split_last_chunk_mut()?;
        stream.decrypt_part(part, tag, later.is_empty()).ok()?;
        index.extend_from_slice(part);
        if later.is_empty() {
            return Some(index);
        }
        rest = later;
    }
}

fn copy_plain(
    file: &File,
    extent: Extent,
    to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let mut buffer = vec![0; PART.min(usize::try_from(extent.length).unwrap_or(PART))];
    let (mut at, mut left) = (extent.offset, extent.length);
    while left > 0 {
        let length = buffer.len().min(usize::try_from(left).unwrap_or(PART));
        let part = buffer.get_mut(..length).unwrap_or_default();
        if !read_whole(file, part, at)? {
            return Ok(false);
        }
        to(part)?;
        at = at.saturating_add(length as u64);
        left -= length as u64;
    }
    Ok(true)
}

fn copy_encrypted(
    file: &File,
    cipher: &PartCipher,
    extent: Extent,
    to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let mut id = [0; PartStream::ID_BYTES];
    if !read_whole(file, &mut id, extent.offset)? {
        return Ok(false);
    }
    let mut stream = cipher.open_stream(id, CONTENT);
    let mut buffer = vec![0; PART.min(usize::try_from(extent.length).unwrap_or(PART)) + TAG];
    let (mut at, mut left) = (extent.offset.saturating_add(id.len() as u64), extent.length);
    loop {
        let length = PART.min(usize::try_from(left).unwrap_or(PART));
        let stored = buffer.get_mut(..length + TAG).unwrap_or_default();
        if !read_whole(file, stored, at)? {
            return Ok(false);
        }
        at = at.saturating_add(stored.len() as u64);
        left -= length as u64;
        let Some((part, tag)) = stored.split_last_chunk_mut() else { return Ok(false) };
        if stream.decrypt_part(part, tag, left == 0).is_err() {
            return Ok(false);
        }
        to(part)?;
        if left == 0 {
            return Ok(true);
        }
    }
}

/// Fills the buffer; false if the file ends before.
fn read_whole(file: &File, buffer: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(buffer, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
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
