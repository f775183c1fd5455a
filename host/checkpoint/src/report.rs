//! The results for callers.

use crate::difference::Difference;
use crate::error::CheckpointError;
use crate::id::Id;
use crate::node::{Node, Why};
use crate::path::root;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The result of a take.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Nothing was left out except what the policy leaves out by choice ([`Why::by_choice`]).
    pub complete: bool,
    /// The paths that were left out.
    pub left_out: LeftOuts,
    /// Files whose content the checkpoint has.
    pub files: u64,
    /// Files with several names: put back, they are separate files.
    pub hard_links: u64,
    /// Bytes read from the tree.
    pub bytes_read: u64,
    /// Bytes added to the vault's contents.
    pub bytes_stored: u64,
    /// The duration.
    pub elapsed: Duration,
}

/// The paths that were left out: a bounded list, and their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOuts {
    /// The first 100; a folder stands for everything in it.
    pub first: Vec<LeftOut>,
    /// The number of paths, by reason.
    pub counts: Vec<(Why, u64)>,
}

/// One path that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Absolute.
    #[serde(with = "root")]
    pub path: PathBuf,
    /// The reason.
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

    /// Adds the paths that a scan did not look at. A file that was only not stored is not among
    /// them: its stamp shows if it was changed.
    pub(crate) fn add_unseen(&mut self, of_scan: &Self) {
        let unseen = |why: Why| {
            !matches!(
                why,
                Why::TooLarge | Why::TotalReached | Why::VaultFull | Why::Changing | Why::Special
            )
        };
        for left in of_scan.first.iter().filter(|left| unseen(left.why)) {
            if self.first.len() < Self::LISTED && !self.first.contains(left) {
                self.first.push(left.clone());
            }
        }
        // Each scan counts the same paths again.
        for (why, count) in of_scan.counts.iter().filter(|(why, _)| unseen(*why)) {
            match self.counts.iter_mut().find(|(known, _)| known == why) {
                Some((_, most)) => *most = (*most).max(*count),
                None => self.counts.push((*why, *count)),
            }
        }
    }

    /// Keeps those of the listed paths that `keeps` says; the others do not count any more.
    pub(crate) fn retain_seen(&mut self, keeps: impl Fn(&LeftOut) -> bool) {
        let (kept, dropped): (Vec<LeftOut>, Vec<LeftOut>) =
            std::mem::take(&mut self.first).into_iter().partition(keeps);
        self.first = kept;
        for left in dropped {
            for (_, count) in self.counts.iter_mut().filter(|(why, _)| *why == left.why) {
                *count = count.saturating_sub(1);
            }
        }
        self.counts.retain(|(_, count)| *count > 0);
    }

    /// Returns true if all of it was left out by choice.
    #[must_use]
    pub fn by_choice(&self) -> bool {
        self.counts.iter().all(|(why, _)| why.by_choice())
    }

    /// Returns the total number of paths.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

/// The changes of an action, as far as they were seen.
#[derive(Clone, Debug)]
pub struct SettledChanges {
    /// Each path that differs, by path.
    pub changes: Vec<PathChange>,
    /// The scan after the action left out nothing except by choice.
    pub complete: bool,
    /// The paths that it left out.
    pub left_out: LeftOuts,
    /// Bytes read from the tree.
    pub bytes_read: u64,
    /// Bytes added to the vault's contents.
    pub bytes_stored: u64,
    /// The duration.
    pub elapsed: Duration,
}

/// One path that an action changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Absolute.
    pub path: PathBuf,
    /// The state before.
    pub before: Node,
    /// The state that the action left.
    pub after: Node,
}

/// The kind of a change. A move is a deletion and a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Nothing existed before.
    Made,
    /// Nothing exists now.
    Deleted,
    /// Other bytes, or another text of a link.
    Changed,
    /// The same with other permission bits.
    Mode,
    /// A file became a folder, or the like.
    Kind,
}

