//! Finds the id of a message that is too long, or not in order, so that its sender gets an error.

use crate::request_id::RequestId;

/// The most bytes of an id.
const MOST_ID: usize = 256;

/// Reads a message piece by piece and keeps the id at its top level.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    depth: usize,
    in_text: bool,
    escaped: bool,
    token: Vec<u8>,
    is_id: bool,
    is_nested: bool,
    found: Vec<Vec<u8>>,
}

impl IdScanner {
    /// Returns the id of a whole message.
    pub(crate) fn scan(bytes: &[u8]) -> Option<RequestId> {
        let mut scanner = Self::default();
        scanner.feed(bytes);
        scanner.id()
    }

    /// Reads the next piece.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.feed_byte(*byte));
    }

    /// Returns the id; `None` if there is none, or more than one.
    pub(crate) fn id(&self) -> Option<RequestId> {
        match self.found.as_slice() {
            [only] => RequestId::from_value(&serde_json::from_slice(only).ok()?),
            _ => None,
        }
    }

    fn feed_byte(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.is_nested = self.depth >= 1;
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_id = self.token == b"\"id\"";
                self.token.clear();
            }
            b',' if self.depth == 1 => self.end_value(),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= MOST_ID {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.is_id && !self.is_nested && self.found.len() < 2 {
            self.found.push(std::mem::take(&mut self.token));
        }
        self.token.clear();
        self.is_id = false;
        self.is_nested = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_at_the_top_is_found() {
        for (text, expected) in [
            (r#"{"id":7,"method":"x"}"#, Some(RequestId::Number(7))),
            (r#"{"result":{"id":3,"a":["id",{"id":4}]},"id": "a\"b" }"#, Some("a\"b".into())),
            (r#"{"id":7,"id":8}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"params":{"id":1}}"#, None),
            (r#"{"id":1,"params":{"#, Some(RequestId::Number(1))),
            (r#"[{"id":1}]"#, None),
            ("", None),
        ] {
            assert_eq!(IdScanner::scan(text.as_bytes()), expected, "{text}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(300));
        assert_eq!(IdScanner::scan(long.as_bytes()), None);
    }
}
