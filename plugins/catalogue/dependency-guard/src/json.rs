//! Walks the texts of JSON, of a whole document or of a piece cut out of one.
//!
//! An edit holds a piece: it may begin inside an object, and what encloses it is not known. So this
//! is no parser: it keeps track of brackets and passes on each text with the keys that lead to it.

use std::borrow::Cow;

/// A text with the keys that lead to it.
#[derive(Debug)]
pub struct Member<'a> {
    /// The keys of the objects around it, outermost first; empty in a piece.
    pub parents: &'a [String],
    /// Its own key, empty in a list.
    pub key: &'a str,
    /// The text, or a number or word as written.
    pub value: &'a str,
}

/// The deepest nesting whose keys are kept.
const DEEPEST: usize = 32;

/// Calls `visit` for each text, number or word that is no key.
pub fn walk(text: &str, mut visit: impl FnMut(&Member<'_>)) {
    let mut parents: Vec<String> = Vec::new();
    let mut key: Cow<'_, str> = Cow::Borrowed("");
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let (value, end) = read_text(text, at + 1);
                at = skip_blanks(bytes, end);
                if bytes.get(at) == Some(&b':') {
                    key = value;
                    at += 1;
                } else {
                    visit(&Member { parents: &parents, key: &key, value: &value });
                    key = Cow::Borrowed("");
                }
            }
            b'{' | b'[' => {
                // Past this depth the keys are no longer of interest, the brackets are.
                let kept = if parents.len() < DEEPEST { key.into_owned() } else { String::new() };
                parents.push(kept);
                key = Cow::Borrowed("");
                at += 1;
            }
            b'}' | b']' => {
                parents.pop();
                key = Cow::Borrowed("");
                at += 1;
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
                let rest = bytes.get(at..).unwrap_or_default();
                let end = at + rest.iter().take_while(|byte| is_part(byte)).count();
                let value = text.get(at..end).unwrap_or_default();
                visit(&Member { parents: &parents, key: &key, value });
                key = Cow::Borrowed("");
                at = end;
            }
            _ => at += 1,
        }
    }
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Reads the text that begins behind a quotation mark, and returns it with the place behind its
/// end. One without an end goes to the end.
fn read_text(text: &str, start: usize) -> (Cow<'_, str>, usize) {
    let bytes = text.as_bytes();
    let mut end = start;
    let mut escaped = false;
    loop {
        match bytes.get(end) {
            Some(b'"') | None => break,
            Some(b'\\') => {
                escaped = true;
                end += 2;
            }
            Some(_) => end += 1,
        }
    }
    let raw = text.get(start..end.min(text.len())).unwrap_or_default();
    let value = if escaped { Cow::Owned(resolve_escapes(raw)) } else { Cow::Borrowed(raw) };
    (value, end + 1)
}

fn resolve_escapes(raw: &str) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                value.push(code.unwrap_or('\u{fffd}'));
            }
            Some(other) => value.push(other),
            None => {}
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        walk(text, |member| {
            found.push(format!("{}/{}={}", member.parents.join("/"), member.key, member.value));
        });
        found
    }

    #[test]
    fn documents_and_pieces_are_walked() {
        let document =
            r#"{"name": "a", "dependencies": {"b": "^1", "c\u0041": "x"}, "list": ["d", 2]}"#;
        assert_eq!(
            walked(document),
            ["/name=a", "/dependencies/b=^1", "/dependencies/cA=x", "/list/=d", "/list/=2"]
        );
        assert_eq!(walked("\"b\": \"^1\",\n  \"c\": \"2\"\n},"), ["/b=^1", "/c=2"]);
        assert_eq!(walked("\"open"), ["/=open"]);
    }
}
