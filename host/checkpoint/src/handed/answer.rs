//! The side of the files' user.

use super::message::{Bytes, FileAnswer, FileChange, FileRequest, MOST_LISTED, PART, Place};
use crate::entry::EntryInfo;
use crate::folder::finish_written;
use crate::own_folder::OwnFolder;
use crate::path::is_plain;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path};

/// The requests that a process answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Those that look at files and read them.
    Read,
    /// Those that change files too.
    Change,
}

/// Answers a request of a vault's process about the files of this process's user, with the rights
/// of that user. A request that is not one, or is not allowed, fails like a refused access.
#[must_use]
pub fn answer_request(request: &[u8], allowed: Allowed) -> Vec<u8> {
    let request = postcard::from_bytes(request).map_err(|_| Errno::PROTO.into());
    let answer = request.and_then(|request| match request {
        FileRequest::Change(_) if allowed == Allowed::Read => Err(Errno::PERM.into()),
        FileRequest::Change(change) => carry_out(&change).map(|()| FileAnswer::Done),
        request => look(request),
    });
    let answer = answer.unwrap_or_else(|error: io::Error| {
        FileAnswer::Failed(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
    });
    // Every part of an answer can be written.
    postcard::to_allocvec(&answer).unwrap_or_default()
}

fn look(request: FileRequest) -> io::Result<FileAnswer> {
    Ok(match request {
        FileRequest::Resolve(path) => {
            FileAnswer::Text(Bytes::of(fs::canonicalize(from_root(&path)?)?))
        }
        FileRequest::IsFolder(path) => FileAnswer::Holds(from_root(&path)?.is_dir()),
        FileRequest::Exists(path) => {
            FileAnswer::Holds(fs::symlink_metadata(from_root(&path)?).map(|_| true)?)
        }
        FileRequest::LinkAt(path) => FileAnswer::Text(Bytes::of(fs::read_link(from_root(&path)?)?)),
        FileRequest::Enter(path) => open(&path).map(|_| FileAnswer::Done)?,
        FileRequest::List(path) => FileAnswer::Names(list(&path)?),
        FileRequest::Find(place) => {
            FileAnswer::Entry(open(&place.folder)?.find(plain(&place.name)?)?)
        }
        FileRequest::Read(place, offset) => read(&place, offset)?,
        FileRequest::LinkText(place) => {
            FileAnswer::Text(Bytes(open(&place.folder)?.link_text(plain(&place.name)?)?))
        }
        FileRequest::Change(_) => return Err(Errno::PERM.into()),
    })
}

fn list(path: &Bytes) -> io::Result<Vec<(Bytes, EntryInfo)>> {
    let folder = open(path)?.enter_to_list(OsStr::new("."))?;
    let (mut listed, mut size) = (Vec::new(), 0);
    for name in folder.names()? {
        size += name.len() + size_of::<EntryInfo>();
        if size > MOST_LISTED {
            return Err(Errno::OVERFLOW.into());
        }
        if let Some(found) = folder.find(&name)? {
            listed.push((Bytes::of(&name), found));
        }
    }
    Ok(listed)
}

fn read(place: &Place, offset: u64) -> io::Result<FileAnswer> {
    let mut file = open(&place.folder)?.read(plain(&place.name)?)?;
    let before = EntryInfo::of_file(&file)?;
    let mut bytes = Vec::new();
    if before.kind == rustix::fs::FileType::RegularFile {
        file.seek(SeekFrom::Start(offset))?;
        (&mut file).take(PART as u64).read_to_end(&mut bytes)?;
    }
    let after = EntryInfo::of_file(&file)?;
    Ok(FileAnswer::Part { before, after, bytes: Bytes(bytes) })
}

fn carry_out(change: &FileChange) -> io::Result<()> {
    let at = |place: &Place| open(&place.folder);
    match change {
        FileChange::Create(place) => at(place)?.create(plain(&place.name)?).map(|_| ()),
        FileChange::Write(place, offset, bytes) => {
            at(place)?.write(plain(&place.name)?)?.write_all_at(&bytes.0, *offset)
        }
        FileChange::Finish(place, size, mode, modified, flushes) => {
            let file = at(place)?.write(plain(&place.name)?)?;
            finish_written(&file, *size, *mode, *modified, *flushes)
        }
        FileChange::MakeLink(place, text) => at(place)?.make_link(plain(&place.name)?, &text.0),
        FileChange::MakeFolder(place) => at(place)?.make_folder(plain(&place.name)?),
        FileChange::RemoveFile(place) => at(place)?.remove_file(plain(&place.name)?),
        FileChange::RemoveFolder(place) => at(place)?.remove_folder(plain(&place.name)?),
        FileChange::Rename(place, to) => {
            at(place)?.rename(plain(&place.name)?, &at(to)?, plain(&to.name)?)
        }
        FileChange::SetMode(place, mode) => at(place)?.set_mode(plain(&place.name)?, *mode),
        FileChange::Flush(folder) => open(folder)?.flush(),
        FileChange::FlushFile(place) => at(place)?.read(plain(&place.name)?)?.sync_data(),
    }
}

fn open(folder: &Bytes) -> io::Result<OwnFolder> {
    OwnFolder::absolute(whole(folder)?)
}

/// Returns an absolute path, which the system resolves.
fn from_root(path: &Bytes) -> io::Result<&Path> {
    if path.path().is_absolute() { Ok(path.path()) } else { Err(Errno::INVAL.into()) }
}

/// Returns an absolute path without `..`.
fn whole(path: &Bytes) -> io::Result<&Path> {
    let path = path.path();
    if is_plain(path) { Ok(path) } else { Err(Errno::INVAL.into()) }
}

/// Returns a single name.
fn plain(name: &Bytes) -> io::Result<&OsStr> {
    let mut parts = Path::new(name.name()).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name.name() => Ok(part),
        _ => Err(Errno::INVAL.into()),
    }
}
