//! Claude Code's transcript: the agent's calls, to be compared with the reviewed ones.
//!
//! The transcript is written even while no hook is called, so it can show that the guard was off
//! for a while. It is the client's internal format, may lag behind, and the agent can write to it:
//! an unreviewed call in it is a finding, and a missing call proves nothing.

use super::call_end::{call_end, is_marked, message};
use crate::shown_call::ShownCall;
use crate::transcript::{MOST_BYTES, contains, for_each_line};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;

/// The most calls that are returned.
const MOST_CALLS: usize = 1000;

/// Returns the calls that began at `since` (milliseconds since 1970) or later and ended, in order.
/// Calls that never ran, because the client does not know the tool or the parameters do not fit it,
/// are left out, and so are calls that still run.
///
/// # Errors
/// Fails if it is not a file, or cannot be read.
pub(super) fn calls(transcript: &Path, since: u64) -> io::Result<Vec<ShownCall>> {
    let mut found = Calls::default();
    for_each_line(transcript, MOST_BYTES, |line| {
        // Most lines are prompts and copies of them; only lines with these two words are worth
        // parsing.
        if [b"\"tool_use\"".as_slice(), b"\"tool_result\""].iter().any(|mark| contains(line, mark))
            && let Ok(entry) = serde_json::from_slice::<Entry>(line)
        {
            found.take(entry, since);
        }
    })?;
    Ok(found.ended())
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    content: Value,
}

#[derive(Default)]
struct Calls {
    begun: VecDeque<ShownCall>,
    /// True for each call that ran, false for each that did not; missing while unknown.
    results: HashMap<String, bool>,
}

impl Calls {
    fn take(&mut self, entry: Entry, since: u64) {
        let at = entry
            .timestamp
            .parse::<jiff::Timestamp>()
            .ok()
            .and_then(|time| u64::try_from(time.as_millisecond()).ok());
        let Some(Message { content: Value::Array(blocks) }) = entry.message else { return };
        for block in blocks {
            match (entry.kind.as_str(), block.get("type").and_then(Value::as_str)) {
                // An unreadable time is not a reason to ignore a call.
                ("assistant", Some("tool_use")) if at.is_none_or(|at| at >= since) => {
                    self.begin(&block)
                }
                ("user", Some("tool_result")) => self.end(&block),
                _ => {}
            }
        }
    }

    fn begin(&mut self, block: &Value) {
        let text =
            |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let input = block.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
        // The newest count: a long session must not hide what it does at last.
        if self.begun.len() == MOST_CALLS {
            self.begun.pop_front();
        }
        self.begun.push_back(ShownCall {
            id: text("id"),
            tool: text("name"),
            input,
            failed: false,
            output: String::new(),
        });
    }

    fn end(&mut self, block: &Value) {
        let Some(id) = block.get("tool_use_id").and_then(Value::as_str) else { return };
        let output = plain(block.get("content").unwrap_or(&Value::Null));
        let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
        let tool = self.begun.iter().rev().find(|call| call.id == id).map(|call| &*call.tool);
        let refused = failed && never_ran(tool.unwrap_or_default(), &output);
        self.results.insert(id.to_owned(), !refused);
        if let Some(call) = self.begun.iter_mut().rev().find(|call| call.id == id) {
            call.failed = failed;
            call.output = output;
        }
    }

    fn ended(self) -> Vec<ShownCall> {
        let Self { begun, results } = self;
        begun.into_iter().filter(|call| results.get(&call.id) == Some(&true)).collect()
    }
}

