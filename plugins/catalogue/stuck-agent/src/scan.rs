//! Takes a line apart from its beginning on, for the forms in which failures are told.

use crate::texts::is_blank;

/// What is left of a line. Each method takes something from its beginning, or returns none.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a>(pub &'a str);

impl<'a> Scan<'a> {
    /// Takes a text.
    pub fn text(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Takes the first of some texts that is there.
    pub fn one_of(&mut self, texts: &[&str]) -> Option<()> {
        self.0 = texts.iter().find_map(|text| self.0.strip_prefix(text))?;
        Some(())
    }

    /// Takes characters as long as they are some, of which there is one at least.
    pub fn some(&mut self, is_one: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.0.find(|character| !is_one(character)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).filter(|_| end > 0)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes digits.
    pub fn digits(&mut self) -> Option<&'a str> {
        self.some(|character| character.is_ascii_digit())
    }

    /// Takes what stands before the next blank.
    pub fn word(&mut self) -> Option<&'a str> {
        self.some(|character| !is_blank(character))
    }

    /// Takes blanks, of which there may be none.
    pub fn blanks(&mut self) {
        self.0 = self.0.trim_start_matches(is_blank);
    }

    /// Takes all that is left of the line.
    pub fn rest(&mut self) -> &'a str {
        let end = self.0.find(ends_line).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        self.0 = rest;
        taken
    }

    /// Returns true if no letter, digit or underscore follows.
    pub fn is_after_word(&self) -> bool {
        !self.0.chars().next().is_some_and(is_of_word)
    }

    /// Returns something only if nothing is left.
    pub fn end<T>(&self, found: T) -> Option<T> {
        self.0.is_empty().then_some(found)
    }
}

/// Returns true for what `\w` of a regular expression is.
pub const fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Returns true for what ends a line beside a line feed.
pub const fn ends_line(character: char) -> bool {
    matches!(character, '\r' | '\u{2028}' | '\u{2029}')
}
