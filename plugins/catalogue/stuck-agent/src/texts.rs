//! Texts: fingerprints, what is compared of a result, and how things are named to a person.

use crate::times::mask_times;
use portcullis_plugin::pattern::Status;
use portcullis_plugin::types::{Command, Outcome};
use std::fmt::Display;

/// What is looked at of a long text: its beginning and its end.
const END: usize = 1024;
/// The most characters of a name in a sentence.
pub const MOST_NAME: usize = 70;

/// A fingerprint that is being made: FNV-1a.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing yet.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes.
    pub fn add(self, bytes: &[u8]) -> Self {
        let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, add))
    }

    /// Returns it as a number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Returns the fingerprint of a text. Of a long one both ends and the length count: what is
/// compared differs there.
pub fn hash(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (start, end) = (bytes.get(..2 * END), bytes.len().checked_sub(2 * END));
    let print = Fingerprint::new();
    match (start, end.and_then(|end| bytes.get(end..))) {
        (Some(start), Some(end)) if bytes.len() > 4 * END => {
            print.add(&bytes.len().to_le_bytes()).add(start).add(end).number()
        }
        _ => print.add(bytes).number(),
    }
}

/// Returns the fingerprint of what was asked for and what the result says, without what differs
/// each time: times, durations, addresses.
pub fn hash_answer(asked: Fingerprint, outcome: &Outcome) -> u64 {
    let mut said = String::with_capacity(4 * END);
    for text in [&outcome.error, &outcome.output] {
        let (start, end) = take_ends(text);
        said.push_str(start);
        said.push_str(end);
    }
    let status = [0, u8::from(outcome.status == Status::Ok)];
    asked.add(&status).add(mask_times(said).as_bytes()).number()
}

fn take_ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * END {
        return (text, "");
    }
    let end = take_last(text, END);
    let start = text.char_indices().nth(END).map_or(text.len(), |(at, _)| at);
    // Of characters that take several bytes there may be less than two ends.
    let start = start.min(text.len() - end.len());
    (text.get(..start).unwrap_or_default(), end)
}

/// Returns the last `most` characters of a text.
pub fn take_last(text: &str, most: usize) -> &str {
    let Some(from) = text.len().checked_sub(most) else { return text };
    if let Some(end) = text.get(from..).filter(|end| end.is_ascii()) {
        return end;
    }
    let from = text.char_indices().rev().take(most).last().map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or_default()
}

/// Returns a path as a person names it: within the project from its root on.
pub fn place<'a>(path: &'a str, roots: &[String]) -> &'a str {
    let within = |root: &String| path.strip_prefix(root.as_str())?.strip_prefix('/');
    roots.iter().find_map(within).unwrap_or(path)
}

/// Returns one line of at most `most` characters.
pub fn line(text: &str, most: usize) -> String {
    line_of(text.chars(), most)
}

/// Returns one line of at most `most` of these characters.
pub fn line_of(characters: impl Iterator<Item = char>, most: usize) -> String {
    let mut line = String::new();
    let (mut length, mut gap) = (0, false);
    for character in characters {
        if is_blank(character) || character.is_control() {
            gap = length > 0;
            continue;
        }
        for next in gap.then_some(' ').into_iter().chain([character]) {
            if length == most {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(next);
            length += 1;
        }
        gap = false;
    }
    line
}

/// Returns true for what separates words: `\s` of a regular expression, to which a byte order mark
/// belongs.
pub fn is_blank(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Returns the characters of a command: its program and its words.
pub fn spell(command: &Command) -> impl Iterator<Item = char> {
    let words = command.words.iter().flat_map(|word| [" ", &word.text]);
    [command.program.as_str()].into_iter().chain(words).flat_map(str::chars)
}

/// Returns a number of things in words: `1 edit`, `3 edits`.
pub fn count(number: u32, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Returns the first few of some names, each once, and how many more there are.
pub fn list(names: impl Iterator<Item = impl Display>, most: usize) -> String {
    let unique = unique(names.map(|name| name.to_string()));
    let mut listed = unique.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    if let Some(more) = unique.len().checked_sub(most).filter(|more| *more > 0) {
        listed.push_str(&format!(" and {more} more"));
    }
    listed
}

/// Returns each value once, in order.
pub fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}
