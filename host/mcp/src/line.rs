//! Lines of a stream, within a limit: each message is one.

use crate::id_scanner::IdScanner;
use crate::request_id::RequestId;
use std::io::{BufRead, BufReader, Read, Result};

/// One line, or what is known of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The whole line, with its end as it was written. The last line of a stream may have none.
    Whole(Vec<u8>),
    /// A line with more bytes than the limit, which was read and dropped.
    TooLong {
        /// Its id, if it has exactly one.
        id: Option<RequestId>,
        /// Its number of bytes.
        size: u64,
    },
    /// The end of the stream.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: BufReader<R>,
    most: usize,
}

impl<R: Read> LineReader<R> {
    /// Reads lines of at most `most` bytes.
    pub fn new(stream: R, most: usize) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), most }
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// Fails if the stream does.
    pub fn read_line(&mut self) -> Result<Line> {
        let mut line = Vec::new();
        let limit = self.most as u64 + 1;
        self.stream.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Line::End);
        }
        if line.len() <= self.most {
            return Ok(Line::Whole(line));
        }
        let mut scanner = IdScanner::default();
        scanner.feed(&line);
        let mut size = line.len() as u64;
        while line.last() != Some(&b'\n') {
            line.clear();
            size += self.stream.by_ref().take(1 << 16).read_until(b'\n', &mut line)? as u64;
            if line.is_empty() {
                break;
            }
            scanner.feed(&line);
        }
        Ok(Line::TooLong { id: scanner.id(), size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_bytes_and_long_ones_their_id() {
        let long = format!("{{\"params\":\"{}\",\"id\":5}}\n", "x".repeat(200_000));
        let text = format!("a\r\n\n{long}{{}}\nlast");
        let mut lines = LineReader::new(text.as_bytes(), 100);
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        for expected in [
            whole("a\r\n"),
            whole("\n"),
            Line::TooLong { id: Some(RequestId::Number(5)), size: long.len() as u64 },
            whole("{}\n"),
            whole("last"),
            Line::End,
            Line::End,
        ] {
            assert_eq!(lines.read_line().unwrap(), expected);
        }
    }
}
