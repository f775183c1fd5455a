//! Replaces expected findings in a case file by the actual ones. Everything else stays unchanged,
//! byte for byte, comments included.

use super::finding::{self, CaseFinding};
use super::{Expectation, ExpectedFinding};
use anyhow::{Result, bail};
use std::ops::Range;

/// Returns the text with some expectations replaced by findings.
///
/// # Errors
/// Fails if an expectation is not written as a table of its own.
pub fn update_cases(text: &str, changes: &[(&Expectation, Vec<CaseFinding>)]) -> Result<String> {
    let mut edits = Vec::new();
    for (expected, found) in changes {
        expect(text, expected, found, &mut edits)?;
    }
    // Edits are applied from the end, so that earlier offsets stay valid.
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.at.start, edit.at.end)));
    let mut text = text.to_owned();
    edits.into_iter().for_each(|edit| text.replace_range(edit.at, &edit.with));
    Ok(text)
}

/// A byte range and its replacement.
struct Edit {
    at: Range<usize>,
    with: String,
}

fn expect(
    text: &str,
    all: &Expectation,
    found: &[CaseFinding],
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let Expectation { path, place, findings, end: last } = all;
    if findings
        .iter()
        .any(|expected| !text.get(expected.head..).unwrap_or_default().starts_with("[["))
    {
        bail!(
            "the entry in line {} has its `expect` in brackets: write it as `[[{path}]]`, so that it can be updated",
            place.0
        );
    }
    for (expected, finding) in findings.iter().zip(found) {
        fill(text, expected, finding, edits);
    }
    for expected in findings.iter().skip(found.len()) {
        edits.push(Edit {
            at: with_gap(text, line_start(text, expected.head))..line_end(text, end(expected)),
            with: String::new(),
        });
    }
    let more: Vec<_> = found.iter().skip(findings.len()).map(|finding| finding.0.clone()).collect();
    if !more.is_empty() {
        let at = line_end(text, *last);
        let open =
            if text.get(..at).is_some_and(|before| before.ends_with('\n')) { "" } else { "\n" };
        let tables: Vec<String> =
            more.into_iter().map(|one| finding::render_findings(path, &[one])).collect();
        edits.push(Edit { at: at..at, with: format!("{open}\n{}", tables.join("\n")) });
    }
    Ok(())
}

/// Replaces the finding in a table; comments next to unchanged values are kept.
fn fill(text: &str, expected: &ExpectedFinding, finding: &CaseFinding, edits: &mut Vec<Edit>) {
    for (key, at, value) in &expected.places {
        match finding.0.get(key) {
            Some(found) if Some(found) == expected.says.get(key) => {}
            Some(found) => edits.push(Edit { at: value.clone(), with: finding::value_text(found) }),
            None => edits.push(Edit {
                at: line_start(text, *at)..line_end(text, value.end),
                with: String::new(),
            }),
        }
    }
    let new = finding.0.iter().filter(|(key, _)| !expected.says.contains_key(*key));
    let new: String = new.map(|(key, value)| finding::line_text(key, value)).collect();
    if !new.is_empty() {
        let at = line_end(text, end(expected));
        let open =
            if text.get(..at).is_some_and(|before| before.ends_with('\n')) { "" } else { "\n" };
        edits.push(Edit { at: at..at, with: format!("{open}{new}") });
    }
}

fn end(expected: &ExpectedFinding) -> usize {
    expected.places.iter().map(|(_, _, value)| value.end).max().unwrap_or(expected.head)
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// Extends the range by the empty line before it.
fn with_gap(text: &str, at: usize) -> usize {
    if text.get(..at).is_some_and(|before| before.ends_with("\n\n")) { at - 1 } else { at }
}

/// Returns the offset after the line feed.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length + 1)
}
