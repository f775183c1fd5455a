//! Brace expansion: `{a,b}` and `{1..3}` in unquoted text.

use super::environment::UNKNOWN;
use crate::syntax::{Part, Word};

/// The longest text that is looked at, in bytes, and the maximum number of resulting words.
const LENGTH: usize = 16 * 1024;
const WORDS: usize = 256;
/// The maximum number of values in a range.
const NUMBERS: usize = 64;
const DEPTH: usize = 8;
/// The maximum number of braces that are tried for the first group of a text.
const BRACES: usize = 64;

/// The first group of a text that expands.
enum Group<'t> {
    None,
    /// The text before it, its choices, the text after it.
    Found(&'t str, Vec<String>, &'t str),
    /// More braces than are tried.
    Beyond,
}

/// Returns the words that `text` expands to, or none if there is nothing to expand.
pub(super) fn expand(text: &str) -> Option<Vec<String>> {
    if !text.contains('{') {
        return None;
    }
    if text.len() > LENGTH {
        // The expansion is not computed; it is only known that there is one.
        return (text.contains(',') || text.contains("..")).then(|| vec![UNKNOWN.to_string()]);
    }
    match first_group(text) {
        Group::None => None,
        // `{e..e}` is one word, and still not the text as it stands.
        Group::Found(..) | Group::Beyond => Some(words(text, DEPTH)),
    }
}

/// A placeholder for a part that is not plain text while braces are looked for, the first of as
/// many as there may be.
const PART: u32 = 0xF0000;

/// Returns the words of a group that has quotes or variables in it: `{rm,"$X"}`.
pub(super) fn across(word: &Word) -> Option<Vec<Word>> {
    let plain = |part: &Part| matches!(part, Part::Text { quoted: false, .. });
    let opens = word
        .parts
        .iter()
        .any(|part| matches!(part, Part::Text { text, quoted: false } if text.contains('{')));
    if !opens || word.parts.len() < 2 || word.parts.len() > 64 || word.parts.iter().all(plain) {
        return None;
    }
    let mut template = String::new();
    for (number, part) in word.parts.iter().enumerate() {
        match part {
            Part::Text { text, quoted: false } if text.chars().all(|c| u32::from(c) < PART) => {
                template.push_str(text)
            }
            Part::Text { quoted: false, .. } => return None,
            _ => template.push(char::from_u32(PART + u32::try_from(number).ok()?)?),
        }
    }
    let words = expand(&template)?
        .iter()
        .map(|text| Word { parts: parts(text, word), ..word.clone_empty() })
        .collect();
    Some(words)
}

/// Returns the parts that a word of the template represents.
fn parts(text: &str, word: &Word) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for c in text.chars() {
        let number = u32::from(c).checked_sub(PART).and_then(|number| usize::try_from(number).ok());
        match (number.and_then(|number| word.parts.get(number)), parts.last_mut()) {
            (Some(part), _) => parts.push(part.clone()),
            (None, Some(Part::Text { text, quoted: false })) => text.push(c),
            (None, _) => parts.push(Part::Text { text: c.to_string(), quoted: false }),
        }
    }
    parts
}

fn words(text: &str, depth: usize) -> Vec<String> {
    let (before, choices, after) = match first_group(text) {
        Group::None => return vec![text.to_owned()],
        Group::Found(before, choices, after) => (before, choices, after),
        Group::Beyond => return vec![UNKNOWN.to_string()],
    };
    if depth == 0 {
        return vec![UNKNOWN.to_string()];
    }
    let tails = words(after, depth - 1);
    let mut all = Vec::new();
    for choice in choices.iter().flat_map(|choice| words(choice, depth - 1)) {
        for tail in &tails {
            match all.len() {
                ..WORDS => all.push(format!("{before}{choice}{tail}")),
                // One unknown word represents all that are beyond the limit.
                WORDS => all.push(UNKNOWN.to_string()),
                _ => break,
            }
        }
    }
    all
}

/// Finds the first group that expands.
fn first_group(text: &str) -> Group<'_> {
    for (tried, (open, _)) in text.match_indices('{').enumerate() {
        if tried == BRACES {
            return Group::Beyond;
        }
        let before = text.get(..open).unwrap_or("");
        let inside = text.get(open + 1..).unwrap_or("");
        let Some((choices, length)) = choices(inside) else { continue };
        let after = inside.get(length + 1..).unwrap_or("");
        return Group::Found(before, choices, after);
    }
    Group::None
}

/// Returns the choices of a group, and the length of the text inside its braces.
fn choices(inside: &str) -> Option<(Vec<String>, usize)> {
    let mut open = 0_usize;
    let mut start = 0;
    let mut found = Vec::new();
    for (at, c) in inside.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open > 0 => open -= 1,
            ',' if open == 0 => {
                found.push(inside.get(start..at)?.to_owned());
                start = at + 1;
            }
            '}' => {
                let last = inside.get(start..at)?;
                // Without a comma braces expand only as a range: `{x}` stays as it is.
                if found.is_empty() {
                    return Some((range(last)?, at));
                }
                found.push(last.to_owned());
                return Some((found, at));
            }
            _ => {}
        }
    }
    None
}

/// Returns the values of `FIRST..LAST` or `FIRST..LAST..STEP`, of numbers or of letters.
fn range(text: &str) -> Option<Vec<String>> {
    let (first, rest) = text.split_once("..")?;
    let (last, step) = match rest.split_once("..") {
        Some((last, step)) => (last, step.parse::<i64>().ok()?.unsigned_abs()),
        None => (rest, 1),
    };
    // The sign of a step means nothing, and a step of 0 is one of 1.
    let step = step.max(1);
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let width =
            if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
        let (numbers, more) = values(from, to, step);
        let shown = numbers.into_iter().map(|number| format!("{number:0width$}"));
        return Some(shown.chain(more.then(|| UNKNOWN.to_string())).collect());
    }
    match (first.as_bytes(), last.as_bytes()) {
        ([first], [last]) if first.is_ascii_alphabetic() && last.is_ascii_alphabetic() => {
            let (numbers, more) = values(i64::from(*first), i64::from(*last), step);
            let letters = numbers.into_iter().filter_map(|number| u8::try_from(number).ok());
            let letters = letters.map(|byte| char::from(byte).to_string());
            Some(letters.chain(more.then(|| UNKNOWN.to_string())).collect())
        }
        _ => None,
    }
}

/// Returns true for a number with zeros before it: all numbers of its range get its width.
fn is_padded(number: &str) -> bool {
    let digits = number.trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0')
}

/// Returns the first values of a range, and true if there are more of them.
fn values(from: i64, to: i64, step: u64) -> (Vec<i64>, bool) {
    let (mut values, mut next) = (Vec::new(), Some(from));
    while let Some(value) = next {
        if values.len() == NUMBERS {
            return (values, true);
        }
        values.push(value);
        next = if to.abs_diff(value) < step {
            None
        } else if from <= to {
            value.checked_add_unsigned(step)
        } else {
            value.checked_sub_unsigned(step)
        };
    }
    (values, false)
}
