//! A page of 80 columns: text that is wrapped between words, lists with a hanging indent.
//!
//! Wrapped text has no colour; only whole lines that are made elsewhere do.

use crate::paint;
use portcullis_core::text::one_line;

/// The width, in columns.
const WIDTH: usize = 80;
/// The most bytes of one item.
const MOST: usize = 2000;

/// A page to which text is added.
pub struct TextPage(String);

impl TextPage {
    /// Creates an empty page.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Returns the whole text.
    pub fn into_text(self) -> String {
        self.0
    }

    /// Adds a line unchanged.
    pub fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: &str) {
        self.wrapped("", "", text);
    }

    /// Adds an indented paragraph.
    pub fn indented(&mut self, text: &str) {
        self.wrapped("  ", "  ", text);
    }

    /// Adds a paragraph whose first line has a different prefix from the others.
    pub fn wrapped(&mut self, first: &str, rest: &str, text: &str) {
        let mut line = first.to_owned();
        let mut used = first.chars().count();
        let mut empty = true;
        for word in text.split(' ') {
            let width = word.chars().count();
            if !empty && used + 1 + width > WIDTH {
                self.line(line.trim_end());
                line = rest.to_owned();
                (used, empty) = (rest.chars().count(), true);
            }
            if !empty {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += width;
            empty = false;
        }
        self.line(line.trim_end());
    }

    /// Adds a heading after an empty line.
    pub fn heading(&mut self, heading: &str) {
        self.line("");
        self.line(&paint::bold(one_line(heading, WIDTH)));
    }
}

/// Adds a list under a heading; nothing without items.
pub fn list(page: &mut TextPage, heading: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        page.heading(heading);
    }
    items.for_each(|item| page.wrapped("  - ", "    ", &one_line(&item, MOST)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_at_eighty_columns() {
        let long = "x".repeat(100);
        for (text, lines) in [
            (String::new(), 1),
            ("a word".into(), 1),
            ("four ".repeat(15), 1),
            ("four ".repeat(16), 2),
            (format!("a {long} b"), 3),
            ("\u{e9}\u{e9}\u{e9}\u{e9} ".repeat(15), 1),
        ] {
            let mut page = TextPage::new();
            page.wrapped("  - ", "    ", &text);
            let page = page.into_text();
            assert_eq!(page.lines().count(), lines, "{page}");
            assert!(
                page.lines().all(|line| line.chars().count() <= WIDTH || line.trim() == long),
                "{page}"
            );
            assert_eq!(
                page.split_whitespace().skip(1).collect::<Vec<_>>(),
                text.split_whitespace().collect::<Vec<_>>()
            );
        }
    }
}
