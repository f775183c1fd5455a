//! Places in a text.

use std::ops::Range;

/// Bytes of a text, from the first to one past the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Span {
    /// Returns the span from `start` to `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the span of both and everything in between.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// Returns it as a range of bytes.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// The offsets at which the lines of a text begin.
#[derive(Clone, Debug)]
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Finds the lines of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let breaks =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Returns line and column of a byte, from 1; a column counts characters.
    #[must_use]
    pub fn place(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.starts.partition_point(|start| *start <= at);
        let begin = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(begin..at).map_or(1, |before| before.chars().count() + 1);
        (line, column)
    }
}

/// Returns line and column of a byte, from 1; a column counts characters. [`LineIndex`] is faster
/// for many places of one text.
#[must_use]
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    LineIndex::new(text).place(at)
}

/// Returns the line that contains a byte, without its break.
#[must_use]
pub fn line_of(text: &str, at: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1);
    let rest = text.get(start..).unwrap_or_default();
    rest.split(['\n', '\r']).next().unwrap_or_default()
}
