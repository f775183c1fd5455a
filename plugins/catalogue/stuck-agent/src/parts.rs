//! Which part of a file an edit changes, and from what to what.

use crate::memory::State;
use crate::texts::hash;
use portcullis_plugin::types::Command;

/// Returns what an edit takes out and what it puts there instead: the lines that differ.
pub fn compare(before: &str, after: &str) -> (State, State) {
    let start = start_of_line(before, count_common(before.bytes(), after.bytes()));
    let (old, new) =
        (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
    let end = find_end(old, new, count_common(old.bytes().rev(), new.bytes().rev()));
    let (gone, come) = (cut_end(old, end), cut_end(new, end));
    // What is put in or taken out is known by the line before it.
    let anchor = if gone.is_empty() || come.is_empty() {
        let line = start_of_line(before, start.saturating_sub(1));
        before.get(line..start).unwrap_or_default().trim()
    } else {
        ""
    };
    let state = |lines: &str| {
        if lines.is_empty() { State::Empty(hash(anchor)) } else { State::Lines(hash(lines)) }
    };
    (state(gone), state(come))
}

fn count_common(one: impl Iterator<Item = u8>, other: impl Iterator<Item = u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

/// Returns the beginning of the line in which a place is.
fn start_of_line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1)
}

/// Returns how much of a common end consists of whole lines.
fn find_end(one: &str, other: &str, size: usize) -> usize {
    if size == one.len() || size == other.len() {
        let longer = if one.len() > other.len() { one } else { other };
        let before = (longer.len() - size).checked_sub(1);
        if before.is_none_or(|at| longer.as_bytes().get(at) == Some(&b'\n')) {
            return size;
        }
    }
    let end = one.as_bytes().get(one.len() - size..).unwrap_or_default();
    end.iter().position(|byte| *byte == b'\n').map_or(0, |feed| size - feed)
}

fn cut_end(text: &str, end: usize) -> &str {
    text.get(..text.len() - end).unwrap_or_default().trim()
}

/// Returns what `sed -i` replaces, and by what.
pub fn read_substitution(command: &Command) -> Option<(State, State)> {
    let writes = |word: &str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let bundle = letters.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let bundle = letters.strip_suffix(bundle).unwrap_or_default();
        bundle.contains('i') || word.starts_with("--in-place")
    };
    if command.program != "sed" || !command.words.iter().any(|word| writes(&word.text)) {
        return None;
    }
    let mut scripts = command.words.iter().filter_map(|word| read_script(&word.text));
    let (from, to) = scripts.next()?;
    let state = |text: &str| State::Lines(hash(text.trim()));
    scripts.next().is_none().then(|| (state(from), state(to)))
}

/// Reads `s/from/to/`, with any of the usual marks.
fn read_script(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('s')?;
    let mark = rest.chars().next().filter(|mark| "/|,#@:".contains(*mark))?;
    let (from, rest) = split_at_mark(rest.strip_prefix(mark)?, mark)?;
    let (to, flags) = split_at_mark(rest, mark)?;
    (!from.is_empty() && flags.chars().all(|flag| "gI".contains(flag))).then_some((from, to))
}

/// Splits at the next mark that no backslash stands before.
fn split_at_mark(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if character == '\n' {
            return None;
        }
        if character == mark && !escaped {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    #[test]
    fn whole_lines_are_compared() {
        let lines = |text| State::Lines(hash(text));
        let empty = |text| State::Empty(hash(text));
        for (before, after, from, to) in [
            ("a\nb = 1\nc", "a\nb = 12\nc", lines("b = 1"), lines("b = 12")),
            ("x = 1", "  x = 2", lines("x = 1"), lines("x = 2")),
            ("import os\n", "import os\nimport re\n", empty("import os"), lines("import re")),
            ("import re\n", "", lines("import re"), empty("")),
            ("a\nb\nb\nc", "a\nb\nc", lines("b"), empty("b")),
            ("a\nb", "a\nb", empty("a"), empty("a")),
            ("grün\n", "größe\n", lines("grün"), lines("größe")),
        ] {
            assert_eq!(compare(before, after), (from, to), "{before:?}");
        }
    }

    #[test]
    fn substitutions_are_read() {
        let read = |script: &str| {
            let action = testing::shell(&format!("sed {script} a.py"));
            action.shell().and_then(|shell| read_substitution(shell.commands.first()?))
        };
        let lines = |from, to| Some((State::Lines(hash(from)), State::Lines(hash(to))));
        assert_eq!(read("-i s/a/b/g"), lines("a", "b"));
        assert_eq!(read("-Ei s#a\\#b##"), lines("a\\#b", ""));
        for other in ["s/a/b/", "-i s/a/b/w", "-i -e s/a/b/ -e s/c/d/", "-i 3d"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