/// Returns true for the client's message about a call that it did not run: an unknown tool, unfit
/// parameters, or a refusal by a person, a rule or the client itself.
fn never_ran(tool: &str, output: &str) -> bool {
    /// The tool itself failed, under the client's mark.
    const FAILED: &str = "Error calling tool";
    const WORDS: &[&str] = &["InputValidationError", "No such tool available"];
    let own = is_marked(tool, output).is_some_and(|own| !own.starts_with(FAILED));
    own || call_end(tool, output).is_before_begin()
        || WORDS.iter().any(|words| message(output).starts_with(words))
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USE: &str = r#"{"type":"assistant","timestamp":"2026-11-20T10:00:00.000Z","message":{"content":[{"type":"tool_use","id":"ID","name":"Bash","input":{"command":"ls"}}]}}"#;
    const RESULT: &str = r#"{"type":"user","timestamp":"2026-11-20T10:00:01.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"ID","is_error":FAILED,"content":"OUTPUT"}]}}"#;
    const BEGUN: u64 = 1_795_168_800_000;

    fn call(id: &str) -> String {
        USE.replace("ID", id)
    }

    fn result(id: &str, failed: bool, output: &str) -> String {
        RESULT.replace("ID", id).replace("FAILED", &failed.to_string()).replace("OUTPUT", output)
    }

    fn shown(text: &str, since: u64) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, text).unwrap();
        calls(&path, since)
            .unwrap()
            .into_iter()
            .map(|call| format!("{}{}", call.id, if call.failed { " failed" } else { "" }))
            .collect()
    }

    #[test]
    fn the_newest_calls_of_a_long_session_are_shown() {
        let lines: Vec<String> = (0..MOST_CALLS + 2)
            .flat_map(|number| {
                let id = format!("c{number}");
                [call(&id), result(&id, false, "x")]
            })
            .collect();
        let found = shown(&lines.join("\n"), 0);
        assert_eq!(found.len(), MOST_CALLS);
        assert_eq!(found.first().map(String::as_str), Some("c2"));
        assert_eq!(found.last(), Some(&format!("c{}", MOST_CALLS + 1)));
    }

    #[test]
    fn calls_that_ran_are_shown() {
        let huge =
            format!("{{\"type\":\"assistant\",\"x\":\"{}\"}}", "\\\"tool_use\\\"".repeat(200_000));
        for (lines, since, expected) in [
            (vec![call("a"), result("a", false, "x")], 0, vec!["a"]),
            (vec![call("a"), result("a", true, "exit 1")], 0, vec!["a failed"]),
            (vec![call("a")], 0, vec![]),
            (vec![result("a", false, "x")], 0, vec![]),
            (
                vec![call("a"), call("b"), result("b", false, "x"), result("a", false, "x")],
                0,
                vec!["a", "b"],
            ),
            (vec![call("a"), result("a", false, "x")], BEGUN, vec!["a"]),
            (vec![call("a"), result("a", false, "x")], BEGUN + 1, vec![]),
            (
                vec![call("a").replace("2026-11-20T10", "soon"), result("a", false, "x")],
                BEGUN + 1,
                vec!["a"],
            ),
            (
                vec![call("a"), result("a", true, "<tool_use_error>InputValidationError: no")],
                0,
                vec![],
            ),
            (
                vec![
                    call("a"),
                    result("a", true, "<tool_use_error>Error: No such tool available: X"),
                ],
                0,
                vec![],
            ),
            (
                vec![
                    call("a"),
                    result("a", true, "<tool_use_error>Blocked: sleep 30. Use Monitor"),
                ],
                0,
                vec![],
            ),
            (
                vec![call("a"), result("a", true, "<tool_use_error>Error calling tool (Bash): x")],
                0,
                vec!["a failed"],
            ),
            (
                vec![
                    call("a").replace("Bash", "mcp__db__drop"),
                    result("a", true, "<tool_use_error>Blocked: I ran"),
                ],
                0,
                vec!["a failed"],
            ),
            (
                vec![call("a"), result("a", false, "InputValidationError is only a word here")],
                0,
                vec!["a"],
            ),
            (
                vec![
                    "not json \"tool_use\"".into(),
                    "{\"tool_use\"".into(),
                    huge,
                    call("a"),
                    result("a", false, "x"),
                ],
                0,
                vec!["a"],
            ),
            (vec![], 0, vec![]),
        ] {
            assert_eq!(shown(&lines.join("\n"), since), expected, "{lines:?} since {since}");
        }
    }

    #[test]
    fn the_end_of_a_long_transcript_is_read() {
        let filler = format!("{}\n", "x".repeat(1000)).repeat(9000);
        let text = format!(
            "{}\n{}\n{filler}{}\n{}\n",
            call("early"),
            result("early", false, "x"),
            call("late"),
            result("late", false, "x")
        );
        assert_eq!(shown(&text, 0), ["late"]);
    }

    #[test]
    fn anything_but_a_file_is_an_error() {
        for path in ["/dev/zero", "/nonexistent", "/"] {
            assert!(calls(Path::new(path), 0).is_err(), "{path}");
        }
    }
}