impl PathChange {
    /// Returns the kind of the change.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (Node::Missing, _) => ChangeKind::Made,
            (_, Node::Missing) => ChangeKind::Deleted,
            (Node::File { content: one, .. }, Node::File { content: other, .. })
                if one == other =>
            {
                ChangeKind::Mode
            }
            (Node::Folder { .. }, Node::Folder { .. }) => ChangeKind::Mode,
            (Node::File { .. }, Node::File { .. }) | (Node::Link { .. }, Node::Link { .. }) => {
                ChangeKind::Changed
            }
            _ => ChangeKind::Kind,
        }
    }
}

/// The operation that a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// An action.
    Action,
    /// A restore of this checkpoint.
    Restore(Id),
}

/// A checkpoint in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// The call.
    pub id: Id,
    /// The time at which it was taken, in milliseconds since 1970.
    pub at: u64,
    /// The operation that it was taken for.
    pub cause: Cause,
    /// The folders, resolved.
    pub roots: Vec<PathBuf>,
    /// True if it covers the whole roots, false for targets alone.
    pub tree: bool,
    /// The take left out nothing except by choice.
    pub complete: bool,
    /// The time at which it was settled; none if never.
    pub settled_at: Option<u64>,
    /// The number of paths that the action changed; 0 as long as it is not settled.
    pub changes: usize,
}

/// All checkpoints, oldest first, and those that cannot be read.
#[derive(Debug, Default)]
pub struct CheckpointList {
    /// Those that can be used.
    pub checkpoints: Vec<CheckpointSummary>,
    /// One error for each damaged one, and for each damaged file of contents.
    pub damaged: Vec<CheckpointError>,
    /// Restores that began and did not finish: [`Vault::resume`](crate::Vault::resume) completes
    /// them.
    pub unfinished: Vec<Id>,
}

/// One checkpoint in full.
#[derive(Clone, Debug)]
pub struct CheckpointDetail {
    /// As in the list.
    pub summary: CheckpointSummary,
    /// The paths that the take left out.
    pub left_out: LeftOuts,
    /// The changes of the action, by path; empty as long as it is not settled.
    pub changes: Vec<PathChange>,
}

/// The result of a restore, or of a dry run.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Restored paths, in order.
    pub restored: Vec<PathBuf>,
    /// Already as wanted.
    pub already: Vec<PathBuf>,
    /// Folders that the action created and that stay, since they contain files of others.
    pub stays: Vec<PathBuf>,
    /// Paths whose old state was not stored, with the reason.
    pub not_kept: Vec<LeftOut>,
    /// For a restore that was completed later: paths that a person changed between its crash and
    /// its end, and that were left as they are.
    pub left_alone: Vec<PathBuf>,
    /// Paths that a look after the restore found in another state than the wanted one.
    pub differs: Vec<Difference>,
    /// Paths that no scan looked at, so that it is unknown if the actions changed them.
    pub not_covered: LeftOuts,
    /// The checkpoint that undoes this restore; none if there was nothing to do.
    pub undo: Option<(Id, Taken)>,
    /// The plan of the restore: each path with its state at that time. Empty for one that was
    /// completed later.
    pub planned: Vec<Difference>,
}

impl Restored {
    /// Returns the paths that differ from the state that was wanted, each with the reason.
    pub fn not_restored(&self) -> impl Iterator<Item = (&PathBuf, String)> {
        let lost = |one: &LeftOut| format!("its earlier state was not kept: {}", one.why);
        let not_kept = self.not_kept.iter().map(move |one| (&one.path, lost(one)));
        let stays = self.stays.iter().map(|path| (path, "others put something into it".to_owned()));
        let alone = self.left_alone.iter().map(|path| (path, "it changed meanwhile".to_owned()));
        let differs = self.differs.iter().map(|one| (&one.path, one.standing.to_string()));
        not_kept.chain(stays).chain(alone).chain(differs)
    }
}

/// The result of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Checkpoints removed.
    pub checkpoints: u64,
    /// Bytes of contents before.
    pub bytes_before: u64,
    /// Bytes of contents after.
    pub bytes_after: u64,
    /// Keys of days that were destroyed.
    pub keys: u64,
}

pub(crate) fn below(path: &Path, tops: &[PathBuf]) -> bool {
    tops.iter().any(|top| path.starts_with(top))
}
