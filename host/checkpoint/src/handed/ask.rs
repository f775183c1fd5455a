//! The vault's side.

use super::message::{Bytes, FileAnswer, FileChange, FileRequest, PART, Place};
use crate::entry::EntryInfo;
use crate::node::Time;
use crate::path::is_plain;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest path and the longest name that count.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;
/// The most bytes of paths and of texts of links that one access takes into memory.
const MOST_SEEN: u64 = 64 << 20;

/// The connection to a process of the files' user.
pub trait FilePort: Send + Sync {
    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// Fails with the reason that there is none.
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>>;

    /// Takes note of an answer that is none to the request: what the process hands over cannot be
    /// used.
    fn reject(&self, why: &str);
}

/// The files of another user.
pub(crate) struct HandedFiles {
    port: Box<dyn FilePort>,
    /// The bytes of names that were handed over.
    seen: AtomicU64,
}

impl fmt::Debug for HandedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandedFiles")
    }
}

impl HandedFiles {
    pub(crate) const fn new(port: Box<dyn FilePort>) -> Self {
        Self { port, seen: AtomicU64::new(0) }
    }

    pub(crate) fn open(files: &Arc<Self>, path: &Path) -> io::Result<HandedFolder> {
        files.done(&FileRequest::Enter(whole(path)?))?;
        Ok(HandedFolder { files: Arc::clone(files), path: path.to_owned(), listed: None })
    }

    pub(crate) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let found = self.text(&FileRequest::Resolve(whole(path)?))?.into_path();
        if is_plain(&found) { Ok(found) } else { Err(self.reject("a path that is none")) }
    }

    pub(crate) fn is_folder(&self, path: &Path) -> io::Result<bool> {
        self.holds(&FileRequest::IsFolder(whole(path)?))
    }

    pub(crate) fn exists(&self, path: &Path) -> io::Result<bool> {
        self.holds(&FileRequest::Exists(whole(path)?))
    }

    pub(crate) fn link_text_at(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(self.text(&FileRequest::LinkAt(whole(path)?))?.into_path())
    }

    fn ask(&self, request: &FileRequest) -> io::Result<FileAnswer> {
        let request = postcard::to_allocvec(request).map_err(io::Error::other)?;
        let answer = self.port.ask(&request)?;
        match postcard::from_bytes(&answer) {
            Ok(FileAnswer::Failed(number)) if number > 0 => {
                Err(io::Error::from_raw_os_error(number))
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.reject("no answer about files")),
        }
    }

    fn done(&self, request: &FileRequest) -> io::Result<()> {
        match self.ask(request)? {
            FileAnswer::Done => Ok(()),
            _ => Err(self.reject("another answer than asked for")),
        }
    }

    fn holds(&self, request: &FileRequest) -> io::Result<bool> {
        match self.ask(request)? {
            FileAnswer::Holds(holds) => Ok(holds),
            _ => Err(self.reject("another answer than asked for")),
        }
    }

    fn text(&self, request: &FileRequest) -> io::Result<Bytes> {
        match self.ask(request)? {
            FileAnswer::Text(text) if text.0.len() <= LONGEST_PATH && !text.0.contains(&0) => {
                self.take(text.0.len())?;
                Ok(text)
            }
            _ => Err(self.reject("another answer than asked for")),
        }
    }

    /// Counts bytes that stay in memory.
    fn take(&self, bytes: usize) -> io::Result<()> {
        let seen = self.seen.fetch_add(bytes as u64, Ordering::Relaxed);
        // The folder counts as one that cannot be read.
        if seen > MOST_SEEN { Err(Errno::NOMEM.into()) } else { Ok(()) }
    }

    fn reject(&self, why: &str) -> io::Error {
        let why = format!("the files' user handed over {why}");
        self.port.reject(&why);
        io::Error::new(io::ErrorKind::InvalidData, why)
    }
}

/// A folder of another user, by its path.
#[derive(Clone, Debug)]
pub(crate) struct HandedFolder {
    files: Arc<HandedFiles>,
    path: PathBuf,
    /// Its entries, if it was opened for listing.
    listed: Option<BTreeMap<OsString, EntryInfo>>,
}

