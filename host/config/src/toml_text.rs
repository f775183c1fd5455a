//! Shared parts of all readers of our TOML files: positions in the text, and descriptions of
//! values.

use portcullis_core::text::one_line;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

/// The most characters of a name or a value that an error repeats.
const MOST_SHOWN: usize = 64;

/// A text as the parser returns it.
pub type Text<'a> = std::borrow::Cow<'a, str>;

/// Returns the whole number, if it fits.
pub fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Returns the offset where a value begins.
pub fn start<T>(spanned: &Spanned<T>) -> usize {
    spanned.span().start
}

/// Describes the type of a value, to complete "it is".
pub fn type_of(value: &Spanned<DeValue<'_>>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(number) if integer(number).is_none() => "a number that is too large",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(items) if items.iter().all(|item| item.get_ref().is_str()) => "a list",
        DeValue::Array(_) => "a list of other things than texts",
        DeValue::Table(_) => "a table",
    }
}

/// Returns the name that was probably meant: about a third of its letters may differ.
pub fn nearest<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    // The time grows with the square of the length, so the name is cut.
    let given: String = given.chars().take(MOST_SHOWN).collect();
    let (away, name) = known.map(|name| (strsim::osa_distance(name, &given), name)).min()?;
    (away <= name.len().div_ceil(3)).then_some(name)
}

/// Formats names as a list in a sentence.
pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Shortens and escapes a name or a value for a message.
pub fn shown(text: &str) -> String {
    one_line(text, MOST_SHOWN)
}

/// The offsets at which the lines of a text begin.
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Finds the lines of a text.
    pub fn of(text: &'a str) -> Self {
        let breaks =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Returns line and column of a byte, from 1.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let begin = line
            .checked_sub(1)
            .and_then(|index| self.starts.get(index))
            .copied()
            .unwrap_or_default();
        let column = self.text.get(begin..at).map_or(1, |before| before.chars().count() + 1);
        (line, column)
    }
}
