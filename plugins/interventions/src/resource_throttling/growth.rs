//! The growth rate of a resource, read from an issue's evidence.
//!
//! Evidence of the kind `growth` begins with the resource and holds the ratio of a window to the
//! one before it after an `x`, as the pattern `resource_spiral` writes it:
//! `files 3, 6, 12, 24 (x 2.00 a window)`. Without an `x`, a single number is the ratio:
//! `tokens 1.6`. Evidence in any other form is ignored.

use portcullis_plugin::intervention::{Issue, Quantity};
use portcullis_plugin::text::score;

/// The growth of one resource.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Growth {
    pub(super) quantity: Quantity,
    /// The ratio of a window's use to that of the window before, in thousandths.
    pub(super) ratio: u64,
}

impl Growth {
    /// Formats the ratio: `x 2.00`.
    pub(super) fn format_ratio(&self) -> String {
        match u16::try_from(self.ratio) {
            Ok(ratio) => format!("x {}", score(ratio)),
            Err(_) => format!("x {}", self.ratio / 1000),
        }
    }
}

const RESOURCES: &[(&str, Quantity)] = &[
    ("files", Quantity::FileOperations),
    ("file-operations", Quantity::FileOperations),
    ("bytes", Quantity::Memory),
    ("memory", Quantity::Memory),
    ("tokens", Quantity::Tokens),
    ("milliseconds", Quantity::Time),
    ("time", Quantity::Time),
];

/// Returns every resource with a reported growth, with the greatest value reported for it.
pub(super) fn of(issue: &Issue) -> Vec<Growth> {
    let mut found: Vec<Growth> = Vec::new();
    for growth in issue.evidence_of("growth").filter_map(read) {
        match found.iter_mut().find(|known| known.quantity == growth.quantity) {
            Some(known) => known.ratio = known.ratio.max(growth.ratio),
            None => found.push(growth),
        }
    }
    found
}

fn read(text: &str) -> Option<Growth> {
    let (name, rest) = text.trim().split_once([' ', ':'])?;
    let name = name.to_ascii_lowercase().replace('_', "-");
    let quantity =
        RESOURCES.iter().find(|(known, _)| *known == name).map(|(_, quantity)| quantity.clone())?;
    let words = || rest.split([' ', ',', '(', ')', ';']).filter(|word| !word.is_empty());
    let after_x = words()
        .skip_while(|word| *word != "x")
        .nth(1)
        .or_else(|| words().find_map(|word| word.strip_prefix('x')));
    let mut numbers = words().filter_map(thousandths);
    let single = numbers.next().filter(|_| numbers.next().is_none());
    let ratio = match after_x {
        Some(word) => thousandths(word)?,
        None => single?,
    };
    Some(Growth { quantity, ratio })
}

/// Parses a decimal number as thousandths; saturates if it does not fit.
fn thousandths(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let whole = whole.parse::<u64>().unwrap_or(u64::MAX);
    Some(whole.saturating_mul(1000).saturating_add(fraction.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_read_or_not_stated() {
        use Quantity::{FileOperations as Files, Memory, Time, Tokens};
        let cases: &[(&str, Option<(Quantity, u64)>)] = &[
            ("files 3, 6, 12, 24 (x 2.00 a window)", Some((Files, 2000))),
            ("bytes 70000, 126000, 226800, 408240 (x 1.79 a window)", Some((Memory, 1790))),
            ("tokens 5000, 5000, 5000, 5001 (x 1.00 a window)", Some((Tokens, 1000))),
            ("milliseconds 5000, 9000, 20000, 50000 (x 2.15 a window)", Some((Time, 2150))),
            ("files 2.1", Some((Files, 2100))),
            ("Files: x2.1", Some((Files, 2100))),
            ("file_operations x 3", Some((Files, 3000))),
            ("time 1.25", Some((Time, 1250))),
            ("memory 1.23456", Some((Memory, 1234))),
            ("bytes (x 99999999999999999999999999.9 a window)", Some((Memory, u64::MAX))),
            ("files 3, 6, 12, 24", None),
            ("files x NaN", None),
            ("files x -2", None),
            ("files x", None),
            ("files", None),
            ("doors 2.0", None),
            ("files x 1e9", None),
            ("files x 2.", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = read(text).map(|growth| (growth.quantity, growth.ratio));
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn growth_is_formatted_in_two_decimals() {
        for (ratio, text) in [
            (2000, "x 2.00"),
            (1795, "x 1.80"),
            (65_536, "x 65"),
            (u64::MAX, "x 18446744073709551"),
        ] {
            assert_eq!(Growth { quantity: Quantity::Time, ratio }.format_ratio(), text);
        }
    }
}
