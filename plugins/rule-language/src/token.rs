//! The words of a condition.
//!
//! They are those of CEL, except for unused ones: bytes, unsigned numbers, decimals.

use crate::place::{Problem, Span, shown};

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(String),
    Number(i64),
    Text(String),
    /// One or two characters: an operator or a bracket.
    Sign(&'static str),
    End,
}

/// The operators and brackets, longer ones first.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// Splits a text into words, the last being `End`.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, Problem> {
    let mut scanner = Scanner { text, at: 0 };
    let mut found = Vec::new();
    loop {
        scanner.skip();
        let start = scanner.at;
        let token = scanner.token()?;
        let ended = token == Token::End;
        found.push((token, Span::new(start, scanner.at.max(start))));
        if ended {
            return Ok(found);
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong(&self, from: usize, what: &str) -> Problem {
        Problem::new(Span::new(from, self.at.max(from + 1)), what)
    }

    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let long = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += long;
        rest.get(..long).unwrap_or_default()
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            self.take(char::is_whitespace);
            if !self.rest().starts_with("//") {
                return;
            }
            self.take(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, Problem> {
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        let raw = ["r\"", "r'", "R\"", "R'"].iter().any(|start| self.rest().starts_with(start));
        if raw || first == '"' || first == '\'' {
            return self.text(raw).map(Token::Text);
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(Token::Name(name.to_owned()));
        }
        match SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => {
                let start = self.at;
                self.at += first.len_utf8();
                let fix = match first {
                    '=' => "; equal is `==`".to_owned(),
                    '&' => "; and is `&&`".to_owned(),
                    '|' => "; or is `||`".to_owned(),
                    _ => String::new(),
                };
                Err(self.wrong(
                    start,
                    &format!("`{}` means nothing here{fix}", shown(&first.to_string())),
                ))
            }
        }
    }

    fn number(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        let hexadecimal = ["0x", "0X"].iter().any(|prefix| self.rest().starts_with(prefix));
        self.at += if hexadecimal { 2 } else { 0 };
        let digits =
            self.take(|c| if hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() });
        let fraction = self
            .rest()
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if fraction || self.rest().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
            return Err(self.wrong(
                start,
                "only whole numbers are known here; a score is in thousandths, so .7 is 700",
            ));
        }
        let radix = if hexadecimal { 16 } else { 10 };
        i64::from_str_radix(digits, radix)
            .map(Token::Number)
            .map_err(|_| self.wrong(start, "this is not a number, or it is too large"))
    }

    fn text(&mut self, raw: bool) -> Result<String, Problem> {
        let start = self.at;
        self.at += usize::from(raw);
        let quotes = ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|quotes| self.rest().starts_with(quotes))
            .unwrap_or("'");
        self.at += quotes.len();
        let mut value = String::new();
        loop {
            if let Some(()) = self.rest().strip_prefix(quotes).map(|_| ()) {
                self.at += quotes.len();
                return Ok(value);
            }
            match self.rest().chars().next() {
                None => {
                    return Err(self.wrong(
                        start,
                        &format!("this text does not end; close it with `{quotes}`"),
                    ));
                }
                Some('\n' | '\r') if quotes.len() == 1 => {
                    return Err(self.wrong(
                        start,
                        &format!("this text does not end in its line; close it with `{quotes}`"),
                    ));
                }
                Some('\\') if !raw => self.escape(&mut value)?,
                Some(c) => {
                    self.at += c.len_utf8();
                    value.push(c);
                }
            }
        }
    }

    fn escape(&mut self, value: &mut String) -> Result<(), Problem> {
        let start = self.at;
        self.at += 1;
        let Some(kind) = self.rest().chars().next() else {
            return Err(self.wrong(start, "this text does not end"));
        };
        let simple = match kind {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'v' => Some('\u{b}'),
            '\\' | '"' | '\'' | '`' | '?' => Some(kind),
            _ => None,
        };
        let digits = match kind {
            'x' | 'X' => (1, 2, 16),
            'u' => (1, 4, 16),
            'U' => (1, 8, 16),
            '0'..='3' => (0, 3, 8),
            // Any other letter begins no escape: no digits are refused below.
            _ => (1, 0, 16),
        };
        if let Some(c) = simple {
            self.at += kind.len_utf8();
            value.push(c);
            return Ok(());
        }
        let (skip, count, radix) = digits;
        let code = self
            .rest()
            .get(skip..skip + count)
            // The standard parser would take a sign.
            .filter(|digits| !digits.is_empty() && !digits.starts_with('+'));
        let found = code
            .and_then(|digits| u32::from_str_radix(digits, radix).ok())
            .and_then(char::from_u32);
        self.at += if found.is_some() { skip + count } else { kind.len_utf8() };
        match found {
            Some(c) => {
                value.push(c);
                Ok(())
            }
            None => Err(self.wrong(
                start,
                &format!(
                    "`\\{}` is not an escape sequence; a backslash is `\\\\`, or write r'...'",
                    shown(&kind.to_string())
                ),
            )),
        }
    }
}
