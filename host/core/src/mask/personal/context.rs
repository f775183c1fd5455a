//! Runs of characters with what stands before them.

use crate::text::floor_boundary;
use std::ops::Range;

/// The most bytes before a value in which a word counts as its label.
const REACH: usize = 48;

/// Returns the runs of characters that `accept`s, each begun by one that `begins` says, where no
/// letter, digit or underscore stands before it. `trim` are characters that no run ends with.
pub(super) fn find_runs<'t>(
    text: &'t str,
    begins: impl Fn(u8) -> bool + 't,
    accept: impl Fn(u8) -> bool + 't,
    trim: &'static [char],
) -> impl Iterator<Item = Range<usize>> + 't {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let offset = bytes.get(at..)?.iter().position(|byte| begins(*byte))?;
            let start = at + offset;
            let length = bytes.get(start + 1..)?.iter().take_while(|byte| accept(**byte)).count();
            let whole = start..start + 1 + length;
            at = whole.end;
            if !is_alone(text, start) {
                // Nothing can begin inside a word either.
                continue;
            }
            let shown = text.get(whole)?.trim_end_matches(trim);
            return Some(start..start + shown.len());
        }
    })
}

/// Returns true if no letter, digit or underscore stands before a position.
pub(super) fn is_alone(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
}

/// Returns true if nothing that would go on with a value stands behind a position.
pub(super) fn ends_alone(text: &str, at: usize) -> bool {
    let after = text.get(at..).and_then(|after| after.chars().next());
    after.is_none_or(|c| !c.is_alphanumeric() && c != '_')
}

/// Returns true if one of these words, in lower case, stands shortly before a position, in the same
/// line and as a word of its own: `Tel.: 030 1234567`, `"ssn": "..."`, `phone_number = `.
pub(super) fn is_labelled(text: &str, at: usize, words: &[&str]) -> bool {
    let start = floor_boundary(text, at.saturating_sub(REACH));
    let before = text.get(start..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().to_lowercase();
    words.iter().any(|word| holds_word(&line, word))
}

/// Returns true if a word stands in a line, with no letter beside it.
fn holds_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|after| after.chars().next());
        !is_letter(before) && !is_letter(after)
    })
}

/// Returns the digits of a text.
pub(super) fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// Returns the weighted sum of digits.
pub(super) fn weighted_sum(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// Returns true for digits that pass the check of Luhn, and are not all zero.
pub(super) fn passes_luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => *digit,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != 0)
}

/// Returns true for digits of which two differ: nobody has a number of one digit alone.
pub(super) fn vary(digits: &[u32]) -> bool {
    digits.windows(2).any(|pair| pair.first() != pair.last())
}
