//! The problems of a text, which its tables and values report while they are read.

use crate::place::{LineIndex, Span};
use crate::words::escape;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The most problems of one document that are kept; the others are counted.
pub const MOST_PROBLEMS: usize = 50;
/// The most bytes of the parser's words for a syntax error.
const MOST_SYNTAX: usize = 300;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Its place: bytes of the text.
    pub span: Span,
    /// The problem in one line, with the thing and the fix.
    pub what: String,
}

impl Problem {
    /// Creates a problem.
    pub fn new(span: Span, what: impl Into<String>) -> Self {
        Self { span, what: what.into() }
    }
}

/// A text and the problems that were found in it.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    text: &'a str,
    lines: LineIndex<'a>,
    found: RefCell<Found>,
}

#[derive(Debug, Default)]
struct Found {
    problems: Vec<Problem>,
    /// Lines that are not valid TOML: the parser guessed their content.
    broken: BTreeSet<usize>,
    omitted: usize,
}

impl<'a> Report<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, lines: LineIndex::new(text), found: RefCell::default() }
    }

    /// Returns true if the whole text is TOML. If it is not, a missing key may be in a broken line.
    pub(crate) fn is_sound(&self) -> bool {
        self.found.borrow().broken.is_empty()
    }

    /// Reports a problem. In a broken line only the syntax error counts.
    pub(crate) fn add(&self, span: Span, what: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.problems.len() >= MOST_PROBLEMS {
            found.omitted += 1;
        } else if !found.broken.contains(&self.lines.place(span.start).0) {
            found.problems.push(Problem::new(span, what));
        }
    }

    /// Returns true if further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.found.borrow().problems.len() >= MOST_PROBLEMS
    }

    /// Returns line and column of a byte, from 1.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        self.lines.place(at)
    }

    /// Returns the text at a place.
    pub(crate) fn text(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Returns the problems in the text's order, and the number of omitted ones.
    pub(crate) fn problems(&self) -> (Vec<Problem>, usize) {
        let found = self.found.borrow();
        let mut problems = found.problems.clone();
        problems.sort();
        (problems, found.omitted)
    }

    /// Adds a syntax error, the only problem of its line that counts.
    pub(crate) fn add_syntax_error(&self, error: &toml::de::Error) {
        let span = Span::from(error.span().unwrap_or_default());
        let what = escape(&error.message().replace('\n', "; "), MOST_SYNTAX);
        let mut found = self.found.borrow_mut();
        if found.problems.len() >= MOST_PROBLEMS {
            found.omitted += 1;
        } else if found.broken.insert(self.lines.place(span.start).0) {
            found.problems.push(Problem::new(span, format!("it is not TOML: {what}")));
        }
    }
}
