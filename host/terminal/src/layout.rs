//! Pages for a terminal: wrapped paragraphs, headings, lists with a hanging indent.

use crate::paint;
use crate::wrap::wrap_line;
use portcullis_core::text::one_line;

/// The width of a page that is not on a terminal, in columns.
const WIDTH: usize = 80;
/// The most bytes of one item.
const MOST: usize = 2000;

/// A page to which text is added.
pub struct TextPage {
    text: String,
    width: usize,
}

impl TextPage {
    /// Creates an empty page as wide as the terminal.
    #[must_use]
    pub fn of_terminal() -> Self {
        Self::of_width(paint::prose_width(WIDTH))
    }

    const fn of_width(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// Returns the whole text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Adds a line unchanged.
    pub fn add_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a paragraph.
    pub fn add_text(&mut self, text: &str) {
        self.add_wrapped("", "", text);
    }

    /// Adds an indented paragraph.
    pub fn add_indented(&mut self, text: &str) {
        self.add_wrapped("  ", "  ", text);
    }

    /// Adds a paragraph whose first line has a different prefix from the others.
    pub fn add_wrapped(&mut self, first: &str, rest: &str, text: &str) {
        let line = format!("{first}{text}");
        let wrapped = wrap_line(&line, self.width, rest.chars().count(), first.len());
        self.add_line(wrapped.trim_end());
    }

    /// Adds a heading after an empty line.
    pub fn add_heading(&mut self, heading: &str) {
        self.add_line("");
        self.add_line(&paint::bold(one_line(heading, WIDTH)));
    }
}

/// Adds a list under a heading; nothing without items.
pub fn add_list(page: &mut TextPage, heading: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        page.add_heading(heading);
    }
    items.for_each(|item| page.add_wrapped("  - ", "    ", &one_line(&item, MOST)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::columns;

    #[test]
    fn words_are_wrapped_at_the_width() {
        let long = "x".repeat(100);
        for (text, lines) in [
            (String::new(), 1),
            ("a word".into(), 1),
            ("four ".repeat(15), 1),
            ("four ".repeat(16), 2),
            (format!("a {long} b"), 3),
            ("\u{e9}\u{e9}\u{e9}\u{e9} ".repeat(15), 1),
            (format!("{} ", paint::bad("four")).repeat(16), 2),
        ] {
            let mut page = TextPage::of_width(WIDTH);
            page.add_wrapped("  - ", "    ", &text);
            let page = page.into_text();
            assert_eq!(page.lines().count(), lines, "{page}");
            assert!(
                page.lines().all(|line| columns(line) <= WIDTH || line.trim() == long),
                "{page}"
            );
            assert_eq!(
                page.split_whitespace().skip(1).collect::<Vec<_>>(),
                text.split_whitespace().collect::<Vec<_>>()
            );
        }
    }
}