impl HandedFolder {
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        HandedFiles::open(&self.files, &self.path.join(name))
    }

    pub(crate) fn enter_to_list(&self, name: &OsStr) -> io::Result<Self> {
        let path = self.path.join(name);
        let FileAnswer::Names(entries) = self.files.ask(&FileRequest::List(whole(&path)?))? else {
            return Err(self.files.reject("another answer than asked for"));
        };
        let mut listed = BTreeMap::new();
        for (name, found) in entries {
            if !is_name(&name.0) {
                return Err(self.files.reject("a name that is none"));
            }
            self.files.take(path.as_os_str().len() + name.0.len())?;
            listed.insert(name.name().to_owned(), found);
        }
        Ok(Self { files: Arc::clone(&self.files), path, listed: Some(listed) })
    }

    pub(crate) fn names(&self) -> Vec<OsString> {
        self.listed.iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    pub(crate) fn find(&self, name: &OsStr) -> io::Result<Option<EntryInfo>> {
        if let Some(listed) = &self.listed {
            return Ok(listed.get(name).copied());
        }
        match self.files.ask(&FileRequest::Find(self.place(name)?))? {
            FileAnswer::Entry(found) => Ok(found),
            _ => Err(self.files.reject("another answer than asked for")),
        }
    }

    pub(crate) fn read(&self, name: &OsStr) -> io::Result<HandedSource> {
        let place = self.place(name)?;
        Ok(HandedSource {
            files: Arc::clone(&self.files),
            part: Part::of(&self.files, &place, 0)?,
            place,
            read: 0,
            offset: 0,
            is_begun: false,
        })
    }

    pub(crate) fn create(&self, name: &OsStr) -> io::Result<HandedTarget> {
        let place = self.place(name)?;
        self.change(FileChange::Create(place.clone()))?;
        Ok(HandedTarget { folder: self.clone(), place, offset: 0 })
    }

    pub(crate) fn link_text(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(self.files.text(&FileRequest::LinkText(self.place(name)?))?.0)
    }

    pub(crate) fn make_link(&self, name: &OsStr, text: &[u8]) -> io::Result<()> {
        self.change(FileChange::MakeLink(self.place(name)?, Bytes(text.to_vec())))
    }

    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        self.change(FileChange::MakeFolder(self.place(name)?))
    }

    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.change(FileChange::RemoveFile(self.place(name)?))
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.change(FileChange::RemoveFolder(self.place(name)?))
    }

    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        self.change(FileChange::Rename(self.place(name)?, to.place(new)?))
    }

    pub(crate) fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        self.change(FileChange::SetMode(self.place(name)?, mode))
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.change(FileChange::Flush(whole(&self.path)?))
    }

    pub(crate) fn flush_file(&self, name: &OsStr) -> io::Result<()> {
        self.change(FileChange::FlushFile(self.place(name)?))
    }

    fn change(&self, change: FileChange) -> io::Result<()> {
        self.files.done(&FileRequest::Change(change))
    }

    fn place(&self, name: &OsStr) -> io::Result<Place> {
        Ok(Place { folder: whole(&self.path)?, name: Bytes::of(name) })
    }
}

/// A file of another user that is read.
#[derive(Debug)]
pub(crate) struct HandedSource {
    files: Arc<HandedFiles>,
    place: Place,
    part: Part,
    /// The bytes of the part that were read.
    read: usize,
    /// The offset of the part.
    offset: u64,
    /// True once something was read.
    is_begun: bool,
}

impl HandedSource {
    /// Returns its metadata: of the time before the first read, or after the last one.
    pub(crate) const fn info(&self) -> EntryInfo {
        if self.is_begun { self.part.after } else { self.part.before }
    }
}

impl Read for HandedSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_begun = true;
        // A part that is not full is the last one.
        if self.read == self.part.bytes.len() && self.read == PART {
            self.offset += PART as u64;
            let next = Part::of(&self.files, &self.place, self.offset)?;
            if next.before.stamp != self.part.after.stamp {
                // A change between two parts shows in the metadata, as one while reading does.
                self.part.bytes.clear();
                self.part.after = next.before;
                self.read = 0;
                return Ok(0);
            }
            (self.part, self.read) = (next, 0);
        }
        let mut rest = self.part.bytes.get(self.read..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.read += count;
        Ok(count)
    }
}

/// A part of a file.
#[derive(Debug)]
struct Part {
    before: EntryInfo,
    after: EntryInfo,
    bytes: Vec<u8>,
}

impl Part {
    fn of(files: &HandedFiles, place: &Place, offset: u64) -> io::Result<Self> {
        match files.ask(&FileRequest::Read(place.clone(), offset))? {
            FileAnswer::Part { before, after, bytes: Bytes(bytes) } if bytes.len() <= PART => {
                Ok(Self { before, after, bytes })
            }
            _ => Err(files.reject("another answer than asked for")),
        }
    }
}

/// A new file of another user that is written.
#[derive(Debug)]
pub(crate) struct HandedTarget {
    folder: HandedFolder,
    place: Place,
    offset: u64,
}

impl HandedTarget {
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(PART) {
            let bytes = Bytes(part.to_vec());
            self.folder.change(FileChange::Write(self.place.clone(), self.offset, bytes))?;
            self.offset += part.len() as u64;
        }
        Ok(())
    }

    pub(crate) fn skip(&mut self, bytes: u32) {
        self.offset += u64::from(bytes);
    }

    pub(crate) fn finish(
        &self,
        size: u64,
        mode: u32,
        modified: Time,
        flushes: bool,
    ) -> io::Result<()> {
        let place = self.place.clone();
        self.folder.change(FileChange::Finish(place, size, mode, modified, flushes))
    }
}

/// Returns a path for a request.
fn whole(path: &Path) -> io::Result<Bytes> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(Errno::NAMETOOLONG.into());
    }
    Ok(Bytes::of(path))
}

fn is_name(name: &[u8]) -> bool {
    let fits = 1..=LONGEST_NAME;
    fits.contains(&name.len())
        && !matches!(name, b"." | b"..")
        && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}
