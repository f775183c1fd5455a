//! Expansions that begin with `$`.

use super::commands::is_name;
use super::cursor::Parser;
use super::tree::{Operator, Parameter, Part, Word};
use super::words::literal;

impl Parser<'_> {
    /// Reads the expansion that the `$` here begins; a `$` that begins nothing is text.
    pub(super) fn dollar(&mut self, parts: &mut Vec<Part>, quoted: bool) {
        // Without an end as arithmetic, `$((a); b)` is a substitution that begins with a subshell.
        if self.at("$((")
            && let Some(close) = self.arithmetic_end(self.pos + 3)
        {
            self.pos += 3;
            if self.enter() {
                let word = self.arithmetic(close);
                self.leave();
                parts.push(Part::Arithmetic(word));
            }
            return;
        }
        match self.peek_at(1) {
            Some(b'(') => {
                self.pos += 2;
                let script = self.bracketed();
                parts.push(Part::Substitution { script, quoted });
            }
            Some(b'{') => {
                self.pos += 2;
                self.braces(parts, quoted);
            }
            Some(b'\'') if !quoted => {
                self.pos += 2;
                self.ansi_quotes(parts);
            }
            Some(b'"') if !quoted => {
                self.pos += 1;
                self.double_quotes(parts);
            }
            Some(byte) if is_special(byte) => {
                self.pos += 2;
                let name = char::from(byte).to_string();
                parts.push(variable(name, quoted));
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                if let Some(name) = self.environment_drive() {
                    parts.push(variable(name, quoted));
                    return;
                }
                self.pos += 1;
                let name =
                    self.run(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).to_owned();
                parts.push(variable(name, quoted));
            }
            _ => {
                self.pos += 1;
                literal(parts, "$", quoted);
            }
        }
    }

    /// Reads `${...}`, whose `${` was consumed.
    fn braces(&mut self, parts: &mut Vec<Part>, quoted: bool) {
        if !self.enter() {
            return;
        }
        let prefix =
            // `${#}` and `${!}` are parameters themselves.
            self.peek().filter(|byte| matches!(byte, b'!' | b'#') && self.peek_at(1) != Some(b'}'));
        self.pos += usize::from(prefix.is_some());
        let mut name = self.run(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).to_owned();
        if name.is_empty() && self.peek().is_some_and(is_special) {
            self.character().clone_into(&mut name);
        }
        let subscript =
            self.take("[").then(|| self.run(|byte| matches!(byte, b']' | b'}')).to_owned());
        self.take("]");
        let operator = match prefix {
            None => self.operator(),
            Some(b'#') if self.at("}") => Operator::Length,
            Some(b'!') if self.at("}") => Operator::Indirect,
            Some(_) => Operator::Other,
        };
        let start = self.pos;
        let argument = self.argument(quoted);
        if !self.take("}") {
            self.gap("a `${` without its `}`");
        }
        let argument = (!argument.is_empty()).then(|| Word {
            parts: argument,
            span: self.span(start),
            open: None,
        });
        let operator = if is_name(&name) || name.len() == 1 || !name.is_empty() {
            operator
        } else {
            Operator::Other
        };
        self.leave();
        parts.push(Part::Variable {
            parameter: Box::new(Parameter { name, subscript, operator, argument }),
            quoted,
        });
    }

    fn operator(&mut self) -> Operator {
        let table = [
            (":-", Operator::Default),
            (":=", Operator::Assign),
            (":+", Operator::Alternative),
            (":?", Operator::None),
            ("##", Operator::TrimStart { longest: true }),
            ("%%", Operator::TrimEnd { longest: true }),
            ("//", Operator::Replace { every: true }),
            ("/", Operator::Replace { every: false }),
            ("^^", Operator::Upper),
            (",,", Operator::Lower),
            ("-", Operator::Default),
            ("=", Operator::Assign),
            ("+", Operator::Alternative),
            ("?", Operator::None),
            ("#", Operator::TrimStart { longest: false }),
            ("%", Operator::TrimEnd { longest: false }),
            (":", Operator::Slice),
        ];
        for (token, operator) in table {
            if self.take(token) {
                return operator;
            }
        }
        if self.at("}") { Operator::None } else { Operator::Other }
    }

    /// Reads the argument of a parameter's operator, up to its `}`.
    fn argument(&mut self, quoted: bool) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => break,
                b'"' => self.double_quotes(&mut parts),
                b'\'' if !quoted => {
                    self.pos += 1;
                    let text = self.run(|byte| byte == b'\'');
                    literal(&mut parts, text, true);
                    self.take("'");
                }
                b'\\' => {
                    self.pos += 1;
                    let text = if self.peek().is_some() { self.character() } else { "" };
                    literal(&mut parts, text, true);
                }
                b'$' => self.dollar(&mut parts, quoted),
                b'`' => self.backquotes(&mut parts, quoted),
                _ => {
                    let text =
                        self.run(|byte| matches!(byte, b'}' | b'"' | b'\'' | b'\\' | b'$' | b'`'));
                    let text = if text.is_empty() { self.character() } else { text };
                    literal(&mut parts, text, quoted);
                }
            }
            self.count();
        }
        parts
    }

    /// Reads `$'...'`, whose `$'` was consumed.
    fn ansi_quotes(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        loop {
            self.run(|byte| matches!(byte, b'\'' | b'\\'));
            if self.peek() != Some(b'\\') {
                break;
            }
            self.pos = (self.pos + 1).min(self.end);
            self.character();
        }
        let text = unescape(self.since(start));
        literal(parts, &text, true);
        if !self.take("'") {
            self.open = Some("a `'` without its end");
        }
    }
}

fn variable(name: String, quoted: bool) -> Part {
    Part::Variable {
        parameter: Box::new(Parameter {
            name,
            subscript: None,
            operator: Operator::None,
            argument: None,
        }),
        quoted,
    }
}

fn is_special(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

/// Resolves the backslash escapes of `$'...'`, `printf` and `echo -e`.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut bytes, c);
            continue;
        }
        let Some(escape) = chars.next() else {
            bytes.push(b'\\');
            break;
        };
        match escape {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'x' => bytes.push(u8::try_from(number(&mut chars, 16, 2, 0)).unwrap_or(0)),
            'u' => {
                push(&mut bytes, char::from_u32(number(&mut chars, 16, 4, 0)).unwrap_or('\u{fffd}'))
            }
            'U' => {
                push(&mut bytes, char::from_u32(number(&mut chars, 16, 8, 0)).unwrap_or('\u{fffd}'))
            }
            '0'..='7' => bytes.push(
                u8::try_from(
                    number(
                        &mut chars,
                        8,
                        // `echo -e` writes three digits behind `\0`.
                        2 + usize::from(escape == '0'),
                        escape.to_digit(8).unwrap_or(0),
                    ) & 255,
                )
                .unwrap_or(0),
            ),
            '\\' | '\'' | '"' | '?' => push(&mut bytes, escape),
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    first: u32,
) -> u32 {
    let mut value = first;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        chars.next();
        value = value.wrapping_mul(radix).wrapping_add(digit);
    }
    value
}
