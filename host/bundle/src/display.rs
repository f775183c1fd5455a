//! Untrusted text, escaped to one line that people can be shown.

use std::fmt::Display;

/// The most characters of an untrusted text that an error repeats.
const MOST: usize = 1000;

/// Returns the text in one line, with control sequences escaped and its length limited.
pub(crate) fn display_line(text: impl Display) -> String {
    let text = text.to_string();
    let mut line = String::with_capacity(text.len().min(MOST));
    for character in text.chars().take(MOST) {
        if character.is_control() {
            line.extend(character.escape_debug())
        } else {
            line.push(character)
        }
    }
    if line.len() < text.len() && text.chars().nth(MOST).is_some() {
        line.push('…');
    }
    line
}
