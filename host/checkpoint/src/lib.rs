//! Undo for folder trees: keeps what a tree held before an action, by content, and puts it back.
//!
//! A shell command changes, makes, moves and deletes files that nobody announced. So a checkpoint looks before
//! the action ([`Vault::take`]) and after it ([`Vault::settle`]), and what differs is the action's doing.
//!
//! ```text
//! take(request) -> (the action) -> settle(id) -> ... -> diff(id) -> restore(id)
//! ```
//!
//! - **Take.** Known targets: these paths alone, and whether they existed. An opaque action: the whole tree of
//!   the roots. A snapshot of the tree remembers size, inode and times of every file whose content is kept, so
//!   that only new or changed files are read. What was not kept in time is named, and what was stays for the
//!   next time.
//! - **Settle.** Looks again and writes down each path that differs, with the digest of what the action left.
//!   Whatever changed between take and settle counts as the action's, a person's edit in the meantime too.
//! - **Restore.** Undoes an action and all later ones below the same roots. A path that no longer holds what
//!   the action left was changed by a person since; by default one such path refuses the whole restore, and
//!   [`Restore::force`] overrides that. A restore keeps what it overwrites as a checkpoint of its own, so it
//!   can be undone by its own id. It survives a crash: [`Vault::resume`], or any later restore, completes it.
//! - **Collect.** Forgets old checkpoints and gives back the space of contents that nobody refers to.
//!
//! What is kept: bytes, permission bits, the time of the last change of files, links as their text (absolute
//! and dangling ones too), empty folders, holes. What is not: owners, extended attributes, access lists, times
//! of folders and links; hard links come back as separate files. Pipes, sockets and devices, other file
//! systems, git's own folder in a whole tree, build output and files over a limit are left out by
//! [`Policy`], and a checkpoint says what it left out. What was left out is neither put back nor removed: a
//! folder that holds such things stays.
//!
//! No path is followed through a link, not even one that stays inside: every file is reached from `/` folder by
//! folder, each opened without following. A root is resolved once, at the take; if a link stands in its way
//! later, the restore refuses.
//!
//! Contents are the user's files, so the vault's folder is 0700 and each file in it 0600. The caller dates
//! everything; the only clocks are the budgets, and the file system's own, which tells a file that may have
//! changed in the same tick as it was read.
//!
//! A known target costs .1 to .6 ms however much the vault has, some 30 ms where the disk is flushed, and a tree of
//! 50,000 files that did not change .2 to .5 s; the whole table stands in the README beside this crate.
//!
//! Nothing here asks, prints, reads the environment or starts a thread.

mod carry;
mod collect;
mod error;
mod hands;
mod id;
mod ignored;
mod index;
mod keep;
mod manifest;
mod node;
mod now;
mod pack;
mod packs;
mod path;
mod plan;
mod report;
mod request;
mod restore;
mod scan;
mod sealed;
mod settle;
mod snapshot;
mod steps;
mod take;
mod targets;
mod trail;
mod tree;
mod vault;

pub use error::CheckpointError;
pub use id::Id;
pub use node::{Content, Digest, Node, Stamp, Time, Why};
pub use report::{
    Cause, Change, ChangeKind, Collected, Difference, LeftOut, LeftOuts, Listed, Listing, Restored, Settled, Shown, Standing, Taken,
};
pub use request::{Bounds, Durability, Ignored, Policy, Request, Restore, Retention, What};
pub use steps::Steps;
pub use vault::Vault;
