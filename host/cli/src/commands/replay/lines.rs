//! Lines of a timeline on a terminal, in columns: step, word, risk, text.

use crate::paint;
use portcullis_core::text::one_line;
use std::fmt::Write;

/// The column at which the text of a line begins.
pub const INDENT: usize = 7 + WORD + 7;
/// The width of the column of words.
const WORD: usize = 10;
/// The most lines of one text.
const MOST: usize = 3;

/// A growing list of lines. Text added to it is escaped and cut to the terminal's width.
pub struct TextLines {
    text: String,
    width: usize,
}

impl TextLines {
    /// Creates the list with existing lines.
    pub fn new(text: String) -> Self {
        Self { text, width: paint::table_width() }
    }

    /// Returns the whole text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Adds an unimportant line.
    pub fn add_dim(&mut self, text: &str) {
        let line = paint::dim(self.fit_text(text, 0));
        let _ = writeln!(self.text, "{line}");
    }

    /// Adds a line in columns; `word` is padded and painted already, the text fits.
    pub fn add_row(&mut self, step: &str, word: &str, risk: &str, text: &str) {
        let word = if word.is_empty() { " ".repeat(WORD) } else { word.to_owned() };
        let _ = writeln!(
            self.text,
            "{}  {word} {}  {text}",
            paint::dim(format!("{step:>5}")),
            paint::dim(format!("{risk:>4}"))
        );
    }

    /// Adds details of the line above: up to three lines, the first of which has a label.
    pub fn add_mark(&mut self, word: &str, painted: fn(String) -> String, text: &str) {
        let mut word = painted(format!("{word:<WORD$}"));
        for line in self.wrapped(text) {
            self.add_row("", &word, "", &line);
            word.clear();
        }
    }

    /// Adds the reason for the line above: up to three unimportant lines.
    pub fn add_reason(&mut self, text: &str) {
        for line in self.wrapped(text) {
            self.add_row("", "", "", &paint::dim(line));
        }
    }

    /// Cuts a text to what fits on the rest of a line.
    pub fn fit_text(&self, text: &str, used: usize) -> String {
        let room = self.width.saturating_sub(used);
        shortened(&one_line(text, 4 * room), room)
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        let room = self.width.saturating_sub(INDENT);
        let text = one_line(text, 4 * room * MOST);
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let full = lines.len() == MOST;
            let Some(line) = lines.last_mut() else { break };
            let used = line.chars().count();
            if used == 0 || used + 1 + word.chars().count() <= room {
                line.push_str(if used == 0 { "" } else { " " });
                line.push_str(word);
            } else if full {
                line.push_str(" …");
                break;
            } else {
                lines.push(word.to_owned());
            }
        }
        lines.iter().map(|line| shortened(line, room)).collect()
    }
}

fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
