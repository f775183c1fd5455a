//! Leaves times, durations, addresses and numbers out of texts that are compared: they differ each
//! time.

use crate::texts::is_blank;

/// What a duration counts.
const UNITS: &[&str] = &[
    "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h",
    "hour", "hours", "d", "day", "days",
];

/// Replaces times (`2026-01-01T12:00:00Z`, `12:00`), then durations (`5m10s`, `0.31 s`,
/// `3 minutes`), then addresses (`0x7f00`).
pub fn mask_times(text: String) -> String {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return text;
    }
    let text = replace(&text, "~", end_of_time);
    let text = replace(&text, "~", end_of_duration);
    replace(&text, "~", end_of_word_address)
}

/// Replaces each number and address by `0`.
pub fn mask_numbers(text: &str) -> String {
    replace(text, "0", |text, at| end_of_address(text, at).or_else(|| skip_digits(text, at)))
}

/// Replaces what begins with a digit and has an end.
fn replace(text: &str, by: &str, find_end: fn(&str, usize) -> Option<usize>) -> String {
    let mut replaced = String::with_capacity(text.len());
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        if byte.is_ascii_digit()
            && let Some(end) = find_end(text, at)
        {
            replaced.push_str(text.get(kept..at).unwrap_or_default());
            replaced.push_str(by);
            (kept, at) = (end, end);
        } else {
            at += 1;
        }
    }
    replaced.push_str(text.get(kept..).unwrap_or_default());
    replaced
}

fn end_of_time(text: &str, at: usize) -> Option<usize> {
    end_of_date(text, at).or_else(|| {
        let hours = if text.as_bytes().get(at + 1) == Some(&b':') { "0" } else { "00" };
        end_of_seconds(text, match_form(text, at, &[hours, ":00"])?)
    })
}

fn end_of_date(text: &str, at: usize) -> Option<usize> {
    let day = match_form(text, at, &["0000-00-00"])?;
    let minutes = match_form(text, day, &["T00:00"]).or_else(|| match_form(text, day, &[" 00:00"]));
    let Some(end) = minutes.and_then(|minutes| end_of_seconds(text, minutes)) else {
        return Some(day);
    };
    Some(match_form(text, end, &["Z"]).unwrap_or(end))
}

/// Returns the end of the seconds, which may be missing.
fn end_of_seconds(text: &str, at: usize) -> Option<usize> {
    let Some(end) = match_form(text, at, &[":00"]) else { return Some(at) };
    Some(skip_fraction(text, end))
}

fn end_of_duration(text: &str, at: usize) -> Option<usize> {
    if is_word(text, at.checked_sub(1)) {
        return None;
    }
    let mut end = end_of_amount(text, at)?;
    while let Some(next) = end_of_amount(text, end) {
        end = next;
    }
    Some(end)
}

/// Returns the end of a number with its unit, and of the blank behind it.
fn end_of_amount(text: &str, at: usize) -> Option<usize> {
    let number = skip_fraction(text, skip_digits(text, at)?);
    let unit = skip_blank(text, number);
    let letters = text.as_bytes().get(unit..)?;
    let end = unit + letters.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_unit = UNITS.contains(&text.get(unit..end)?);
    is_unit.then(|| skip_blank(text, end))
}

fn end_of_word_address(text: &str, at: usize) -> Option<usize> {
    let end = end_of_address(text, at)?;
    (!is_word(text, at.checked_sub(1)) && !is_word(text, Some(end))).then_some(end)
}

fn end_of_address(text: &str, at: usize) -> Option<usize> {
    let digits = text.as_bytes().get(at..)?.strip_prefix(b"0x")?;
    let is_hex = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let length = digits.iter().take_while(is_hex).count();
    (length > 0).then_some(at + 2 + length)
}

/// Returns the end of texts in a row, in which `0` stands for any digit.
fn match_form(text: &str, at: usize, forms: &[&str]) -> Option<usize> {
    let mut end = at;
    for wanted in forms.iter().flat_map(|form| form.bytes()) {
        let byte = text.as_bytes().get(end)?;
        let fits = if wanted == b'0' { byte.is_ascii_digit() } else { *byte == wanted };
        if !fits {
            return None;
        }
        end += 1;
    }
    Some(end)
}

/// Returns the end of the digits, of which there is one at least.
fn skip_digits(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then_some(at + length)
}

fn skip_fraction(text: &str, at: usize) -> usize {
    match_form(text, at, &["."]).and_then(|digits| skip_digits(text, digits)).unwrap_or(at)
}

fn skip_blank(text: &str, at: usize) -> usize {
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    at + next.filter(|next| is_blank(*next)).map_or(0, char::len_utf8)
}

fn is_word(text: &str, at: Option<usize>) -> bool {
    let byte = at.and_then(|at| text.as_bytes().get(at));
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_each_time_is_left_out() {
        for (text, masked) in [
            ("at 2026-01-01T12:00:00.25Z, or 9:30", "at ~, or ~"),
            ("on 2026-01-01 at 123:45:6", "on ~ at 1~:6"),
            ("took 5m10s and 0.31 s", "took ~and ~"),
            ("3 minutes 2 monkeys, 1.5.6s x7s 4sx", "~2 monkeys, 1.~x7s 4sx"),
            ("0x7f00 a0x7f 0x7fg", "~ a0x7f 0x7fg"),
            ("12:00:00s, 5\u{a0}ms", "~s, ~"),
            ("grüße ½", "grüße ½"),
        ] {
            assert_eq!(mask_times(text.to_owned()), masked, "{text}");
        }
        assert_eq!(mask_numbers("a12 0x1fg 0x 007"), "a0 0g 0x 0");
    }
}
