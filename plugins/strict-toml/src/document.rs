//! A text, its tables and its problems.

use crate::place::Span;
use crate::report::{Problem, Report};
use crate::table::{Keys, Table};
use toml::Spanned;
use toml::de::DeTable;

/// The size, in bytes, above which only the first syntax error is reported: a broken megabyte has a
/// million of them.
const MOST_RECOVERED: usize = 64 << 10;

/// A parsed text. It collects the problems that its tables and values find.
#[derive(Debug)]
pub struct Document<'a> {
    table: Spanned<DeTable<'a>>,
    report: Report<'a>,
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
        let report = Report::new(text);
        errors.iter().for_each(|error| report.add_syntax_error(error));
        Self { table, report }
    }

    /// Returns true if the whole text is TOML. If it is not, a missing key may be in a broken line.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.report.is_sound()
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
        Table::new(&self.report, self.table.get_ref(), Span::default(), String::new())
    }

    /// Reports a problem. In a broken line only the syntax error counts.
    pub fn report(&self, span: Span, what: impl Into<String>) {
        self.report.add(span, what);
    }

    /// Returns true if further problems are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.report.is_full()
    }

    /// Returns line and column of a byte, from 1.
    #[must_use]
    pub fn place(&self, at: usize) -> (usize, usize) {
        self.report.place(at)
    }

    /// Returns the text at a place.
    #[must_use]
    pub fn text(&self, span: Span) -> &'a str {
        self.report.text(span)
    }

    /// Returns the problems in the text's order, and the number of omitted ones.
    #[must_use]
    pub fn problems(&self) -> (Vec<Problem>, usize) {
        self.report.problems()
    }
}
