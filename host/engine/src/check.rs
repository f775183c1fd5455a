//! The bounds that every value from a plugin must keep, and the faults for those that do not.
//!
//! Nothing is cut to fit: an answer that breaks the contract is rejected.

use crate::faults::UnnamedFault;
use crate::text;
use portcullis_core::fault::FaultKind;
use portcullis_core::score::Score;

/// Bytes of a string, unless another limit applies.
pub(crate) const TEXT_BYTES: usize = 4 << 10;
/// Items of a list, unless another limit applies.
pub(crate) const ITEMS: usize = 64;
/// Detections in a report, edits in a rewrite.
pub(crate) const FEW_ITEMS: usize = 16;
/// Messages in a guidance.
pub(crate) const MESSAGES: usize = 8;
/// Bytes of a value in a piece of evidence.
pub(crate) const EVIDENCE_BYTES: usize = 1 << 10;
/// Bytes of a pattern's state.
pub(crate) const STATE_BYTES: usize = 64 << 10;
/// Bytes of the answer of `prepare`.
pub(crate) const PREPARED_BYTES: usize = 1 << 20;
/// Bytes of the answer of `render`.
pub(crate) const RENDERED_BYTES: usize = 8 << 20;

type Checked<T> = Result<T, UnnamedFault>;

fn too_large(what: &str, size: usize, limit: usize, unit: &str) -> UnnamedFault {
    UnnamedFault::new(
        FaultKind::OutputTooLarge,
        format!("`{what}` has {size} {unit}; at most {limit} are allowed"),
    )
}

pub(crate) fn bad(what: &str, reason: &str) -> UnnamedFault {
    UnnamedFault::new(FaultKind::BadValue, format!("`{what}` {reason}"))
}

/// Checks text on one line: a name, a value.
pub(crate) fn line(what: &str, value: &str) -> Checked<String> {
    bounded(what, value, TEXT_BYTES).map(text::line)
}

/// Checks text of several lines, for a person or the agent.
pub(crate) fn prose(what: &str, value: &str) -> Checked<String> {
    bounded(what, value, TEXT_BYTES).map(text::prose)
}

pub(crate) fn bounded<'a>(what: &str, value: &'a str, limit: usize) -> Checked<&'a str> {
    if value.len() > limit { Err(too_large(what, value.len(), limit, "bytes")) } else { Ok(value) }
}

/// Checks bytes that only the plugin itself reads.
pub(crate) fn bytes(what: &str, value: Vec<u8>, limit: usize) -> Checked<Vec<u8>> {
    if value.len() > limit { Err(too_large(what, value.len(), limit, "bytes")) } else { Ok(value) }
}

/// Checks a new text of a parameter. It is passed on unchanged, so it must not contain hidden
/// characters.
pub(crate) fn parameter_text(what: &str, value: String) -> Checked<String> {
    bounded(what, &value, TEXT_BYTES)?;
    match text::first_hidden(&value) {
        Some(c) => Err(bad(
            what,
            &format!("holds the invisible or control character U+{:04X}", u32::from(c)),
        )),
        None => Ok(value),
    }
}

pub(crate) fn list<T, U>(
    what: &str,
    items: Vec<T>,
    limit: usize,
    convert: impl FnMut(T) -> Checked<U>,
) -> Checked<Vec<U>> {
    if items.len() > limit {
        return Err(too_large(what, items.len(), limit, "items"));
    }
    items.into_iter().map(convert).collect()
}

pub(crate) fn lines(what: &str, items: Vec<String>) -> Checked<Vec<String>> {
    list(what, items, ITEMS, |item| prose(what, &item))
}

pub(crate) fn score(what: &str, value: u16) -> Checked<Score> {
    Score::from_thousandths(value)
        .ok_or_else(|| bad(what, &format!("is {value}; a score is 0 to 1000")))
}

pub(crate) fn maybe<T, U>(
    value: Option<T>,
    convert: impl FnOnce(T) -> Checked<U>,
) -> Checked<Option<U>> {
    value.map(convert).transpose()
}
