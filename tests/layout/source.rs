//! Rust sources as these tests read them: without tests, comments and the content of texts.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file.
pub struct Source {
    /// Its path below the repository's folder.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Returns the text before the unit tests, which stand at the end of a file.
    pub fn production(&self) -> &str {
        let tests = self.text.match_indices("\n#[cfg(test)]\n").find(|(at, mark)| {
            let rest = self.text[at + mark.len()..].lines().find(|line| !line.starts_with("#["));
            rest.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
        });
        tests.map_or(&self.text, |(at, _)| &self.text[..at + 1])
    }
}

/// Returns the repository's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the sources below a folder of the repository, sorted by path.
pub fn sources(folder: &str) -> Vec<Source> {
    let (root, mut open, mut found) = (root(), vec![root().join(folder)], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns a text without comments, and with empty texts in place of the literals.
pub fn without_comments_and_texts(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' {
            code.push_str("\"\"");
            text_length(rest)
        } else if let Some(length) = raw_text_length(rest).filter(|_| !code.ends_with(is_word)) {
            code.push_str("\"\"");
            length
        } else if let Some(length) = character_length(rest) {
            code.push_str("' '");
            length
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    code
}

/// Returns true for a character of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_text_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = 2 + hashes;
    text[begin..].find(&end).map(|at| begin + at + end.len())
}

/// Returns the length of a character literal; a lifetime has none.
fn character_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix('\'')?;
    let first = after.chars().next()?;
    let least = if first == '\\' { 2 } else { first.len_utf8() };
    let end = after.get(least..)?.find('\'')?;
    (first == '\\' && end < 12 || end == 0).then_some(1 + least + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_left_out() {
        for (text, expected) in [
            ("a // b\nc", "a \nc"),
            ("a /* b */ c", "a  c"),
            ("\"a \\\" b\" c", "\"\" c"),
            ("r#\"a \" b\"# c", "\"\" c"),
            ("for\"x\"", "for\"\""),
            ("'\"' c", "' ' c"),
            ("'\\'' c", "' ' c"),
            ("&'a str, 'b'", "&'a str, ' '"),
        ] {
            assert_eq!(without_comments_and_texts(text), expected, "{text}");
        }
    }
}
