//! Writes a pack: contents one after the other, then the index. Nothing of an encrypted pack reaches
//! the disk before it is encrypted.

use crate::error::CheckpointError;
use crate::node::ContentDigest;
use crate::pack::{
    CONTENT, ENTRY, Extent, FOOT, FOOT_ENCRYPTED, INDEX, MARK, MARK_ENCRYPTED, PART, Pack, TAG,
};
use crate::sealed::{KIND, VaultDir};
use crate::stored_name::StoredName;
use portcullis_encryption::{PartCipher, PartStream};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

type Result<T> = std::result::Result<T, CheckpointError>;

const BUFFER: usize = 1 << 20;

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct PackWriter {
    path: PathBuf,
    file: File,
    /// The name and the cipher of an encrypted pack.
    cipher: Option<(StoredName, PartCipher)>,
    buffer: Vec<u8>,
    /// Bytes in the file, without the buffer.
    written: u64,
    /// The text that is being written.
    text: Option<OpenText>,
    pub(crate) index: BTreeMap<ContentDigest, Extent>,
}

/// A text whose end is not known yet. The buffer ends with the part of it that is not encrypted yet.
#[derive(Debug)]
struct OpenText {
    stream: Option<PartStream>,
    /// The beginning of that part in the buffer.
    part: usize,
    length: u64,
}

impl PackWriter {
    /// Begins a pack with the key of the day of `at`, in milliseconds since 1970.
    pub(crate) fn begin(dir: &VaultDir, at: u64) -> Result<Self> {
        let name = StoredName::random().map_err(CheckpointError::io("write", &dir.folder))?;
        let target = Pack::path(dir, &name);
        let made = dir
            .keys
            .make_cipher(KIND, at, &dir.place_of(&target))
            .map_err(CheckpointError::encryption("encrypt", &target))?;
        let (cipher, buffer) = match made {
            Some((cipher, header)) => {
                (Some((name, cipher)), [MARK_ENCRYPTED.as_slice(), &header].concat())
            }
            None => (None, MARK.to_vec()),
        };
        let (path, file) = dir.draft()?;
        Ok(Self { path, file, cipher, buffer, written: 0, text: None, index: BTreeMap::new() })
    }

    /// Returns the start of the next content.
    pub(crate) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes to the content that was begun, or begins one.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.begin_text(CONTENT)?;
        self.append_text(bytes)
    }

    /// Ends the content that began at `start`, and registers it.
    pub(crate) fn add(&mut self, digest: ContentDigest, start: u64) -> io::Result<()> {
        self.begin_text(CONTENT)?;
        let length = self.end_text()?;
        self.index.insert(digest, Extent { offset: start, length });
        Ok(())
    }

    /// Discards the bytes appended since `start`.
    pub(crate) fn take_back(&mut self, start: u64) -> io::Result<()> {
        self.text = None;
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

    /// Begins a text, if none is begun.
    fn begin_text(&mut self, purpose: &'static [u8]) -> io::Result<()> {
        if self.text.is_some() {
            return Ok(());
        }
        let cipher = self.cipher.as_ref();
        let stream = cipher.map(|(_, cipher)| cipher.begin_stream(purpose)).transpose();
        let stream = stream.map_err(io::Error::other)?;
        if let Some(stream) = &stream {
            self.buffer.extend_from_slice(stream.id());
        }
        self.text = Some(OpenText { stream, part: self.buffer.len(), length: 0 });
        Ok(())
    }

    fn append_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            let room = self.text.as_ref().map_or(PART, |text| text.room(&self.buffer));
            let (now, later) = rest.split_at(rest.len().min(room));
            self.buffer.extend_from_slice(now);
            if later.is_empty() {
                break;
            }
            self.close_part(false)?;
            rest = later;
        }
        if let Some(text) = &mut self.text {
            text.length += bytes.len() as u64;
            // The rest of an encrypted text waits for its part to be full.
            if text.stream.is_none() && self.buffer.len() >= BUFFER {
                return self.flush();
            }
        }
        Ok(())
    }

    /// Ends the text, and returns its length.
    fn end_text(&mut self) -> io::Result<u64> {
        self.close_part(true)?;
        Ok(self.text.take().map_or(0, |text| text.length))
    }

    fn close_part(&mut self, is_last: bool) -> io::Result<()> {
        let Some(text) = &mut self.text else { return Ok(()) };
        if let Some(stream) = &mut text.stream {
            let part = self.buffer.get_mut(text.part..).unwrap_or_default();
            let tag = stream.encrypt_part(part, is_last).map_err(io::Error::other)?;
            self.buffer.extend_from_slice(&tag);
        }
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        if let Some(text) = &mut self.text {
            text.part = self.buffer.len();
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
        let index = self.index.len() * ENTRY;
        let end = match self.cipher {
            Some(_) => {
                let tags = index.div_ceil(PART).max(1) * TAG;
                PartStream::ID_BYTES + index + tags + FOOT_ENCRYPTED
            }
            None => index + FOOT,
        };
        self.position() + end as u64
    }

    /// Turns it into a pack and returns the name. Without contents no pack is created.
    pub(crate) fn finish(mut self, dir: &VaultDir) -> Result<Option<StoredName>> {
        if self.index.is_empty() {
            self.discard();
            return Ok(None);
        }
        let name = match self.write_end() {
            Ok(name) => name,
            Err(error) => {
                let path = self.path.clone();
                self.discard();
                return Err(CheckpointError::io("write", path)(error));
            }
        };
        // A plain pack of that name has the same contents.
        dir.publish(&self.path, &self.file, &Pack::path(dir, &name), true).map(|_| Some(name))
    }

    /// Writes the index and the foot; returns the name.
    fn write_end(&mut self) -> io::Result<StoredName> {
        let mut index = Vec::with_capacity(self.index.len() * ENTRY);
        for (digest, extent) in &self.index {
            index.extend_from_slice(&digest.0);
            index.extend_from_slice(&extent.offset.to_le_bytes());
            index.extend_from_slice(&extent.length.to_le_bytes());
        }
        let start = self.position();
        self.begin_text(INDEX)?;
        self.append_text(&index)?;
        self.end_text()?;
        let (name, foot) = match &self.cipher {
            Some((name, _)) => {
                let length = (self.position() - start).to_le_bytes();
                (*name, [length.as_slice(), MARK_ENCRYPTED].concat())
            }
            None => {
                let (name, count) = (StoredName::of_bytes(&index), self.index.len() as u64);
                (name, [count.to_le_bytes().as_slice(), &name.0, MARK].concat())
            }
        };
        self.buffer.extend_from_slice(&foot);
        self.flush()?;
        Ok(name)
    }

    pub(crate) fn discard(self) {
        // If it is left over after a crash, the next collection removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl OpenText {
    /// Returns the bytes that its part can still take.
    fn room(&self, buffer: &[u8]) -> usize {
        match self.stream {
            Some(_) => PART.saturating_sub(buffer.len().saturating_sub(self.part)),
            None => usize::MAX,
        }
    }
}
