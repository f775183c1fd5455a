//! The messages between both processes, in postcard's form.

use crate::entry::EntryInfo;
use crate::node::Time;
use crate::path::text;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The most bytes of a file in one message.
pub(super) const PART: usize = 1 << 20;
/// The most bytes that the names of one folder may take in one message.
pub(super) const MOST_LISTED: usize = 16 << 20;

/// A path or a name, as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bytes(#[serde(with = "text")] pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn of(text: impl AsRef<OsStr>) -> Self {
        Self(text.as_ref().as_bytes().to_vec())
    }

    pub(super) fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    pub(super) fn path(&self) -> &Path {
        Path::new(self.name())
    }

    pub(super) fn into_path(self) -> PathBuf {
        OsString::from_vec(self.0).into()
    }
}

/// A name in a folder, by the folder's whole path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) folder: Bytes,
    pub(super) name: Bytes,
}

/// A request to look at a file, or to change one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileRequest {
    /// The path without links.
    Resolve(Bytes),
    /// If the path leads to a folder.
    IsFolder(Bytes),
    /// If something is at the path, be it a link.
    Exists(Bytes),
    /// The text of the link at the path.
    LinkAt(Bytes),
    /// If the folder can be opened without following a link.
    Enter(Bytes),
    /// The names in the folder, with their metadata.
    List(Bytes),
    /// The metadata of a name.
    Find(Place),
    /// At most [`PART`] bytes of a file from an offset on.
    Read(Place, u64),
    /// The text of a link.
    LinkText(Place),
    /// A change.
    Change(FileChange),
}

/// A request to change a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileChange {
    /// A new, empty file.
    Create(Place),
    /// Bytes from an offset on.
    Write(Place, u64, Bytes),
    /// Length, permission bits, time, and whether to flush.
    Finish(Place, u64, u32, Time, bool),
    /// A link with a text.
    MakeLink(Place, Bytes),
    MakeFolder(Place),
    RemoveFile(Place),
    RemoveFolder(Place),
    /// The second place is the new one.
    Rename(Place, Place),
    SetMode(Place, u32),
    /// Flushes the entries of a folder.
    Flush(Bytes),
    /// Flushes a file.
    FlushFile(Place),
}

/// An answer to a [`FileRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileAnswer {
    Done,
    Holds(bool),
    /// A path, or the text of a link.
    Text(Bytes),
    Names(Vec<(Bytes, EntryInfo)>),
    Entry(Option<EntryInfo>),
    /// Bytes, with the file's metadata before and after they were read.
    Part {
        before: EntryInfo,
        after: EntryInfo,
        bytes: Bytes,
    },
    /// The number of the system's error.
    Failed(i32),
}
