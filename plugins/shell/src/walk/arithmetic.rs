//! `$((...))`: numbers, the common operators, and variables whose value is known. Anything else has
//! an unknown value, never a wrong one.

use super::{Setting, Walker};
use crate::syntax::Word;

/// The longest expression that is evaluated, in bytes, and the maximum nesting of its brackets.
const LENGTH: usize = 256;
const DEPTH: usize = 8;

impl Walker<'_> {
    /// Follows the substitutions of an expression; returns its value, if the text determines it.
    pub(super) fn calculate(&mut self, word: &Word, setting: &Setting) -> Option<i64> {
        let field = self.single(word, setting);
        if !field.known || field.text.len() > LENGTH {
            return None;
        }
        let look_up = |name: &str| {
            self.env
                .get(name)
                .filter(|value| value.known && value.others.is_empty())?
                .text
                .trim()
                .parse()
                .ok()
        };
        let mut expression =
            Expression { left: field.text.as_bytes(), look_up: &look_up, depth: 0 };
        let value = expression.sum()?;
        expression.blanks();
        expression.left.is_empty().then_some(value)
    }
}

struct Expression<'t> {
    left: &'t [u8],
    look_up: &'t dyn Fn(&str) -> Option<i64>,
    depth: usize,
}

impl Expression<'_> {
    fn blanks(&mut self) {
        self.left = self.left.trim_ascii_start();
    }

    /// Consumes the operator at this position, if it is one of these.
    fn operator(&mut self, among: &[u8]) -> Option<u8> {
        self.blanks();
        let (first, rest) = self.left.split_first().filter(|(first, _)| among.contains(first))?;
        self.left = rest;
        Some(*first)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(b"+-") {
            let other = self.product()?;
            value = if operator == b'+' {
                value.checked_add(other)?
            } else {
                value.checked_sub(other)?
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.unit()?;
        while let Some(operator) = self.operator(b"*/%") {
            let other = self.unit()?;
            value = match operator {
                b'*' => value.checked_mul(other)?,
                b'/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn unit(&mut self) -> Option<i64> {
        if self.operator(b"-").is_some() {
            return self.plain()?.checked_neg();
        }
        self.plain()
    }

    fn plain(&mut self) -> Option<i64> {
        if self.operator(b"(").is_some() {
            self.depth += 1;
            let value = if self.depth > DEPTH { None } else { self.sum() };
            self.depth -= 1;
            return value.filter(|_| self.operator(b")").is_some());
        }
        self.blanks();
        let length = self
            .left
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        let (word, rest) = self.left.split_at_checked(length)?;
        self.left = rest;
        let word = std::str::from_utf8(word).ok()?;
        match word.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            // A leading zero makes a number octal; `08` is an error in the shell, not eight.
            None if word.len() > 1 && word.starts_with('0') => i64::from_str_radix(word, 8).ok(),
            // The shell would evaluate a value that is an expression; here only a number is known.
            None => word.parse().ok().or_else(|| (self.look_up)(word)),
        }
    }
}
