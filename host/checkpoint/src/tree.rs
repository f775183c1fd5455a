//! Ways to paths below a root, folder by folder.

use crate::files::FileAccess;
use crate::folder::OpenFolder;
use crate::path::Rel;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// A root, and a cache for reaching paths in it.
#[derive(Debug)]
pub(crate) struct Root<'a> {
    files: &'a FileAccess,
    path: &'a Path,
    /// The folder that was opened last, for many paths of one folder; none stands for the root's
    /// parent.
    last: Option<(Option<Rel>, OpenFolder)>,
}

/// The way to a path below a root.
pub(crate) enum PathAccess<'a> {
    /// The folder that holds it exists; the name in it.
    Open(&'a OpenFolder, OsString),
    /// A folder above it is missing.
    Missing,
    /// Something that is not a folder is in the place of a folder above it.
    Barred,
}

impl<'a> Root<'a> {
    pub(crate) const fn new(files: &'a FileAccess, path: &'a Path) -> Self {
        Self { files, path, last: None }
    }

    pub(crate) fn way(&mut self, to: &Rel) -> io::Result<PathAccess<'_>> {
        let (holder, name) = match to.split() {
            Some((holder, name)) => (Some(holder), name.to_owned()),
            None => (None, self.path.file_name().unwrap_or(OsStr::new(".")).to_owned()),
        };
        if self.last.as_ref().is_none_or(|(known, _)| *known != holder) {
            self.last = match self.open(holder.as_ref()) {
                Ok(folder) => Some((holder, folder)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(PathAccess::Missing);
                }
                Err(error) if is_barred(&error) => return Ok(PathAccess::Barred),
                Err(error) => return Err(error),
            };
        }
        Ok(self
            .last
            .as_ref()
            .map_or(PathAccess::Missing, |(_, folder)| PathAccess::Open(folder, name)))
    }

    fn open(&self, holder: Option<&Rel>) -> io::Result<OpenFolder> {
        match holder {
            None => self.files.open(self.path.parent().unwrap_or(self.path)),
            Some(holder) => holder
                .names()
                .try_fold(self.files.open(self.path)?, |folder, name| folder.enter(name)),
        }
    }
}

/// Returns true if a folder could not be entered because it is a link or not a folder.
fn is_barred(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP)
    )
}
