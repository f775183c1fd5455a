//! All contents of a vault.

use crate::error::CheckpointError;
use crate::node::Digest;
use crate::pack::{Extent, Pack};
use crate::sealed::Desk;
use std::io;
use std::path::Path;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The packs that can be read, and those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Packs {
    pub(crate) packs: Vec<Pack>,
    pub(crate) damaged: Vec<CheckpointError>,
}

impl Packs {
    pub(crate) fn load(desk: &Desk) -> Result<Self> {
        let mut all = Self::default();
        for path in desk.list("packs")? {
            match Pack::open(&path) {
                Ok(pack) => all.packs.push(pack),
                Err(error @ CheckpointError::Damaged { .. }) => all.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Bytes of all packs.
    pub(crate) fn size(&self) -> u64 {
        self.packs.iter().map(|pack| pack.size).sum()
    }

    pub(crate) fn find(&self, digest: &Digest) -> Option<(&Pack, Extent)> {
        self.packs.iter().find_map(|pack| Some((pack, pack.find(digest)?)))
    }

    /// Copies a content. `of` is the file that it belongs to, for the error. What was copied counts only if the
    /// answer is no error.
    pub(crate) fn copy(&self, digest: &Digest, of: &Path, to: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<()> {
        let lost = || CheckpointError::Lost { path: of.to_owned(), digest: *digest };
        let (pack, extent) = self.find(digest).ok_or_else(lost)?;
        if pack.copy(digest, extent, to).map_err(CheckpointError::io("put back", of))? { Ok(()) } else { Err(lost()) }
    }
}
