//! An open folder of the user, and files in it.

use crate::entry::{EntryInfo, finish_file};
use crate::handed::{HandedFolder, HandedSource, HandedTarget};
use crate::node::Time;
use crate::own_folder::OwnFolder;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// An open folder.
#[derive(Debug)]
pub(crate) enum OpenFolder {
    Own(OwnFolder),
    Handed(HandedFolder),
}

impl OpenFolder {
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match self {
            Self::Own(folder) => folder.enter(name).map(Self::Own),
            Self::Handed(folder) => folder.enter(name).map(Self::Handed),
        }
    }

    /// Opens a folder in it in order to read its names.
    pub(crate) fn enter_to_list(&self, name: &OsStr) -> io::Result<Self> {
        match self {
            Self::Own(folder) => folder.enter_to_list(name).map(Self::Own),
            Self::Handed(folder) => folder.enter_to_list(name).map(Self::Handed),
        }
    }

    /// Returns the names in a folder that was opened for listing, in order; works once.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        match self {
            Self::Own(folder) => folder.names(),
            Self::Handed(folder) => Ok(folder.names()),
        }
    }

    /// Returns the metadata of a name; none if it does not exist.
    pub(crate) fn find(&self, name: &OsStr) -> io::Result<Option<EntryInfo>> {
        match self {
            Self::Own(folder) => folder.find(name),
            Self::Handed(folder) => folder.find(name),
        }
    }

    /// Opens a regular file for reading; does not block if something else has replaced it.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<SourceFile> {
        match self {
            Self::Own(folder) => folder.read(name).map(SourceFile::Own),
            Self::Handed(folder) => folder.read(name).map(Box::new).map(SourceFile::Handed),
        }
    }

    pub(crate) fn create(&self, name: &OsStr) -> io::Result<TargetFile> {
        match self {
            Self::Own(folder) => folder.create(name).map(TargetFile::Own),
            Self::Handed(folder) => folder.create(name).map(TargetFile::Handed),
        }
    }

    pub(crate) fn link_text(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        match self {
            Self::Own(folder) => folder.link_text(name),
            Self::Handed(folder) => folder.link_text(name),
        }
    }

    pub(crate) fn make_link(&self, name: &OsStr, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.make_link(name, text),
            Self::Handed(folder) => folder.make_link(name, text),
        }
    }

    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.make_folder(name),
            Self::Handed(folder) => folder.make_folder(name),
        }
    }

    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.remove_file(name),
            Self::Handed(folder) => folder.remove_file(name),
        }
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.remove_folder(name),
            Self::Handed(folder) => folder.remove_folder(name),
        }
    }

    /// Moves a name into another folder, replacing an existing file.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        match (self, to) {
            (Self::Own(folder), Self::Own(to)) => folder.rename(name, to, new),
            (Self::Handed(folder), Self::Handed(to)) => folder.rename(name, to, new),
            // A vault has one access to files.
            _ => Err(io::ErrorKind::CrossesDevices.into()),
        }
    }

    /// Sets the permission bits of a file or folder, never those of a link's destination.
    pub(crate) fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.set_mode(name, mode),
            Self::Handed(folder) => folder.set_mode(name, mode),
        }
    }

    /// Flushes its entries. This is impossible for a folder without read permission.
    pub(crate) fn flush(&self) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.flush(),
            Self::Handed(folder) => folder.flush(),
        }
    }

    /// Flushes a file that was written.
    pub(crate) fn flush_file(&self, name: &OsStr) -> io::Result<()> {
        match self {
            Self::Own(folder) => folder.read(name)?.sync_data(),
            Self::Handed(folder) => folder.flush_file(name),
        }
    }
}

/// A file that is read.
#[derive(Debug)]
pub(crate) enum SourceFile {
    Own(File),
    Handed(Box<HandedSource>),
}

impl SourceFile {
    /// Returns its metadata: of the time before the first read, or after the last one.
    pub(crate) fn info(&self) -> io::Result<EntryInfo> {
        match self {
            Self::Own(file) => EntryInfo::of_file(file),
            Self::Handed(file) => Ok(file.info()),
        }
    }
}

impl Read for SourceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Own(file) => file.read(buffer),
            Self::Handed(file) => file.read(buffer),
        }
    }
}

/// A new file that is written from its beginning to its end.
#[derive(Debug)]
pub(crate) enum TargetFile {
    Own(File),
    Handed(HandedTarget),
}

impl TargetFile {
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Own(file) => file.write_all(bytes),
            Self::Handed(file) => file.append(bytes),
        }
    }

    /// Leaves a hole of so many bytes.
    pub(crate) fn skip(&mut self, bytes: u32) -> io::Result<()> {
        match self {
            Self::Own(file) => file.seek(SeekFrom::Current(bytes.into())).map(|_| ()),
            Self::Handed(file) => {
                file.skip(bytes);
                Ok(())
            }
        }
    }

    /// Sets its length, permission bits and time, and flushes it if wanted.
    pub(crate) fn finish(
        &self,
        size: u64,
        mode: u32,
        modified: Time,
        flushes: bool,
    ) -> io::Result<()> {
        match self {
            Self::Own(file) => finish_written(file, size, mode, modified, flushes),
            Self::Handed(file) => file.finish(size, mode, modified, flushes),
        }
    }
}

/// Completes a written file.
pub(crate) fn finish_written(
    file: &File,
    size: u64,
    mode: u32,
    modified: Time,
    flushes: bool,
) -> io::Result<()> {
    // Seeking over a hole at the end does not lengthen the file.
    file.set_len(size)?;
    finish_file(file, mode, modified)?;
    if flushes { file.sync_data() } else { Ok(()) }
}
