//! All contents of a vault.

use crate::error::CheckpointError;
use crate::node::ContentDigest;
use crate::pack::{Extent, Pack};
use crate::sealed::VaultDir;
use std::io;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The packs that can be read, and those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Packs {
    pub(crate) packs: Vec<Pack>,
    /// Those that are damaged, and those whose key is missing.
    pub(crate) unreadable: Vec<CheckpointError>,
    /// One whose key is missing: what is in no other pack may be in it.
    locked: Option<PathBuf>,
}

impl Packs {
    pub(crate) fn load(dir: &VaultDir) -> Result<Self> {
        let mut all = Self::default();
        for path in dir.list("packs")? {
            match Pack::open(dir, &path) {
                Ok(pack) => all.packs.push(pack),
                Err(error @ CheckpointError::Damaged { .. }) => all.unreadable.push(error),
                Err(error @ CheckpointError::Encryption { .. }) => {
                    all.unreadable.push(error);
                    all.locked = Some(path);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Returns the bytes of all packs.
    pub(crate) fn size(&self) -> u64 {
        self.packs.iter().map(|pack| pack.size).sum()
    }

    pub(crate) fn find(&self, digest: &ContentDigest) -> Option<(&Pack, Extent)> {
        self.packs.iter().find_map(|pack| Some((pack, pack.find(digest)?)))
    }

    /// Copies a content. `of` is the file that it belongs to, for the error. The copied bytes are
    /// valid only if no error is returned.
    pub(crate) fn copy(
        &self,
        dir: &VaultDir,
        digest: &ContentDigest,
        of: &Path,
        to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let lost = || CheckpointError::Lost { path: of.to_owned(), digest: *digest };
        let Some((pack, extent)) = self.find(digest) else {
            // The error of that pack says what is missing.
            if let Some(path) = &self.locked {
                Pack::open(dir, path)?;
            }
            return Err(lost());
        };
        if pack.copy(digest, extent, to).map_err(CheckpointError::io("put back", of))? {
            Ok(())
        } else {
            Err(lost())
        }
    }
}
