//! Values as text: times, scores, JSON strings. For messages and exporters; it reads nothing back.

use crate::types::{Score, Timestamp};
use std::fmt::Write;

/// Formats a time in RFC 3339, UTC, with milliseconds.
///
/// ```
/// assert_eq!(portcullis_plugin::text::rfc3339(1_767_268_800_007), "2026-01-01T12:00:00.007Z");
/// ```
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    let (days, milliseconds) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = date(days);
    let (hour, minute) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60);
    let (second, fraction) = (milliseconds / 1000 % 60, milliseconds % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Returns year, month and day of a day counted from 1970-01-01. The years used begin in March, so
/// that the leap day is the last.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    (era * 400 + year_of_era + if month <= 2 { 1 } else { 0 }, month, day)
}

/// Formats a score for display: two decimals.
///
/// ```
/// assert_eq!(portcullis_plugin::text::score(745), "0.75");
/// ```
#[must_use]
pub fn score(score: Score) -> String {
    let hundredths = (u32::from(score) + 5) / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Adds a text to JSON, with its quotes; any JSON reader gets the same bytes back.
///
/// ```
/// let mut out = String::new();
/// portcullis_plugin::text::push_json(&mut out, "say \"no\"\n");
/// assert_eq!(out, r#""say \"no\"\n""#);
/// ```
pub fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Cuts a text to at most `bytes`, at a character's boundary, and marks the cut with an ellipsis.
///
/// ```
/// use portcullis_plugin::text::cut;
/// assert_eq!(cut("short", 10), "short");
/// assert_eq!(cut("grüße aus", 8), "grü…");
/// ```
#[must_use]
pub fn cut(text: &str, bytes: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= bytes {
        return text.into();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(MARK.len()));
    format!("{}{MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
        ] {
            assert_eq!(rfc3339(at), text);
        }
    }

    #[test]
    fn scores_are_rounded() {
        for (thousandths, text) in
            [(0, "0.00"), (4, "0.00"), (5, "0.01"), (999, "1.00"), (1000, "1.00"), (300, "0.30")]
        {
            assert_eq!(score(thousandths), text);
        }
    }
}
