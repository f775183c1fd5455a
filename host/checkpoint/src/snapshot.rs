//! What a tree held at one moment: every path with its node and its stamp.

use crate::node::{Content, Node, Stamp};
use crate::path::Rel;
use serde::{Deserialize, Serialize};

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

/// Paths below a root, in order. A path that is not in it stood empty, unless it lies below a closed folder: then
/// nobody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Rel, Known)>")]
pub(crate) struct Snapshot(Vec<(Rel, Known)>);

impl TryFrom<Vec<(Rel, Known)>> for Snapshot {
    type Error = &'static str;

    fn try_from(entries: Vec<(Rel, Known)>) -> Result<Self, Self::Error> {
        let ordered = entries.is_sorted_by(|(one, _), (next, _)| one < next);
        if ordered { Ok(Self(entries)) } else { Err("the paths of a snapshot are not in order") }
    }
}

impl Snapshot {
    /// Of paths in any order. Of one that was seen twice the later look counts.
    pub(crate) fn of(mut entries: Vec<(Rel, Known)>) -> Self {
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Self(entries)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Known> {
        self.0.iter().map(|(_, known)| known)
    }

    pub(crate) fn get(&self, path: &Rel) -> Option<&Known> {
        self.get_from(path, &mut 0)
    }

    /// For paths that are asked for nearly in order: `next` is where the one after the last one is.
    pub(crate) fn get_from(&self, path: &Rel, next: &mut usize) -> Option<&Known> {
        if self.0.get(*next).is_none_or(|(known, _)| known != path) {
            *next = self.0.binary_search_by(|(known, _)| known.cmp(path)).ok()?;
        }
        let found = self.0.get(*next).map(|(_, known)| known);
        *next += 1;
        found
    }

    /// What stood at a path that is not in it; none if nobody looked.
    fn absent(&self, path: &Rel) -> Option<&Known> {
        if self.is_closed_above(path) { None } else { Some(&Known::MISSING) }
    }

    fn is_closed_above(&self, path: &Rel) -> bool {
        path.ancestors().filter_map(|above| self.get(&above)).any(|known| matches!(known.node, Node::Folder { closed: Some(_), .. }))
    }

    /// Each path that differs from a later look, where both looked.
    pub(crate) fn changes(&self, later: &Self) -> Vec<Change> {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), later.0.iter().peekable());
        let mut differing = Vec::new();
        // Both are in order, so no path has to be looked for that both have.
        while let Some(path) = ours.peek().into_iter().chain(theirs.peek()).map(|(path, _)| path).min() {
            let before = ours.next_if(|(other, _)| other == path).map(|(_, known)| known).or_else(|| self.absent(path));
            let after = theirs.next_if(|(other, _)| other == path).map(|(_, known)| known).or_else(|| later.absent(path));
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
