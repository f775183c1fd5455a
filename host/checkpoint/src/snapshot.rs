//! The state of a tree at one moment: every path with its node and its stamp.

use crate::node::{Content, Node, NodeStamp};
use crate::path::Rel;
use serde::{Deserialize, Serialize};

/// The object at a path, and the means to detect a change without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownNode {
    pub(crate) node: Node,
    /// None if nothing existed.
    pub(crate) stamp: Option<NodeStamp>,
    /// The file's last change was so long before its reading that an equal stamp proves equal
    /// bytes.
    pub(crate) sure: bool,
}

impl KnownNode {
    pub(crate) const MISSING: Self = Self { node: Node::Missing, stamp: None, sure: false };

    /// Compares like [`Node::is_same`]; a file left out on one side and stored on the other is
    /// compared by its stamp.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.node, &other.node) {
            (
                Node::File { content: one, mode, .. },
                Node::File { content: two, mode: other_mode, .. },
            ) => match (one, two) {
                (Content::Kept(_), Content::Kept(_)) => self.node.is_same(&other.node),
                _ => mode == other_mode && self.stamp == other.stamp,
            },
            _ => self.node.is_same(&other.node),
        }
    }
}

/// Paths below a root, in order. A path that is not in it did not exist, unless it is below a
/// closed folder: then it was not scanned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Rel, KnownNode)>")]
pub(crate) struct TreeSnapshot(Vec<(Rel, KnownNode)>);

impl TryFrom<Vec<(Rel, KnownNode)>> for TreeSnapshot {
    type Error = &'static str;

    fn try_from(entries: Vec<(Rel, KnownNode)>) -> Result<Self, Self::Error> {
        let ordered = entries.is_sorted_by(|(one, _), (next, _)| one < next);
        if ordered { Ok(Self(entries)) } else { Err("the paths of a snapshot are not in order") }
    }
}

impl TreeSnapshot {
    /// Returns a snapshot of paths in any order. For a path that was scanned twice, the later scan
    /// counts.
    pub(crate) fn of(mut entries: Vec<(Rel, KnownNode)>) -> Self {
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                // `dedup_by` removes its first argument, and that is the scan to keep.
                std::mem::swap(later, earlier);
            }
            same
        });
        Self(entries)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &KnownNode> {
        self.0.iter().map(|(_, known)| known)
    }

    pub(crate) fn get(&self, path: &Rel) -> Option<&KnownNode> {
        self.get_from(path, &mut 0)
    }

    /// Returns the object at a path, for paths that are looked up nearly in order: `next` is the
    /// position after the last result.
    pub(crate) fn get_from(&self, path: &Rel, next: &mut usize) -> Option<&KnownNode> {
        if self.0.get(*next).is_none_or(|(known, _)| known != path) {
            *next = self.0.binary_search_by(|(known, _)| known.cmp(path)).ok()?;
        }
        let found = self.0.get(*next).map(|(_, known)| known);
        *next += 1;
        found
    }

    /// Returns the state of a path that is not in it; none if it was not scanned.
    fn absent(&self, path: &Rel) -> Option<&KnownNode> {
        if self.is_closed_above(path) { None } else { Some(&KnownNode::MISSING) }
    }

    fn is_closed_above(&self, path: &Rel) -> bool {
        path.ancestors()
            .filter_map(|above| self.get(&above))
            .any(|known| matches!(known.node, Node::Folder { closed: Some(_), .. }))
    }

    /// Returns each path that differs from a later scan, if both scanned it.
    pub(crate) fn changes(&self, later: &Self) -> Vec<EntryChange> {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), later.0.iter().peekable());
        let mut differing = Vec::new();
        // Both are in order, so paths in both need no search.
        while let Some(path) =
            ours.peek().into_iter().chain(theirs.peek()).map(|(path, _)| path).min()
        {
            let before = ours
                .next_if(|(other, _)| other == path)
                .map(|(_, known)| known)
                .or_else(|| self.absent(path));
            let after = theirs
                .next_if(|(other, _)| other == path)
                .map(|(_, known)| known)
                .or_else(|| later.absent(path));
            if let (Some(before), Some(after)) = (before, after)
                && !before.same(after)
            {
                differing.push(EntryChange {
                    path: path.clone(),
                    before: before.clone(),
                    after: after.clone(),
                });
            }
        }
        differing
    }
}

/// One path that an action changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryChange {
    pub(crate) path: Rel,
    pub(crate) before: KnownNode,
    pub(crate) after: KnownNode,
}
