//! Texts as bytes: no tables, the same in every language.

/// Returns true if a text contains another.
pub fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// Returns the words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    parts.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// Counts the positions of `part` in a text. If it begins with a letter, it has to be at the
/// beginning of a name; with `whole` a dot before it makes it a part of another name too.
pub fn count(text: &str, part: &str, whole: bool) -> usize {
    let named = part.starts_with(|c: char| c.is_ascii_alphabetic());
    let in_name = |byte: u8| {
        byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || (whole && byte == b'.')
    };
    let stands = |at: usize| {
        !(named && text.as_bytes().get(at.wrapping_sub(1)).copied().is_some_and(in_name))
    };
    // No part overlaps itself, so that each position is found.
    text.match_indices(part).filter(|(at, _)| stands(*at)).count()
}

/// Returns true for space, tab or line feed.
pub fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}
