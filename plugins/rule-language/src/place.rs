//! A position in a rules file, and the problem there.

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
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Its place: bytes of the text that was read.
    pub span: Span,
    /// The problem in one line, with the thing and the fix.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(span: Span, what: impl Into<String>) -> Self {
        Self { span, what: what.into() }
    }
}

/// Returns line and column of a byte, from 1; a column counts characters.
#[must_use]
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..floor(text, at)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// Returns the line that contains a byte, without its break.
#[must_use]
pub fn line_of(text: &str, at: usize) -> &str {
    let at = floor(text, at);
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1);
    let rest = text.get(start..).unwrap_or_default();
    rest.split(['\n', '\r']).next().unwrap_or_default()
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Formats a name or a value for a message: one line, within bounds.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 48;
    let mut line: String =
        text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        line.push_str("...");
    }
    line
}

/// A mapping from the bytes of a TOML literal's value to their positions in the file.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    /// For each piece: the value's first byte, and the file's.
    pieces: Vec<(usize, usize)>,
    end: usize,
}

impl Literal {
    /// Parses `raw`, the literal with its quotes, which begins at `start` of the file.
    pub(crate) fn new(raw: &str, start: usize) -> Self {
        let quotes = ["'''", "\"\"\"", "'", "\""]
            .into_iter()
            .find(|quotes| raw.starts_with(quotes))
            .unwrap_or_default();
        let inner =
            raw.get(quotes.len()..raw.len().saturating_sub(quotes.len())).unwrap_or_default();
        let several = quotes.len() == 3;
        let skipped = [("\r\n", 2), ("\n", 1)]
            .into_iter()
            .find(|(text, _)| several && inner.starts_with(text))
            .map_or(0, |(_, n)| n);
        let begin = start + quotes.len() + skipped;
        let body = inner.get(skipped..).unwrap_or_default();
        let mut literal = Self { pieces: vec![(0, begin)], end: begin + body.len() };
        if quotes.starts_with('"') {
            literal.escapes(body, begin);
        }
        literal
    }

    fn escapes(&mut self, body: &str, begin: usize) {
        let (mut raw, mut value) = (0, 0);
        while let Some(found) = body.get(raw..).and_then(|rest| rest.find('\\')) {
            value += found;
            raw += found;
            let rest = body.get(raw + 1..).unwrap_or_default();
            let (long, short) = match rest.chars().next() {
                Some('x') => (3, None),
                Some('u') => (5, None),
                Some('U') => (9, None),
                Some(c) if c.is_whitespace() => (rest.len() - rest.trim_start().len(), Some(0)),
                Some(c) => (c.len_utf8(), Some(1)),
                None => (0, Some(0)),
            };
            let code = rest
                .get(1..long)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32);
            value += short.unwrap_or_else(|| code.map_or(1, char::len_utf8));
            raw += 1 + long;
            self.pieces.push((value, begin + raw));
        }
    }

    /// Returns the position in the file of a byte of the value.
    pub(crate) fn place(&self, at: usize) -> usize {
        let piece = self
            .pieces
            .partition_point(|(value, _)| *value <= at)
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index));
        piece.map_or(self.end, |(value, file)| file + (at - value)).min(self.end)
    }

    pub(crate) fn span(&self, span: Span) -> Span {
        let start = self.place(span.start);
        Span::new(start, self.place(span.end).max(start + usize::from(start < self.end)))
    }
}
