//! What callers ask for.

use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What a vault may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all contents together. A take beyond it leaves files out ([`Why::VaultFull`](crate::Why)); it
    /// never removes what older checkpoints need. Default 4 GiB.
    pub max_bytes: u64,
    /// What a checkpoint survives. Default [`Durability::Power`].
    pub durability: Durability,
    /// How long to wait for another process that collects. Default 2 s.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_bytes: 4 << 30, durability: Durability::Power, patience: Duration::from_secs(2) }
    }
}

/// What a checkpoint survives once `take` or `settle` returned. A restore always survives both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. After a loss of power a checkpoint may be damaged, which is noticed.
    Process,
    /// The loss of power too: files are flushed before they count.
    Power,
}

/// A checkpoint to take.
#[derive(Clone, Debug)]
pub struct Request {
    /// The call it belongs to; one that has no checkpoint yet.
    pub id: Id,
    /// When, in milliseconds since 1970. Checkpoints are ordered by it, then by id.
    pub at: u64,
    /// The folders that hold everything the action may touch. Absolute; links above them are resolved. One
    /// below another counts as part of it.
    pub roots: Vec<PathBuf>,
    /// Which part of them.
    pub what: What,
    /// What to leave out.
    pub policy: Policy,
    /// When to stop looking and reading. A file that is being read is finished first, however long the disk makes
    /// that wait.
    pub budget: Duration,
}

/// Which part of the roots a checkpoint keeps.
#[derive(Clone, Debug)]
pub enum What {
    /// These paths: a file, a folder with all it holds, or nothing where there is nothing, together with the
    /// folders above it that do not exist yet. Absolute. Of a link, what it leads to as well, if that lies
    /// below a root. Ignored files, build output and git's folder are taken if they are targets or below one.
    Targets(Vec<PathBuf>),
    /// All of them: the action does not say what it will change.
    Tree,
}

/// What to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Largest file in bytes, holes included. Default 64 MiB.
    pub max_file: u64,
    /// Bytes that one checkpoint adds to the vault. Default 1 GiB.
    pub max_total: u64,
    /// What git ignores, in a whole tree.
    pub ignored: Ignored,
    /// Whether a whole tree has the folders that build tools and package managers fill: those with a valid
    /// `CACHEDIR.TAG`, `node_modules`, `__pycache__`, `.venv`, `.tox`, `.gradle`, `.next`, and caches of
    /// Python's tools. Default false.
    pub build_output: bool,
    /// Whether a whole tree has git's own folders. Default false.
    pub git: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self { max_file: 64 << 20, max_total: 1 << 30, ignored: Ignored::LeaveFolders, build_output: false, git: false }
    }
}

impl Policy {
    /// Keeps everything that a whole tree holds, within the limits of size.
    #[must_use]
    pub fn everything() -> Self {
        Self { ignored: Ignored::Keep, build_output: true, git: true, ..Self::default() }
    }
}

/// What git ignores by `.gitignore` files at or below the root and by `.git/info/exclude`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ignored {
    /// It is kept. Ignored folders, and those of build tools, are looked at after everything else: what the
    /// budget or a limit leaves out is theirs.
    Keep,
    /// An ignored folder is left out as a whole; an ignored file elsewhere is kept, since such a file (`.env`,
    /// a local database) is often nobody's output and git cannot bring it back.
    LeaveFolders,
    /// All of it is left out.
    Leave,
}

/// How to put something back.
#[derive(Clone, Debug)]
pub struct Restore {
    /// The id of the checkpoint that keeps what this restore overwrites.
    pub undo: Id,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Also put back paths that were changed since, overwriting (and keeping) what stands there.
    pub force: bool,
    /// Only these paths and what is below them; all if empty. Absolute, resolved as targets are.
    pub only: Vec<PathBuf>,
    /// Only say what would happen.
    pub dry: bool,
}

/// What to forget.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Checkpoints older than this go.
    pub keep: Duration,
    /// If all contents together are larger than this, the oldest checkpoints go too.
    pub max_bytes: u64,
}
