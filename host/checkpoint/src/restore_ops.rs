//! The single steps of a restore. Each is idempotent.

use crate::error::CheckpointError;
use crate::folder::{OpenFolder, TargetFile};
use crate::node::Node;
use crate::packs::Packs;
use crate::path::Rel;
use crate::plan::Item;
use crate::restore_executor::RestoreExecutor;
use crate::tree::{PathAccess, Root};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

const BLOCK: u32 = 4096;

impl RestoreExecutor<'_> {
    /// Removes the objects that block an item; true if none is left.
    pub(crate) fn remove(&self, item: &Item) -> Result<bool> {
        let full = item.full();
        let failed = |error| CheckpointError::io("remove", &full)(error);
        let mut root = Root::new(&self.vault.files, &item.root);
        let PathAccess::Open(folder, name) = root.way(&item.path).map_err(failed)? else {
            return Ok(true);
        };
        let Some(found) = folder.find(&name).map_err(failed)? else { return Ok(true) };
        let is_folder = found.kind == FileType::Directory;
        if item.wanted.node != Node::Missing && is_folder == item.wanted.node.is_folder() {
            return Ok(true);
        }
        self.step("remove", &full)?;
        match if is_folder { folder.remove_folder(&name) } else { folder.remove_file(&name) } {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            other => other.map(|()| true).map_err(failed),
        }
    }

    /// Creates a folder and those above it unless they exist.
    pub(crate) fn make_folder(&self, root: &Path, path: &Rel) -> Result<()> {
        let full = root.join(path.as_path());
        let failed = |error| CheckpointError::io("make", &full)(error);
        match Root::new(&self.vault.files, root).way(path).map_err(failed)? {
            PathAccess::Barred => Err(CheckpointError::NotAFolder { path: full }),
            PathAccess::Missing => match path.split() {
                Some((above, _)) => {
                    self.make_folder(root, &above)?;
                    self.make_folder(root, path)
                }
                None => self.make_root(root),
            },
            PathAccess::Open(folder, name) => match folder.find(&name).map_err(failed)? {
                Some(found) if found.kind == FileType::Directory => Ok(()),
                Some(_) => Err(CheckpointError::NotAFolder { path: full }),
                None => {
                    self.step("make", &full)?;
                    folder.make_folder(&name).map_err(failed)
                }
            },
        }
    }

    /// Renames a written file into place, unless that was done.
    pub(crate) fn place(&self, staging: &OpenFolder, name: &OsStr, item: &Item) -> Result<()> {
        let full = item.full();
        let failed = |error| CheckpointError::io("put back", &full)(error);
        if staging.find(name).map_err(failed)?.is_none() {
            return Ok(());
        }
        if let Some((above, _)) = item.path.split() {
            self.make_folder(&item.root, &above)?;
        }
        let mut root = Root::new(&self.vault.files, &item.root);
        match root.way(&item.path).map_err(failed)? {
            PathAccess::Open(folder, to) => {
                self.step("put back", &full)?;
                staging.rename(name, folder, &to).map_err(failed)
            }
            PathAccess::Missing | PathAccess::Barred => {
                Err(CheckpointError::NotAFolder { path: full })
            }
        }
    }

    pub(crate) fn write(
        &self,
        packs: &Packs,
        staging: &OpenFolder,
        name: &OsStr,
        item: &Item,
    ) -> Result<()> {
        let full = item.full();
        let failed = |error| CheckpointError::io("put back", &full)(error);
        self.step("write", &full)?;
        match &item.wanted.node {
            Node::Link { text } => staging.make_link(name, text).map_err(failed),
            Node::File { size, mode, modified, sparse, .. } => {
                let Some(digest) = item.wanted.node.digest() else { return Ok(()) };
                let mut file = staging.create(name).map_err(failed)?;
                packs.copy(&self.vault.dir, &digest, &full, &mut |part| {
                    if *sparse { write_with_holes(&mut file, part) } else { file.append(part) }
                })?;
                // All other files are flushed together with the rest.
                let flushes = mode & 0o400 == 0;
                file.finish(*size, *mode, *modified, flushes).map_err(failed)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn set_mode(&self, root: &Path, path: &Rel, mode: u32) -> Result<()> {
        let full = root.join(path.as_path());
        let failed = |error| CheckpointError::io("set the mode of", &full)(error);
        let mut root = Root::new(&self.vault.files, root);
        let PathAccess::Open(folder, name) = root.way(path).map_err(failed)? else { return Ok(()) };
        match folder.find(&name).map_err(failed)? {
            Some(found) if found.kind == FileType::Directory && found.mode != mode => {
                self.step("set the mode of", &full)?;
                folder.set_mode(&name, mode).map_err(failed)
            }
            _ => Ok(()),
        }
    }

    /// Creates a missing root, and the folders above it.
    pub(crate) fn make_root(&self, path: &Path) -> Result<()> {
        let mut folder =
            self.vault.files.open(Path::new("/")).map_err(CheckpointError::io("open", "/"))?;
        let mut full = PathBuf::from("/");
        for name in path.components().skip(1) {
            let name = name.as_os_str();
            full.push(name);
            if folder.find(name).map_err(CheckpointError::io("look at", &full))?.is_none() {
                self.step("make", &full)?;
                folder.make_folder(name).map_err(CheckpointError::io("make", &full))?;
            }
            folder = folder
                .enter(name)
                .map_err(|_| CheckpointError::NotAFolder { path: full.clone() })?;
        }
        Ok(())
    }
}

/// Writes a part of a file, and seeks over blocks of zeros, which become holes.
fn write_with_holes(file: &mut TargetFile, part: &[u8]) -> io::Result<()> {
    for block in part.chunks(BLOCK as usize) {
        if block.len() == BLOCK as usize && block.iter().all(|byte| *byte == 0) {
            file.skip(BLOCK)?;
        } else {
            file.append(block)?;
        }
    }
    Ok(())
}
