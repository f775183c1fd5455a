//! Lines of bounded length from chunks of any length.

/// A line, or the length of one that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A whole line, without its end.
    Line(&'a [u8]),
    /// The length of a line that was too long to be held.
    TooLong(u64),
}

/// Splits chunks into lines and holds at most `longest` bytes of the one that is not complete.
#[derive(Debug)]
pub(crate) struct Splitter {
    longest: usize,
    held: Vec<u8>,
    /// The length of the line that is being dropped.
    dropped: Option<u64>,
}

impl Splitter {
    pub(crate) fn new(longest: usize) -> Self {
        Self { longest, held: Vec::new(), dropped: None }
    }

    /// Adds a chunk and passes on each line that it completes.
    pub(crate) fn feed(&mut self, mut chunk: &[u8], each: &mut dyn FnMut(Piece<'_>)) {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = chunk.split_at(end);
            self.hold(line);
            self.finish(each);
            chunk = rest.get(1..).unwrap_or_default();
        }
        self.hold(chunk);
    }

    /// Passes on the rest at the end of the input.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        if !self.held.is_empty() || self.dropped.is_some() {
            self.finish(each);
        }
    }

    fn hold(&mut self, part: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            *dropped = dropped.saturating_add(part.len() as u64);
        } else if self.held.len().saturating_add(part.len()) > self.longest {
            self.dropped = Some(self.held.len().saturating_add(part.len()) as u64);
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(part);
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        match self.dropped.take() {
            Some(bytes) => each(Piece::TooLong(bytes)),
            None => each(Piece::Line(self.held.strip_suffix(b"\r").unwrap_or(&self.held))),
        }
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Splitter};

    #[test]
    fn lines_come_whole_and_are_never_held_beyond_the_limit() {
        // The chunks, and the resulting lines, at a limit of 4 bytes.
        let rows: [(&[&str], &[&str]); 7] = [
            (&["ab\ncd\n"], &["ab", "cd"]),
            (&["a", "b", "\n", "c"], &["ab", "c"]),
            (&["ab\r\n\n"], &["ab", ""]),
            (&["abcd\nabcde\nf\n"], &["abcd", "long 5", "f"]),
            (&["abc", "def", "ghi\nx"], &["long 9", "x"]),
            (&["abcdefgh"], &["long 8"]),
            (&[], &[]),
        ];
        for (chunks, expected) in rows {
            let mut splitter = Splitter::new(4);
            let mut seen = Vec::new();
            let mut each = |piece: Piece<'_>| {
                seen.push(match piece {
                    Piece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                    Piece::TooLong(bytes) => format!("long {bytes}"),
                });
            };
            chunks.iter().for_each(|chunk| {
                splitter.feed(chunk.as_bytes(), &mut each);
                assert!(splitter.held.len() <= 4, "{chunks:?}");
            });
            splitter.end(&mut each);
            assert_eq!(seen, expected, "{chunks:?}");
        }
    }
}
