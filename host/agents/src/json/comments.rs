//! Comments in JSON, as the clients that take them strip them before they parse: each becomes blanks
//! of the same length, so that every position stays.

use std::ops::Range;

/// The form of JSON that a client reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonSyntax {
    /// JSON and nothing else.
    #[default]
    Strict,
    /// JSON with `//` and `/* */`, but without trailing commas.
    WithComments,
}

impl JsonSyntax {
    /// Returns what the client takes, for a message.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Strict => {
                "the client reads strict JSON in UTF-8, without comments and trailing commas"
            }
            Self::WithComments => {
                "the client reads JSON in UTF-8, with comments but without trailing commas"
            }
        }
    }
}

/// Returns the comments of a text, in order. A line's comment ends before its newline; one that
/// nothing ends goes to the end of the text.
pub(super) fn find_comments(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest.as_bytes() {
            [b'"', ..] => string_length(rest),
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => {
                let inside = rest.get(2..).unwrap_or_default();
                inside.find("*/").map_or(rest.len(), |end| end + 4)
            }
            _ => rest.find(['"', '/']).filter(|next| *next > 0).unwrap_or(match rest {
                _ if rest.starts_with('/') => 1,
                _ => rest.len(),
            }),
        };
        if rest.starts_with("//") || rest.starts_with("/*") {
            found.push(at..at + length);
        }
        at += length;
    }
    found
}

/// Returns the length of the string at the beginning of a text, with its quotation marks.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the text with its comments blanked. White space in them stays, as in the clients, also
/// such as JSON does not know: then the text does not parse for them either.
pub(super) fn blank_comments(text: &str, comments: &[Range<usize>]) -> String {
    let mut blanked = String::with_capacity(text.len());
    let mut end = 0;
    for comment in comments {
        blanked.push_str(text.get(end..comment.start).unwrap_or_default());
        for letter in text.get(comment.clone()).unwrap_or_default().chars() {
            if is_white(letter) {
                blanked.push(letter);
            } else {
                blanked.extend(std::iter::repeat_n(' ', letter.len_utf8()));
            }
        }
        end = comment.end;
    }
    blanked.push_str(text.get(end..).unwrap_or_default());
    blanked
}

/// Returns true for what the clients' language, JavaScript, counts as white space.
fn is_white(letter: char) -> bool {
    letter == '\u{feff}' || (letter.is_whitespace() && letter != '\u{85}')
}
