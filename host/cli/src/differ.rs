//! The differences of two texts in the format of `diff -u`.

use crate::paint;
use portcullis_core::text::one_line;
use similar::{Change, ChangeTag, TextDiff};
use std::fmt::Write;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// The most bytes of a line that are shown to a person.
const MOST_LINE: usize = 400;

/// Formats the differences for a program: nothing is escaped or cut.
pub fn plain_diff(before: &str, after: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(old, new)
        .to_string()
}

/// Formats the differences for a person: in colour, each line escaped. The two names must be
/// escaped already.
pub fn painted_diff(before: &str, after: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = format!("--- {old}\n+++ {new}\n");
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let _ = writeln!(text, "{}", paint::dim(hunk.header()));
        hunk.iter_changes().for_each(|change| text.push_str(&line(change)));
    }
    text
}

/// Formats all lines of both for a person, without names.
pub fn inline_diff(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).iter_all_changes().map(line).collect()
}

fn line(change: Change<&str>) -> String {
    let line = one_line(change.value().trim_end_matches(['\r', '\n']), MOST_LINE);
    match change.tag() {
        ChangeTag::Delete => format!("{}\n", paint::bad(format!("-{line}"))),
        ChangeTag::Insert => format!("{}\n", paint::good(format!("+{line}"))),
        ChangeTag::Equal => format!(" {line}\n"),
    }
}
