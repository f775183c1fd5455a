//! The files that checkpoints keep and restore: those of this process's user, or those of another
//! user, seen through a process of theirs.

use crate::folder::OpenFolder;
use crate::handed::{FilePort, HandedFiles};
use crate::own_folder::OwnFolder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The access to files that a vault has.
#[derive(Clone, Debug, Default)]
pub struct FileAccess(Way);

#[derive(Clone, Debug, Default)]
enum Way {
    #[default]
    Own,
    Handed(Arc<HandedFiles>),
    Unreachable,
}

impl FileAccess {
    /// Creates the access to another user's files, through a process of that user which answers
    /// with [`answer_request`](crate::answer_request).
    #[must_use]
    pub fn through(port: impl FilePort + 'static) -> Self {
        Self(Way::Handed(Arc::new(HandedFiles::new(Box::new(port)))))
    }

    /// Creates no access: for a process that keeps the checkpoints of another user, while nobody
    /// hands that user's files over. Each look fails.
    #[must_use]
    pub const fn unreachable() -> Self {
        Self(Way::Unreachable)
    }

    /// Returns true if the files are another user's.
    #[must_use]
    pub const fn are_of_another(&self) -> bool {
        !matches!(self.0, Way::Own)
    }

    /// Returns true if a path leads to a folder, through links too.
    #[must_use]
    pub fn is_folder(&self, path: &Path) -> bool {
        match &self.0 {
            Way::Own => path.is_dir(),
            Way::Handed(files) => files.is_folder(path).unwrap_or(false),
            Way::Unreachable => false,
        }
    }

    /// Opens a folder by its absolute path, without following a link.
    pub(crate) fn open(&self, path: &Path) -> io::Result<OpenFolder> {
        match &self.0 {
            Way::Own => OwnFolder::absolute(path).map(OpenFolder::Own),
            Way::Handed(files) => HandedFiles::open(files, path).map(OpenFolder::Handed),
            Way::Unreachable => Err(out_of_reach()),
        }
    }

    /// Returns a path without links.
    pub(crate) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        match &self.0 {
            Way::Own => fs::canonicalize(path),
            Way::Handed(files) => files.resolve(path),
            Way::Unreachable => Err(out_of_reach()),
        }
    }

    /// Returns true if nothing is at a path, not even a link.
    pub(crate) fn is_missing(&self, path: &Path) -> bool {
        let found = match &self.0 {
            Way::Own => fs::symlink_metadata(path).map(|_| true),
            Way::Handed(files) => files.exists(path),
            Way::Unreachable => Err(out_of_reach()),
        };
        match found {
            Ok(exists) => !exists,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Returns the text of a link; none if there is no link.
    pub(crate) fn link_text(&self, path: &Path) -> Option<PathBuf> {
        match &self.0 {
            Way::Own => fs::read_link(path).ok(),
            Way::Handed(files) => files.link_text_at(path).ok(),
            Way::Unreachable => None,
        }
    }

    /// Returns true if the bits of a mode stop its user.
    pub(crate) fn modes_count(&self) -> bool {
        match &self.0 {
            Way::Own => !rustix::process::geteuid().is_root(),
            Way::Handed(_) | Way::Unreachable => true,
        }
    }
}

fn out_of_reach() -> io::Error {
    io::Error::other("the file belongs to another user, and nobody hands it over")
}
