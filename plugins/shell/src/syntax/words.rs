//! Words: literals, quotes, and their contents.

use super::commands::{ends_word, is_name};
use super::cursor::Parser;
use super::tree::{Part, Word};
use super::windows::is_drive;

/// The context of a word, which decides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    /// Inside `[[ ]]`, where brackets and pipes are part of a pattern.
    Test,
}

impl Parser<'_> {
    /// Reads one word; without parts if there is no word at this position.
    pub(super) fn word(&mut self, mode: Mode) -> Word {
        let start = self.pos;
        let mut parts = Vec::new();
        let mut brackets = 0_usize;
        while let Some(byte) = self.peek() {
            if self.windows && self.windows_part(&mut parts) {
                self.count();
                continue;
            }
            match byte {
                b'\\'
                    if is_drive(&parts)
                        && self.peek_at(1).is_some_and(|byte| {
                            byte.is_ascii_alphanumeric() || b".%$_*".contains(&byte)
                        }) =>
                {
                    literal(&mut parts, self.character(), false);
                }
                b'\\' => self.escape(&mut parts),
                b'\'' => self.single_quotes(&mut parts),
                b'"' => self.double_quotes(&mut parts),
                b'$' => self.dollar(&mut parts, false),
                b'`' => self.backquotes(&mut parts, false),
                b'<' | b'>' if mode == Mode::Plain && self.peek_at(1) == Some(b'(') => {
                    self.pos += 2;
                    let script = self.bracketed();
                    parts.push(Part::Process { script, output: byte == b'>' });
                }
                b'(' if mode == Mode::Plain && is_array_head(&parts) => self.array(&mut parts),
                // `@(a|b)` and the like
                b'(' if mode == Mode::Plain && (brackets > 0 || is_pattern_head(&parts)) => {
                    brackets += 1;
                    literal(&mut parts, self.character(), false);
                }
                b')' if brackets > 0 => {
                    brackets -= 1;
                    literal(&mut parts, self.character(), false);
                }
                b'|' if brackets > 0 => literal(&mut parts, self.character(), false),
                b' ' | b'\t' | b'\r' | b'\n' => break,
                _ if mode == Mode::Plain && ends_word(byte) => break,
                _ => {
                    let text = self.run(|byte| {
                        ends_word(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')
                    });
                    let text = if text.is_empty() { self.character() } else { text };
                    literal(&mut parts, text, false);
                }
            }
            self.count();
        }
        Word { parts, span: self.span(start), open: None }
    }

    fn escape(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        if self.take("\n") || self.take("\r\n") {
            return;
        }
        let escaped = if self.peek().is_some() { self.character() } else { "\\" };
        literal(parts, escaped, true);
    }

    fn single_quotes(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        let text = self.run(|byte| byte == b'\'');
        literal(parts, text, true);
        if !self.take("'") {
            self.open = Some("a `'` without its end");
        }
    }

    pub(super) fn double_quotes(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        literal(parts, "", true);
        parts.extend(self.quoted_parts(Some(b'"')));
        if !self.take("\"") {
            self.open = Some("a `\"` without its end");
        }
    }

    /// Reads the contents of double quotes, up to `close`, which is not consumed, or to the end.
    pub(super) fn quoted_parts(&mut self, close: Option<u8>) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                _ if Some(byte) == close => break,
                b'\\' if self.windows => literal(&mut parts, self.character(), true),
                b'\\' => self.quoted_escape(&mut parts),
                b'$' => self.dollar(&mut parts, true),
                b'`' => self.backquotes(&mut parts, true),
                _ => {
                    let text =
                        self.run(|byte| Some(byte) == close || matches!(byte, b'\\' | b'$' | b'`'));
                    literal(&mut parts, text, true);
                }
            }
            self.count();
        }
        parts
    }

    fn quoted_escape(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        match self.peek() {
            Some(b'\n') => self.pos += 1,
            Some(b'$' | b'`' | b'"' | b'\\') => {
                let escaped = self.character();
                literal(parts, escaped, true);
            }
            _ => literal(parts, "\\", true),
        }
    }

    /// Reads the text inside backquotes, with its escapes resolved, as a text of its own.
    pub(super) fn backquotes(&mut self, parts: &mut Vec<Part>, quoted: bool) {
        let start = self.pos;
        self.pos += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.run(|byte| matches!(byte, b'`' | b'\\')));
            match self.peek() {
                Some(b'\\') => {
                    self.pos += 1;
                    match self.peek() {
                        Some(b'`' | b'\\' | b'$') => text.push_str(self.character()),
                        _ => text.push('\\'),
                    }
                }
                Some(_) => {
                    self.pos += 1;
                    break;
                }
                None => {
                    self.gap("a backquote without its end");
                    break;
                }
            }
        }
        if self.enter() {
            let span = self.span(start);
            let script = self.inner(&text, span);
            parts.push(Part::Substitution { script, quoted });
            self.leave();
        }
    }

    fn array(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        if !self.enter() {
            return;
        }
        let mut words = Vec::new();
        loop {
            self.skip_line_breaks();
            if self.take(")") {
                break;
            }
            let before = self.pos;
            let word = self.word(Mode::Plain);
            if self.pos == before {
                if self.peek().is_none() {
                    self.gap("a `(` without its `)`");
                    break;
                }
                self.character();
            } else {
                words.push(word);
            }
        }
        self.leave();
        parts.push(Part::Array(words));
    }
}

/// Adds text to a word, joined to the preceding part if that is quoted the same way.
pub(super) fn literal(parts: &mut Vec<Part>, more: &str, quoted: bool) {
    match parts.last_mut() {
        Some(Part::Text { text, quoted: before }) if *before == quoted => text.push_str(more),
        _ => parts.push(Part::Text { text: more.to_owned(), quoted }),
    }
}

fn is_array_head(parts: &[Part]) -> bool {
    match parts {
        [Part::Text { text, quoted: false }] => {
            text.strip_suffix('=').is_some_and(|name| is_name(name.trim_end_matches('+')))
        }
        _ => false,
    }
}

fn is_pattern_head(parts: &[Part]) -> bool {
    matches!(parts.last(), Some(Part::Text { text, quoted: false }) if text.ends_with(['@', '?', '*', '+', '!']))
}
