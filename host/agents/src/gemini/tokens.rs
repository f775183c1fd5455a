//! Tokens in Gemini CLI's transcript, read on from the place where the last event left off.
//!
//! A line of an answer repeats the usage of its message, so a message counts once. It is the
//! client's internal format, lags behind, and the agent can write to it: a line that cannot be read
//! counts nothing.

use crate::transcript::{contains, read_new_tokens};
use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_core::text::hash_parts;
use serde::Deserialize;
use std::io;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    id: String,
    tokens: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
    tool: u64,
}

impl Usage {
    /// Returns those that were not read from a cache.
    const fn spent(&self) -> u64 {
        let input = self.input.saturating_sub(self.cached).saturating_add(self.tool);
        input.saturating_add(self.output).saturating_add(self.thoughts)
    }
}

/// Reads on from `cursor`.
///
/// # Errors
/// Fails if the transcript is not a file, or cannot be read.
pub(super) fn read_tokens(
    transcript: &Path,
    cursor: Option<&TokenCursor>,
) -> io::Result<TokenReading> {
    read_new_tokens(transcript, false, cursor, &|line, cursor| {
        if !contains(line, b"\"tokens\"") {
            return 0;
        }
        let Ok(Line { id, tokens }) = serde_json::from_slice(line) else { return 0 };
        let (message, spent) = (hash_parts(&[&id]), tokens.spent());
        match cursor.messages.iter_mut().find(|(known, _)| *known == message) {
            Some((_, known)) => {
                let added = spent.saturating_sub(*known);
                *known = spent.max(*known);
                added
            }
            None => {
                // Only the newest message is repeated.
                cursor.messages = vec![(message, spent)];
                spent
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_message_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let line = |id: &str, input: u64| {
            format!(
                "{{\"id\":\"{id}\",\"type\":\"gemini\",\"tokens\":{{\"input\":{input},\"cached\":4,\"output\":5}}}}\n"
            )
        };
        let (mut written, mut cursor, mut added) = (String::new(), None, Vec::new());
        for text in [line("a", 10), line("a", 10), line("b", 10) + &line("b", 30), "{}\n".into()] {
            fs::write(&path, &written).unwrap();
            cursor = cursor.or_else(|| Some(read_tokens(&path, None).unwrap().cursor));
            written.push_str(&text);
            fs::write(&path, &written).unwrap();
            let reading = read_tokens(&path, cursor.as_ref()).unwrap();
            cursor = Some(reading.cursor);
            added.push(reading.added);
        }
        assert_eq!(added, [11, 0, 31, 0]);
    }
}
