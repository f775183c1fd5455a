//! A condition as it is written: names not yet known, types not yet checked.

use crate::place::Span;

/// A part of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) node: Node,
    pub(crate) span: Span,
    /// The number of nested levels below it, itself included.
    pub(crate) height: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Flag(bool),
    Number(i64),
    Text(String),
    List(Vec<Tree>),
    Name(String),
    Select(Box<Tree>, Word),
    Index(Box<Tree>, Box<Tree>),
    /// A function, or a method of the expression before the dot.
    Call(Option<Box<Tree>>, Word, Vec<Tree>),
    Not(Box<Tree>),
    Minus(Box<Tree>),
    /// All of them.
    And(Vec<Tree>),
    /// Any of them.
    Or(Vec<Tree>),
    Pair(&'static str, Span, Box<Tree>, Box<Tree>),
    Choice(Box<[Tree; 3]>),
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) name: String,
    pub(crate) span: Span,
}

impl Tree {
    pub(crate) fn new(node: Node, span: Span) -> Self {
        let highest =
            |trees: &[Self]| trees.iter().map(|tree| tree.height).max().unwrap_or_default();
        let below = match &node {
            Node::Flag(_) | Node::Number(_) | Node::Text(_) | Node::Name(_) => 0,
            Node::List(items) | Node::And(items) | Node::Or(items) => highest(items),
            Node::Select(of, _) | Node::Not(of) | Node::Minus(of) => of.height,
            Node::Index(left, right) | Node::Pair(_, _, left, right) => {
                left.height.max(right.height)
            }
            Node::Call(of, _, arguments) => {
                highest(arguments).max(of.as_ref().map_or(0, |of| of.height))
            }
            Node::Choice(parts) => highest(parts.as_slice()),
        };
        Self { node, span, height: below + 1 }
    }
}
