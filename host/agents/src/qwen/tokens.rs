//! Tokens in Qwen Code's transcript, read on from the place where the last event left off. It is
//! the client's internal format, lags behind, and the agent can write to it: a line that cannot be
//! read counts nothing.

use crate::transcript::{contains, read_new_tokens};
use portcullis_core::session::{TokenCursor, TokenReading};
use serde::Deserialize;
use std::io;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "usageMetadata")]
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    prompt_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
    cached_content_token_count: u64,
}

impl Usage {
    /// Returns those that were not read from a cache.
    const fn spent(&self) -> u64 {
        let input = self.prompt_token_count.saturating_sub(self.cached_content_token_count);
        let output = self.candidates_token_count.saturating_add(self.thoughts_token_count);
        input.saturating_add(output)
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
    read_new_tokens(transcript, false, cursor, &|line, _| {
        if !contains(line, b"\"usageMetadata\"") {
            return 0;
        }
        match serde_json::from_slice::<Line>(line) {
            Ok(line) if line.kind == "assistant" => line.usage.spent(),
            _ => 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn answers_count_once_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let line = |kind: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"usageMetadata\":{{\"promptTokenCount\":10,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":5}}}}\n"
            )
        };
        fs::write(&path, "").unwrap();
        let begin = read_tokens(&path, None).unwrap().cursor;
        fs::write(&path, line("assistant") + &line("system") + &line("assistant")).unwrap();
        assert_eq!(read_tokens(&path, Some(&begin)).unwrap().added, 22);
    }
}
