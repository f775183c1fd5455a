//! Tokens in Claude Code's transcript, read on from the place where the last event left off.
//!
//! Each line of an answer repeats the usage of its message so far, so a message counts once, with
//! the greatest figure. Tokens that the model read from its cache were counted when they were
//! written to it. The transcript is the client's internal format, lags behind, and the agent can
//! write to it: a line that cannot be read counts nothing.

use crate::transcript::{contains, read_new_tokens};
use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_core::text::hash_parts;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// The most messages that can still grow.
const MOST_MESSAGES: usize = 8;
/// The part of a line that has the usage of a message.
const MARK: &[u8] = b"\"usage\"";

/// Returns the transcript of the acting agent: the session's own, or a subagent's beside it.
pub(super) fn find_transcript(session: &Path, agent: Option<&str>) -> Option<PathBuf> {
    let Some(agent) = agent else { return Some(session.to_owned()) };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = format!("agent-{agent}.jsonl");
    agent.chars().all(plain).then(|| session.with_extension("").join("subagents").join(name))
}

/// Reads on from `cursor`. Without one, or in another file than before, or in one that became
/// shorter, the count begins at the end of a session's transcript, and at the beginning of a
/// subagent's.
///
/// # Errors
/// Fails if it is not a file, or cannot be read.
pub(super) fn read_tokens(
    transcript: &Path,
    subagent: bool,
    cursor: Option<&TokenCursor>,
) -> io::Result<TokenReading> {
    read_new_tokens(transcript, subagent, cursor, &|line, cursor| {
        if !contains(line, MARK) {
            return 0;
        }
        serde_json::from_slice::<Line>(line)
            .map_or(0, |line| count_line(line, &mut cursor.messages))
    })
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: String,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// Returns the tokens that a line adds to those of its message.
fn count_line(line: Line, messages: &mut Vec<(u64, u64)>) -> u64 {
    let Some(Message { id, usage: Some(usage) }) =
        line.message.filter(|_| line.kind == "assistant")
    else {
        return 0;
    };
    let parts = [usage.input_tokens, usage.output_tokens, usage.cache_creation_input_tokens];
    let spent = parts.into_iter().flatten().fold(0_u64, u64::saturating_add);
    if id.is_empty() {
        return spent;
    }
    let id = hash_parts(&[&id]);
    if let Some((_, known)) = messages.iter_mut().find(|(known, _)| *known == id) {
        let added = spent.saturating_sub(*known);
        *known = spent.max(*known);
        return added;
    }
    messages.push((id, spent));
    let excess = messages.len().saturating_sub(MOST_MESSAGES);
    messages.drain(..excess);
    spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(id: &str, input: u64, output: u64) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":{input},\"output_tokens\":{output},\"cache_creation_input_tokens\":1,\"cache_read_input_tokens\":1000}}}}}}\n"
        )
    }

    /// Appends each text to a transcript, and returns the tokens that each reading after it adds.
    fn readings(subagent: bool, texts: &[&str]) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let (mut cursor, mut written) = (None, String::new());
        texts
            .iter()
            .map(|text| {
                // A text that begins with `=` replaces all of it.
                match text.strip_prefix('=') {
                    Some(text) => written = text.to_owned(),
                    None => written.push_str(text),
                }
                fs::write(&path, &written).unwrap();
                let reading = read_tokens(&path, subagent, cursor.as_ref()).unwrap();
                cursor = Some(reading.cursor);
                reading.added
            })
            .collect()
    }

    #[test]
    fn each_message_counts_once() {
        let (a, b) = (line("a", 10, 5), line("b", 20, 5));
        let (grown, torn) = (line("a", 10, 9), b.split_at(30));
        let user = b.replace("assistant", "user");
        let (replaced, nameless) = (["=", a.as_str()].concat(), line("", 1, 1));
        let cases: [(bool, Vec<&str>, Vec<u64>); 9] = [
            (false, vec!["", &a], vec![0, 16]),
            (false, vec![&a, &b], vec![0, 26]),
            (true, vec![&a, &b], vec![16, 26]),
            (false, vec!["", &a, &a, &grown, &a, &b], vec![0, 16, 0, 4, 0, 26]),
            (false, vec!["", torn.0, torn.1, ""], vec![0, 0, 26, 0]),
            (false, vec!["", &user, "no json \"usage\"\n", &a], vec![0, 0, 0, 16]),
            // A shorter file is another one: its lines were counted, or are not of this prompt.
            (false, vec!["", &a, &b, &replaced, &b], vec![0, 16, 26, 0, 26]),
            (true, vec!["=", &a], vec![0, 16]),
            (false, vec!["", &nameless, &nameless], vec![0, 3, 3]),
        ];
        for (subagent, texts, expected) in cases {
            assert_eq!(readings(subagent, &texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_long_backlog_is_read_in_parts() {
        let filler = format!("{{\"type\":\"user\",\"x\":\"{}\"}}\n", "x".repeat(700_000));
        let long =
            format!("{}{filler}{}{filler}{}", line("a", 1, 1), line("b", 1, 1), line("c", 1, 1));
        let vast = format!("{}\n{}", "y".repeat(3 << 20), line("d", 1, 1));
        assert_eq!(readings(true, &[&long, "", ""]), [6, 3, 0]);
        assert_eq!(readings(true, &[&vast, "", "", "", ""]).iter().sum::<u64>(), 3);
    }

    #[test]
    fn only_files_are_read() {
        for path in ["/dev/zero", "/"] {
            assert!(read_tokens(Path::new(path), false, None).is_err(), "{path}");
        }
        let missing = read_tokens(Path::new("/nonexistent/t.jsonl"), false, None).unwrap();
        assert_eq!((missing.added, missing.cursor.offset), (0, 0));
    }

    #[test]
    fn a_subagent_has_a_transcript_of_its_own() {
        let session = Path::new("/p/s.jsonl");
        for (agent, expected) in [
            (None, Some("/p/s.jsonl")),
            (Some("a1"), Some("/p/s/subagents/agent-a1.jsonl")),
            (Some("../a1"), None),
        ] {
            let found = find_transcript(session, agent);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{agent:?}");
        }
    }
}
