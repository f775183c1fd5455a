//! Two texts and what differs, as `diff -u` shows it.

use crate::paint;
use portcullis_core::text::one_line;
use similar::{Change, ChangeTag, TextDiff};
use std::fmt::Write;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// The most bytes of a line that a person sees.
const MOST_LINE: usize = 400;

/// For a program: nothing is escaped or cut.
pub fn plain(before: &str, after: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(CONTEXT).header(old, new).to_string()
}

/// For a person: in colour, each line made harmless. The names of the two must be harmless already.
pub fn painted(before: &str, after: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = format!("--- {old}\n+++ {new}\n");
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let _ = writeln!(text, "{}", paint::dim(hunk.header()));
        hunk.iter_changes().for_each(|change| text.push_str(&line(change)));
    }
    text
}

/// For a person: all lines of both, without names.
pub fn inline(before: &str, after: &str) -> String {
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
