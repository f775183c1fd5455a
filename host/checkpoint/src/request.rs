//! The requests of callers.

use crate::id::Id;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The limits of a vault.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all contents together. A take beyond it leaves files out
    /// ([`Why::VaultFull`](crate::Why)); it never removes contents that older checkpoints need.
    /// Default 4 GiB.
    pub max_bytes: u64,
    /// The failures that a checkpoint survives. Default [`CheckpointDurability::Power`].
    pub durability: CheckpointDurability,
    /// The timeout for another process that collects. Default 2 s.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_bytes: 4 << 30,
            durability: CheckpointDurability::Power,
            patience: Duration::from_secs(2),
        }
    }
}

/// The failures that a checkpoint survives once `take` or `settle` returned. A restore always
/// survives both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointDurability {
    /// The death of the process. After a power failure a checkpoint may be damaged, which is
    /// detected.
    Process,
    /// A power failure too: files are flushed before they count.
    Power,
}

/// A checkpoint to take.
#[derive(Clone, Debug)]
pub struct CheckpointRequest {
    /// The call it belongs to, which has no checkpoint yet.
    pub id: Id,
    /// The time, in milliseconds since 1970. Checkpoints are ordered by it, then by id.
    pub at: u64,
    /// The folders that contain everything the action may touch. Absolute; links above them are
    /// resolved. A root below another counts as part of it.
    pub roots: Vec<PathBuf>,
    /// The part of them to keep.
    pub what: What,
    /// The exclusions.
    pub policy: ExclusionPolicy,
    /// The time limit for scanning and reading. A file that is being read is finished first,
    /// however long the disk takes.
    pub budget: Duration,
}

/// The part of the roots that a checkpoint keeps.
#[derive(Clone, Debug)]
pub enum What {
    /// These paths: a file, a folder with everything in it, or a path that does not exist, together
    /// with the folders above it that do not exist yet. Absolute. For a link, its destination as
    /// well, if that is below a root. Ignored files, build output and git's folder are taken if
    /// they are targets or below one.
    Targets(Vec<PathBuf>),
    /// All of them: the action does not reveal which files it will change.
    Tree,
}

/// The exclusions from a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExclusionPolicy {
    /// Largest file in bytes, holes included. Default 64 MiB.
    pub max_file: u64,
    /// Bytes that one checkpoint adds to the vault. Default 1 GiB.
    pub max_total: u64,
    /// The treatment of files that git ignores, in a whole tree.
    pub ignored: Ignored,
    /// True if a whole tree includes the folders that build tools and package managers fill: those
    /// with a valid `CACHEDIR.TAG`, `node_modules`, `__pycache__`, `.venv`, `.tox`, `.gradle`,
    /// `.next`, and caches of Python's tools. Default false.
    pub build_output: bool,
    /// True if a whole tree includes git's own folders. Default false.
    pub git: bool,
}

impl Default for ExclusionPolicy {
    fn default() -> Self {
        Self {
            max_file: 64 << 20,
            max_total: 1 << 30,
            ignored: Ignored::LeaveFolders,
            build_output: false,
            git: false,
        }
    }
}

impl ExclusionPolicy {
    /// Returns the policy that keeps everything in a whole tree, within the limits of size.
    #[must_use]
    pub fn keep_all() -> Self {
        Self { ignored: Ignored::Keep, build_output: true, git: true, ..Self::default() }
    }
}

/// The treatment of files that git ignores by `.gitignore` files at or below the root and by
/// `.git/info/exclude`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ignored {
    /// They are kept. Ignored folders, and those of build tools, are scanned after everything else,
    /// so that the budget and the limits affect them first.
    Keep,
    /// An ignored folder is left out as a whole; an ignored file elsewhere is kept, since such a
    /// file (`.env`, a local database) is often not generated and git cannot bring it back.
    LeaveFolders,
    /// All of them are left out.
    Leave,
}

/// The options of a restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// The id of the checkpoint that stores the state that this restore overwrites.
    pub undo: Id,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// Also restores paths that were changed since, overwriting (and storing) their current state.
    pub force: bool,
    /// Only these paths and what is below them; all if empty. Absolute, resolved as targets are.
    pub only: Vec<PathBuf>,
    /// Later checkpoints whose roots are restored too; those without one of that id are skipped.
    pub also: Vec<Id>,
    /// Only report the result, without changing anything.
    pub dry: bool,
}

/// The limits beyond which checkpoints are removed.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Checkpoints older than this are removed.
    pub keep: Duration,
    /// If all contents together are larger than this, the oldest checkpoints are removed too.
    pub max_bytes: u64,
}
