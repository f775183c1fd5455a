//! Escapes text that a plugin wrote for a terminal, a log and a model.
//!
//! A plugin may be hostile, or repeat hostile text: an escape sequence could repaint the terminal,
//! a bidirectional override could show another command than the one that runs, an invisible
//! character could carry words that only a model reads. Nothing is dropped: hidden characters are
//! spelled out.

use portcullis_core::text::{floor_boundary, is_hostile};
use std::fmt::Write;

/// Escapes one line: every control character is spelled out, line breaks too.
pub(crate) fn line(text: &str) -> String {
    spell_out(text, |c| hidden(c) || c == '\n' || c == '\t')
}

/// Escapes prose: line breaks and tabs stay, every other control character is spelled out.
pub(crate) fn prose(text: &str) -> String {
    spell_out(text, hidden)
}

/// Returns the first hidden character, for text that must not be altered: a new value of a
/// parameter.
pub(crate) fn first_hidden(text: &str) -> Option<char> {
    text.chars().find(|c| hidden(*c))
}

/// Returns at most `bytes` of it, cut between characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    text.get(..floor_boundary(text, bytes)).unwrap_or_default()
}

fn spell_out(text: &str, unfit: impl Fn(char) -> bool) -> String {
    if !text.chars().any(&unfit) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !unfit(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Writing to a string cannot fail.
            c => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    out
}

/// Returns true for hidden characters. Line breaks and tabs do not deceive in prose.
fn hidden(c: char) -> bool {
    c != '\n' && c != '\t' && is_hostile(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_out_what_cannot_be_shown() {
        let table = [
            ("plain ümlaut 漢字 👩‍👧", "plain ümlaut 漢字 👩‍👧", "plain ümlaut 漢字 👩‍👧"),
            ("a\nb\tc", "a\\nb\\tc", "a\nb\tc"),
            ("a\r\nb", "a\\r\\nb", "a\\r\nb"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\u{9b}2J", "\\u{9b}2J", "\\u{9b}2J"),
            ("rm \u{202e}txt", "rm \\u{202e}txt", "rm \\u{202e}txt"),
            ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}", "a\\u{2066}b\\u{2069}"),
            (
                "zero\u{200b}width\u{feff}",
                "zero\\u{200b}width\\u{feff}",
                "zero\\u{200b}width\\u{feff}",
            ),
            ("tag\u{e0041}", "tag\\u{e0041}", "tag\\u{e0041}"),
            ("nul\0bell\x07", "nul\\u{0}bell\\u{7}", "nul\\u{0}bell\\u{7}"),
            ("a\u{2028}b", "a\\u{2028}b", "a\\u{2028}b"),
        ];
        for (text, as_line, as_prose) in table {
            assert_eq!(line(text), as_line);
            assert_eq!(prose(text), as_prose);
            assert_eq!(first_hidden(text).is_some(), prose(text) != text);
        }
    }

    #[test]
    fn cuts_between_characters() {
        for (text, bytes, expected) in
            [("abc", 2, "ab"), ("aü", 2, "a"), ("ü", 1, ""), ("ab", 9, "ab"), ("", 0, "")]
        {
            assert_eq!(cut(text, bytes), expected);
        }
    }
}
