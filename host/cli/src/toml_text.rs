//! What every reader of a TOML file of ours needs: places in the text, and words for what stands there.

use portcullis_core::text::one_line;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

/// How many characters of a name or a value an error repeats.
const MOST_SHOWN: usize = 64;

/// A text as the parser gives it.
pub type Text<'a> = std::borrow::Cow<'a, str>;

/// The whole number, where it fits.
pub fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Where something begins.
pub fn start<T>(spanned: &Spanned<T>) -> usize {
    spanned.span().start
}

/// What a value is, to complete "it is".
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

/// The name that was probably meant: about a third of its letters may differ.
pub fn nearest<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    // A name of any length would take time that grows with its square.
    let given: String = given.chars().take(MOST_SHOWN).collect();
    let (away, name) = known.map(|name| (strsim::osa_distance(name, &given), name)).min()?;
    (away <= name.len().div_ceil(3)).then_some(name)
}

/// Names, as a sentence lists them.
pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A name or a value, fit to be repeated.
pub fn shown(text: &str) -> String {
    one_line(text, MOST_SHOWN)
}

/// Where the lines of a text begin.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds them.
    pub fn of(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Line and column of a byte, from 1.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let begin = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or_default();
        let column = self.text.get(begin..at).map_or(1, |before| before.chars().count() + 1);
        (line, column)
    }
}
