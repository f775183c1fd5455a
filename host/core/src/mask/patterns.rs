//! Patterns of the configuration: values of an organisation's own that are masked.

use regex_lite::{Regex, RegexBuilder};

/// The most patterns, and the most bytes of one.
pub const MOST_PATTERNS: usize = 32;
/// The most bytes of a pattern.
const MOST_BYTES: usize = 256;
/// The most bytes of a compiled pattern.
const MOST_COMPILED: usize = 64 << 10;

/// Checks a pattern of values that are masked: a regular expression without look-around and
/// back-references, so that a search takes a time in proportion to the text.
///
/// # Errors
/// Fails with the rest of a sentence about the pattern.
pub fn check_pattern(text: &str) -> Result<(), String> {
    compile_pattern(text).map(drop)
}

pub(super) fn compile_pattern(text: &str) -> Result<Regex, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("has more than {MOST_BYTES} bytes"));
    }
    let pattern = RegexBuilder::new(text).size_limit(MOST_COMPILED).build();
    let pattern = pattern.map_err(|error| format!("is no regular expression ({error})"))?;
    if pattern.is_match("") {
        return Err("matches an empty text, and so every text".to_owned());
    }
    Ok(pattern)
}
