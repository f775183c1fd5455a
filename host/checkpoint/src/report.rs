//! What callers are told.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::node::{Node, Why};
use crate::path::root;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a take went.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Nothing was left out but what the policy leaves out by choice ([`Why::by_choice`]).
    pub complete: bool,
    /// What was left out.
    pub left_out: LeftOuts,
    /// Files whose content the checkpoint has.
    pub files: u64,
    /// Files with several names: put back, they are separate files.
    pub hard_links: u64,
    /// Bytes read from the tree.
    pub bytes_read: u64,
    /// Bytes added to the vault's contents.
    pub bytes_stored: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What was left out: a bounded list, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOuts {
    /// The first 100, a folder standing for all it holds.
    pub first: Vec<LeftOut>,
    /// How many there are, by reason.
    pub counts: Vec<(Why, u64)>,
}

/// One path that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Absolute.
    #[serde(with = "root")]
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

impl LeftOuts {
    const LISTED: usize = 100;

    pub(crate) fn add(&mut self, path: impl FnOnce() -> PathBuf, why: Why) {
        if self.first.len() < Self::LISTED {
            self.first.push(LeftOut { path: path(), why });
        }
        match self.counts.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((why, 1)),
        }
    }

    /// Whether all of it was left out by choice.
    #[must_use]
    pub fn by_choice(&self) -> bool {
        self.counts.iter().all(|(why, _)| why.by_choice())
    }

    /// How many paths in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

/// What an action did, as far as it was seen.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Each path that differs, by path.
    pub changes: Vec<Change>,
    /// The look after the action left out nothing but by choice.
    pub complete: bool,
    /// What it left out.
    pub left_out: LeftOuts,
    /// Bytes read from the tree.
    pub bytes_read: u64,
    /// Bytes added to the vault's contents.
    pub bytes_stored: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// One path that an action changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Absolute.
    pub path: PathBuf,
    /// What stood there before.
    pub before: Node,
    /// What the action left.
    pub after: Node,
}

/// How a path changed. A move is a deletion and a making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// There was nothing before.
    Made,
    /// There is nothing now.
    Deleted,
    /// Other bytes, or another text of a link.
    Changed,
    /// The same with other permission bits.
    Mode,
    /// A file became a folder, or the like.
    Kind,
}

impl Change {
    /// How it changed.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (Node::Missing, _) => ChangeKind::Made,
            (_, Node::Missing) => ChangeKind::Deleted,
            (Node::File { content: one, .. }, Node::File { content: other, .. }) if one == other => ChangeKind::Mode,
            (Node::Folder { .. }, Node::Folder { .. }) => ChangeKind::Mode,
            (Node::File { .. }, Node::File { .. }) | (Node::Link { .. }, Node::Link { .. }) => ChangeKind::Changed,
            _ => ChangeKind::Kind,
        }
    }
}

/// What a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// An action.
    Action,
    /// A restore of this checkpoint.
    Restore(Id),
}

/// A checkpoint in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The call.
    pub id: Id,
    /// When it was taken, in milliseconds since 1970.
    pub at: u64,
    /// What for.
    pub cause: Cause,
    /// The folders, resolved.
    pub roots: Vec<PathBuf>,
    /// Whether it has the whole roots, or targets alone.
    pub tree: bool,
    /// The take left out nothing but by choice.
    pub complete: bool,
    /// When it was settled; none if never.
    pub settled_at: Option<u64>,
    /// How many paths the action changed; 0 while it is not settled.
    pub changes: usize,
}

/// All checkpoints, oldest first, and what cannot be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// Those that can be used.
    pub checkpoints: Vec<Listed>,
    /// One error for each damaged one, and for each damaged file of contents.
    pub damaged: Vec<CheckpointError>,
    /// Restores that began and did not end: [`Vault::resume`](crate::Vault::resume) completes them.
    pub unfinished: Vec<Id>,
}

/// One checkpoint in full.
#[derive(Clone, Debug)]
pub struct Shown {
    /// As in the list.
    pub summary: Listed,
    /// What the take left out.
    pub left_out: LeftOuts,
    /// What the action changed, by path; empty while it is not settled.
    pub changes: Vec<Change>,
}

/// One path that a restore is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Absolute.
    pub path: PathBuf,
    /// What would be put back.
    pub wanted: Node,
    /// What the newest action left there; none if it was never settled.
    pub left: Option<Node>,
    /// What stands there now.
    pub now: Node,
    /// What that means.
    pub standing: Standing,
}

/// What stands at a path now, against what the actions left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// As the action left it: a restore puts the old state back.
    AsLeft,
    /// As it was before the action: nothing to do.
    AlreadyBack,
    /// Changed since, or between two of the actions: refused without force.
    ChangedSince,
    /// Its action was never settled, so nobody knows who changed it: refused without force. Settling it late
    /// counts what stands there now as the action's.
    NeverSettled,
    /// A folder that the action made, where others have put things since: it stays, they too.
    Stays,
    /// The old state was not kept: it cannot be put back.
    NotKept(Why),
    /// A link or a file stands where a folder above it was: refused even with force.
    Barred,
}

impl Standing {
    /// Whether a restore without force refuses because of it.
    #[must_use]
    pub fn refused(self) -> bool {
        matches!(self, Self::ChangedSince | Self::NeverSettled | Self::Barred)
    }
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AsLeft => f.write_str("as the action left it"),
            Self::AlreadyBack => f.write_str("already back"),
            Self::ChangedSince => f.write_str("changed since"),
            Self::NeverSettled => f.write_str("changed, and nobody knows by whom: its action was never settled"),
            Self::Stays => f.write_str("holds what others put there, so it stays"),
            Self::NotKept(why) => write!(f, "not kept ({why})"),
            Self::Barred => f.write_str("a link or a file stands in its way"),
        }
    }
}

/// How a restore went, or would go.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Put back, by path.
    pub restored: Vec<PathBuf>,
    /// Already as wanted.
    pub already: Vec<PathBuf>,
    /// Folders that the action made and that stay, since they hold what others put there.
    pub stays: Vec<PathBuf>,
    /// What was not kept, and why.
    pub not_kept: Vec<LeftOut>,
    /// Of a restore that was completed later: paths that a person changed between its crash and its end, and
    /// that were left as they are.
    pub left_alone: Vec<PathBuf>,
    /// The checkpoint that undoes this restore; none if there was nothing to do.
    pub undo: Option<(Id, Taken)>,
    /// What the restore was planned by: each path with what stood there then. Empty for one that was completed later.
    pub planned: Vec<Difference>,
}

/// What a collection removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Checkpoints forgotten.
    pub checkpoints: u64,
    /// Bytes of contents before.
    pub bytes_before: u64,
    /// And after.
    pub bytes_after: u64,
}

pub(crate) fn below(path: &Path, tops: &[PathBuf]) -> bool {
    tops.iter().any(|top| path.starts_with(top))
}
