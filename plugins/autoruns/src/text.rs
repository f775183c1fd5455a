//! Lines of the texts of files.

use std::collections::BTreeSet;

/// A line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    /// Its number, from 1.
    pub number: u32,
    /// Its text, without the line break.
    pub text: &'t str,
}

/// The most lines of a text that are looked at.
const LINES: usize = 8192;

/// Returns the lines of a text that it did not have before.
pub(crate) fn new_lines<'t>(before: &str, after: &'t str) -> impl Iterator<Item = Line<'t>> {
    let known: BTreeSet<String> = before.lines().map(|line| line.trim().to_owned()).collect();
    let numbered = (1..).zip(after.lines()).take(LINES);
    numbered
        .filter(move |(_, text)| known.is_empty() || !known.contains(text.trim()))
        .map(|(number, text)| Line { number, text })
}

/// Returns true for a line that is a comment in most languages, or empty.
pub(crate) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty()
        || ["#", "//", "--", "/*", "* ", "*/", "<!--", ";", "%"]
            .iter()
            .any(|sign| line.starts_with(sign))
            && !is_flag(line)
}

/// Returns true for a line that begins with a long flag, as in a list of requirements.
fn is_flag(line: &str) -> bool {
    line.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}
