//! Paths that a restore concerns, and how each stands.

use crate::node::{Node, Why};
use std::path::PathBuf;

/// One path of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Absolute.
    pub path: PathBuf,
    /// The state that would be restored.
    pub wanted: Node,
    /// The state that the newest action left; none if it was never settled.
    pub left: Option<Node>,
    /// The current state.
    pub now: Node,
    /// The meaning of the difference.
    pub standing: PathStatus,
}

/// The current state of a path compared with the state that the actions left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathStatus {
    /// As the action left it: a restore brings the old state back.
    AsLeft,
    /// As it was before the action: nothing to do.
    AlreadyBack,
    /// Changed since, or between two of the actions: refused without force.
    ChangedSince,
    /// Its action was never settled, so it is unknown who changed it: refused without force.
    /// Settling it late attributes the current state to the action.
    NeverSettled,
    /// A folder that the action created and that now contains files of others: it stays, with those
    /// files.
    Stays,
    /// The old state was not stored: it cannot be restored.
    NotKept(Why),
    /// A link or a file is in the place of a folder above it: refused even with force.
    Barred,
}

impl PathStatus {
    /// Returns true if a restore without force refuses because of it.
    #[must_use]
    pub fn is_refused(self) -> bool {
        matches!(self, Self::ChangedSince | Self::NeverSettled | Self::Barred)
    }
}

impl std::fmt::Display for PathStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AsLeft => f.write_str("as the action left it"),
            Self::AlreadyBack => f.write_str("already back"),
            Self::ChangedSince => f.write_str("changed since"),
            Self::NeverSettled => {
                f.write_str("changed, unknown by what: its action was never completed")
            }
            Self::Stays => f.write_str("holds what others put there, so it stays"),
            Self::NotKept(why) => write!(f, "not kept ({why})"),
            Self::Barred => f.write_str("a link or a file is in its way"),
        }
    }
}
