//! Positions in a rules file, also inside its TOML literals.

pub(crate) use portcullis_strict_toml::show as shown;
pub use portcullis_strict_toml::{Problem, Span, line_and_column, line_of};

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
