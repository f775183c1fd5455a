//! Where something stands in a rules file, and what is wrong there.

/// Bytes of a text, from the first to one past the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl Span {
    /// From here to there.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Both and what lies between.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where: bytes of the text that was read.
    pub span: Span,
    /// In one line, naming the thing and the mend.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(span: Span, what: impl Into<String>) -> Self {
        Self { span, what: what.into() }
    }
}

/// Line and column of a byte, from 1; a column counts characters.
#[must_use]
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..floor(text, at)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// The line that a byte stands in, without its break.
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

/// A name or a value inside a message: one line, within bounds.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 48;
    let mut line: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        line.push_str("...");
    }
    line
}

/// What a literal of TOML stands for, byte by byte: finds the place in the file of a byte of the value.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    /// For each piece: the value's first byte, and the file's.
    pieces: Vec<(usize, usize)>,
    end: usize,
}

impl Literal {
    /// `raw` is the literal with its quotes, and begins at `start` of the file.
    pub(crate) fn new(raw: &str, start: usize) -> Self {
        let quotes = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quotes| raw.starts_with(quotes)).unwrap_or_default();
        let inner = raw.get(quotes.len()..raw.len().saturating_sub(quotes.len())).unwrap_or_default();
        let several = quotes.len() == 3;
        let skipped = [("\r\n", 2), ("\n", 1)].into_iter().find(|(text, _)| several && inner.starts_with(text)).map_or(0, |(_, n)| n);
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
            let code = rest.get(1..long).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
            value += short.unwrap_or_else(|| code.map_or(1, char::len_utf8));
            raw += 1 + long;
            self.pieces.push((value, begin + raw));
        }
    }

    /// Where a byte of the value stands in the file.
    pub(crate) fn place(&self, at: usize) -> usize {
        let piece = self.pieces.partition_point(|(value, _)| *value <= at).checked_sub(1).and_then(|index| self.pieces.get(index));
        piece.map_or(self.end, |(value, file)| file + (at - value)).min(self.end)
    }

    pub(crate) fn span(&self, span: Span) -> Span {
        let start = self.place(span.start);
        Span::new(start, self.place(span.end).max(start + usize::from(start < self.end)))
    }
}
