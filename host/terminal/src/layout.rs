//! Text for a terminal: wrapped between words, lists with a hanging indent.

use crate::paint;
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
    pub fn new() -> Self {
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
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
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
        let line = format!("{first}{text}");
        let wrapped = wrap_line(&line, self.width, rest.chars().count(), first.len());
        self.line(wrapped.trim_end());
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

/// Breaks the lines of a text for a terminal of that width; without one they stay as they are.
pub fn fit(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let wrap = |line: &str| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        // The terminal breaks a line that fills it exactly too, some with an empty line.
        format!("{}{end}", wrap(line.trim_end_matches('\n'), width.saturating_sub(1), indent))
    };
    text.split_inclusive('\n').map(wrap).collect()
}

/// Breaks a line between words and continues it at `indent`. Colour takes no columns. A word that
/// is longer than a line stays whole, since it may be a path to copy.
pub fn wrap(line: &str, width: usize, indent: usize) -> String {
    wrap_line(line, width, indent, 0)
}

/// Like `wrap`, but leaves the first `fixed` bytes together.
fn wrap_line(line: &str, width: usize, indent: usize, fixed: usize) -> String {
    let (fixed, rest) = line.split_at_checked(fixed).unwrap_or(("", line));
    let (mut wrapped, mut used) = (fixed.to_owned(), columns(fixed));
    // Nothing is won by a break before the first word of a line.
    let mut begun = false;
    for part in rest.split_inclusive(' ') {
        let word = part.trim_end_matches(' ');
        let width_of_word = columns(word);
        if begun && width_of_word > 0 && used + width_of_word > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        }
        wrapped.push_str(part);
        used += columns(part);
        begun |= width_of_word > 0;
    }
    wrapped
}

/// Counts the characters that a terminal shows: all but the sequences that set colours.
fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            page.wrapped("  - ", "    ", &text);
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

    #[test]
    fn a_list_is_broken_on_a_terminal_alone() {
        let text = "id-1  block    one two three\n  indented line of words\nlast";
        assert_eq!(fit(text, None, 4), text);
        assert_eq!(
            fit(text, Some(21), 4),
            "id-1  block    one\n    two three\n  indented line of\n    words\nlast"
        );
    }
}
