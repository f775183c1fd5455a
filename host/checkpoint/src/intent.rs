//! The intent of a restore, as it is stored while the restore runs.

use crate::id::Id;
use crate::path::{Rel, root};
use crate::plan::Item;
use crate::request::ExclusionPolicy;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The intent of a restore: written before its first step, removed after its last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) undo: Id,
    pub(crate) of: Id,
    pub(crate) at: u64,
    pub(crate) policy: ExclusionPolicy,
    pub(crate) items: Vec<Item>,
    /// Folders that must be writable in the meantime, with their permission bits.
    pub(crate) loosened: Vec<Loosened>,
}

/// A folder that is made writable until the restore is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Loosened {
    #[serde(with = "root")]
    pub(crate) root: PathBuf,
    pub(crate) path: Rel,
    pub(crate) mode: u32,
}
