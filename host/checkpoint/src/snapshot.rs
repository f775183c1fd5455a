//! What a tree held at one moment: every path with its node and its stamp.

use crate::node::{Content, Node, Stamp};
use crate::path::Rel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What stood at a path, and how to tell without reading whether it still does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) node: Node,
    /// None where nothing stood.
    pub(crate) stamp: Option<Stamp>,
    /// The file's last change lies so far before its reading that an equal stamp proves equal bytes.
    pub(crate) sure: bool,
}

impl Known {
    pub(crate) const MISSING: Self = Self { node: Node::Missing, stamp: None, sure: false };

    /// As [`Node::same`]; a file left out on one side and kept on the other is told by its stamp.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.node, &other.node) {
            (Node::File { content: one, mode, .. }, Node::File { content: two, mode: other_mode, .. }) => match (one, two) {
                (Content::Kept(_), Content::Kept(_)) => self.node.same(&other.node),
                _ => mode == other_mode && self.stamp == other.stamp,
            },
            _ => self.node.same(&other.node),
        }
    }
}

/// Paths below a root. A path that is not in it stood empty, unless it lies below a closed folder: then nobody
/// looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot(pub(crate) BTreeMap<Rel, Known>);

impl Snapshot {
    /// What stood at a path that is not in it; none if nobody looked.
    fn absent(&self, path: &Rel) -> Option<&Known> {
        if self.is_closed_above(path) { None } else { Some(&Known::MISSING) }
    }

    fn is_closed_above(&self, path: &Rel) -> bool {
        path.ancestors().filter_map(|above| self.0.get(&above)).any(|known| matches!(known.node, Node::Folder { closed: Some(_), .. }))
    }

    /// Each path that differs from a later look, where both looked.
    pub(crate) fn changes(&self, later: &Self) -> Vec<Change> {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), later.0.iter().peekable());
        let mut differing = Vec::new();
        // Both are in order, so no path has to be looked for that both have.
        while let Some(path) = ours.peek().into_iter().chain(theirs.peek()).map(|(path, _)| *path).min() {
            let before = ours.next_if(|(other, _)| *other == path).map(|(_, known)| known).or_else(|| self.absent(path));
            let after = theirs.next_if(|(other, _)| *other == path).map(|(_, known)| known).or_else(|| later.absent(path));
            if let (Some(before), Some(after)) = (before, after)
                && !before.same(after)
            {
                differing.push(Change { path: path.clone(), before: before.clone(), after: after.clone() });
            }
        }
        differing
    }
}

/// One path that an action changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) path: Rel,
    pub(crate) before: Known,
    pub(crate) after: Known,
}
