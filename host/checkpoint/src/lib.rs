//! Undo for folder trees: stores the state of a tree before an action, by content, and restores it.
//!
//! A shell command changes, creates, moves and deletes files without announcing which. So a
//! checkpoint scans the tree before the action ([`Vault::take_checkpoint`]) and after it
//! ([`Vault::settle_checkpoint`]), and attributes the differences to the action.
//!
//! ```text
//! take(request) -> (the action) -> settle(id) -> ... -> diff(id) -> restore(id)
//! ```
//!
//! - **Take.** Known targets: only these paths, and the fact whether they existed. An opaque
//!   action: the whole tree of the roots. A snapshot of the tree remembers size, inode and times of
//!   every file whose content is stored, so that only new or changed files are read. Files that
//!   could not be stored in time are reported, and those that were remain for the next time.
//! - **Settle.** Scans again and records each path that differs, with the digest of the state that
//!   the action left. All changes between take and settle count as the action's, including a
//!   person's edit in the meantime.
//! - **Restore.** Undoes an action and all later ones below the same roots. A path that no longer
//!   holds the state that the action left was changed by a person since; by default one such path
//!   refuses the whole restore, and [`RestoreOptions::force`] overrides that. A restore stores the
//!   state that it overwrites as a checkpoint of its own, so it can be undone by its own id. It
//!   survives a crash: [`Vault::resume`], or any later restore, completes it.
//! - **Collect.** Removes old checkpoints and frees the space of contents without a reference.
//!
//! A checkpoint contains: bytes, permission bits, the modification time of files, links as their
//! text (absolute and dangling ones too), empty folders, holes. It does not contain: owners,
//! extended attributes, access lists, times of folders and links; hard links are restored as
//! separate files. Pipes, sockets and devices, other file systems, git's own folder in a whole
//! tree, build output and files over a limit are left out by [`ExclusionPolicy`], and a checkpoint
//! lists everything that it left out. Such files are neither restored nor removed: a folder that
//! contains them stays.
//!
//! No path is followed through a link, not even one that stays inside: every file is reached from
//! `/` folder by folder, each opened without following. A root is resolved once, at the take; if a
//! link is on its path later, the restore refuses.
//!
//! Contents are the user's files, so the vault's folder is 0700 and each file in it 0600, and what
//! it holds is encrypted: bytes, paths, digests and times, all of a checkpoint with the key of the
//! day on which it was taken ([`portcullis_encryption::DataKeys`]). A collection destroys the keys
//! of days without a checkpoint, and what is still needed of such a day gets the key of a later one.
//! The number, the sizes and the times of the vault's files stay visible, and the ids of
//! checkpoints. The caller supplies all dates; the only clocks are those of the budgets, and the file system's own,
//! which shows if a file may have changed in the same tick in which it was read.
//!
//! A known target costs .1 to .6 ms regardless of the vault's size, some 30 ms if the disk is
//! flushed, and a tree of 50,000 unchanged files .2 to .5 s; the complete table is in this crate's
//! README.
//!
//! The files may be those of another user, whose process answers requests ([`answer_request`]) of the
//! vault's process ([`Vault::with_files`]), so that neither needs a right to what is the other's.
//!
//! Nothing here prompts, prints, reads the environment or starts a thread.

mod collect;
mod content_writer;
mod current;
mod difference;
mod entry;
mod error;
mod files;
mod folder;
mod git_state;
mod handed;
mod history;
mod id;
mod ignored;
mod index;
mod intent;
mod live_contents;
mod manifest;
mod name_key;
mod node;
mod own_folder;
mod pack;
mod pack_writer;
mod packs;
mod path;
mod plan;
mod report;
mod request;
mod restore;
mod restore_executor;
mod restore_ops;
mod scan;
mod sealed;
mod settle;
mod snapshot;
mod steps;
mod stored_name;
mod take;
mod targets;
mod tree;
mod vault;

pub use difference::{Difference, PathStatus};
pub use error::CheckpointError;
pub use files::FileAccess;
pub use handed::{Allowed, FilePort, answer_request};
pub use id::Id;
pub use node::{Content, ContentDigest, Node, NodeStamp, Time, Why};
pub use report::{
    Cause, ChangeKind, CheckpointDetail, CheckpointList, CheckpointSummary, Collected, LeftOut,
    LeftOuts, PathChange, Restored, SettledChanges, Taken,
};
pub use request::{
    Bounds, CheckpointDurability, CheckpointRequest, ExclusionPolicy, Ignored, RestoreOptions,
    Retention, What,
};
pub use steps::StepHook;
pub use vault::Vault;
