//! Text that fits the host's bounds, and text that a shell reads as one word.

use portcullis_plugin::types::Evidence;

/// The longest evidence value that the host accepts, in bytes.
pub const EVIDENCE: usize = 1024;

/// The longest piece of foreign text that goes into a sentence, in bytes: a reason stays readable.
pub const PHRASE: usize = 160;

/// Cuts `text` to at most `most` bytes at a character boundary; a cut is shown by an ellipsis.
#[must_use]
pub fn clip(text: &str, most: usize) -> String {
    const MARK: &str = "...";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut cut = text.get(..end).unwrap_or_default().to_owned();
    cut.push_str(MARK);
    cut
}

/// Returns evidence for a finding, cut to the host's limit.
#[must_use]
pub fn evidence(kind: &str, value: &str, step: Option<u64>) -> Evidence {
    Evidence { kind: kind.to_owned(), value: clip(value, EVIDENCE), step }
}

/// Joins things into one phrase: the first few in backticks, the rest as a number.
#[must_use]
pub fn listed<'a>(things: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let mut phrase = String::new();
    let mut count = 0;
    for thing in things {
        count += 1;
        if count <= SHOWN {
            phrase.push_str(if count > 1 { ", " } else { "" });
            phrase.push_str(&named(thing));
        }
    }
    if count > SHOWN {
        phrase.push_str(" and ");
        phrase.push_str(&(count - SHOWN).to_string());
        phrase.push_str(" more");
    }
    phrase
}

/// Returns `text` in backticks, cut for a sentence, without line breaks.
#[must_use]
pub fn named(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut quoted = String::from("`");
    quoted.push_str(&clip(&line, PHRASE));
    quoted.push('`');
    quoted
}

/// Quotes any `text` as one word of a POSIX shell. None for text with a NUL, which no word can
/// hold.
#[must_use]
pub fn quoted(text: &str) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    let plain = |b: u8| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'/' | b'.' | b'_' | b'-' | b'+' | b':' | b'@' | b'%')
    };
    if !text.is_empty() && text.bytes().all(plain) {
        return Some(text.to_owned());
    }
    let mut word = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => word.push_str("'\\''"),
            other => word.push(other),
        }
    }
    word.push('\'');
    Some(word)
}

/// Formats `thousandths` for display: two decimals.
#[must_use]
pub fn decimal(thousandths: u32) -> String {
    let hundredths = thousandths.saturating_add(5) / 10;
    let mut shown = (hundredths / 100).to_string();
    shown.push('.');
    shown.push_str(if hundredths % 100 < 10 { "0" } else { "" });
    shown.push_str(&(hundredths % 100).to_string());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_at_character_boundaries() {
        for (text, most, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "lo..."),
            ("aaééé", 6, "aa..."),
            ("é", 1, "..."),
            ("", 0, ""),
        ] {
            assert_eq!(clip(text, most), expected, "{text} to {most}");
        }
    }

    #[test]
    fn quotes_what_a_shell_would_read() {
        for (text, expected) in [
            ("/a/b.txt", Some("/a/b.txt")),
            ("/a b", Some("'/a b'")),
            ("/a'b", Some("'/a'\\''b'")),
            ("$(x)`y`\n;&*", Some("'$(x)`y`\n;&*'")),
            ("", Some("''")),
            ("~root", Some("'~root'")),
            ("a\0b", None),
        ] {
            assert_eq!(quoted(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn lists_a_few() {
        for (things, expected) in [
            (&[][..], ""),
            (&["a"], "`a`"),
            (&["a", "b\nc"], "`a`, `b c`"),
            (&["a", "b", "c", "d", "e"], "`a`, `b`, `c` and 2 more"),
        ] {
            assert_eq!(listed(things.iter().copied()), expected);
        }
    }

    #[test]
    fn shows_two_decimals() {
        for (value, expected) in
            [(0, "0.00"), (50, "0.05"), (940, "0.94"), (995, "1.00"), (1500, "1.50"), (334, "0.33")]
        {
            assert_eq!(decimal(value), expected);
        }
    }
}
