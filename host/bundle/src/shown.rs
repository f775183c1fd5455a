//! Words of a stranger's in one line that people can be shown.

use std::fmt::Display;

/// Characters of a stranger's words that an error repeats.
const MOST: usize = 1000;

/// The text in one line, without anything that a terminal would obey, and not without end.
pub(crate) fn shown(text: impl Display) -> String {
    let text = text.to_string();
    let mut line = String::with_capacity(text.len().min(MOST));
    for character in text.chars().take(MOST) {
        if character.is_control() { line.extend(character.escape_debug()) } else { line.push(character) }
    }
    if line.len() < text.len() && text.chars().nth(MOST).is_some() {
        line.push('…');
    }
    line
}
