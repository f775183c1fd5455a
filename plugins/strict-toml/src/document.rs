//! A text, its tables and its problems.

use crate::place::{LineIndex, Span};
use crate::table::{Keys, Table};
use crate::words::escape;
use std::cell::RefCell;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::DeTable;

/// The most problems of one document that are kept; the others are counted.
pub const MOST_PROBLEMS: usize = 50;
/// The size, in bytes, above which only the first syntax error is reported: a broken megabyte has a
/// million of them.
const MOST_RECOVERED: usize = 64 << 10;
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

/// A parsed text. It collects the problems that its tables and values find.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
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

impl<'a> Document<'a> {
    /// Parses a text. A syntax error is a problem of its line, and the other lines can be read.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let (table, errors) = if text.len() <= MOST_RECOVERED {
            DeTable::parse_recoverable(text)
        } else {
            match DeTable::parse(text) {
                Ok(table) => (table, Vec::new()),
                Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
            }
        };
        let document = Self { text, table, lines: LineIndex::new(text), found: RefCell::default() };
        errors.iter().for_each(|error| document.report_syntax(error));
        document
    }

    /// Returns true if the whole text is TOML. If it is not, a missing key may be in a broken line.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.found.borrow().broken.is_empty()
    }

    /// Opens the text's own table, which may have these keys.
    #[must_use]
    pub fn root(&self, keys: &Keys<'_>) -> Table<'_> {
        let table = self.any_root();
        table.report_unknown(keys);
        table
    }

    /// Opens the text's own table without a look at its keys: the caller has to check them.
    #[must_use]
    pub fn any_root(&self) -> Table<'_> {
        Table::new(self, self.table.get_ref(), Span::default(), String::new())
    }

    /// Reports a problem. In a broken line only the syntax error counts.
    pub fn report(&self, span: Span, what: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.problems.len() >= MOST_PROBLEMS {
            found.omitted += 1;
        } else if !found.broken.contains(&self.lines.place(span.start).0) {
            found.problems.push(Problem::new(span, what));
        }
    }

    /// Returns true if further problems are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.found.borrow().problems.len() >= MOST_PROBLEMS
    }

    /// Returns line and column of a byte, from 1.
    #[must_use]
    pub fn place(&self, at: usize) -> (usize, usize) {
        self.lines.place(at)
    }

    /// Returns the text at a place.
    #[must_use]
    pub fn text(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Returns the problems in the text's order, and the number of omitted ones.
    #[must_use]
    pub fn problems(&self) -> (Vec<Problem>, usize) {
        let found = self.found.borrow();
        let mut problems = found.problems.clone();
        problems.sort();
        (problems, found.omitted)
    }

    fn report_syntax(&self, error: &toml::de::Error) {
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
