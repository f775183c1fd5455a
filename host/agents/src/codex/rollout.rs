//! Codex CLI's transcript ("rollout"): how a call ended, the tokens, and the calls that no hook
//! saw.
//!
//! A hook gets a command's output and not its exit code, which the transcript has by then. It also
//! has the input that an agent writes to a running command, for which the client calls no hook. It
//! is the client's internal format, may lag behind, and the agent can write to it: a line that
//! cannot be read counts nothing, and a missing call proves nothing.

use super::{PROFILE, script_names};
use crate::recorded::{RecordingState, TimedEvent, parse_time};
use crate::shown_call::ShownCall;
use crate::transcript::{MOST_BYTES, contains, for_each_line, path_in, read_new_tokens};
use portcullis_core::event::{Call, CallResult, Event, EventKind};
use portcullis_core::session::{TokenCursor, TokenReading};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// The most bytes that are read to learn how a call ended: its line is the newest or close to it.
const MOST_TAIL: u64 = 1 << 20;
/// The most calls that are returned: the newest ones.
const MOST_CALLS: usize = 1000;
/// The tool that writes to a running command: the client calls no hook for it.
const UNHOOKED: &str = "write_stdin";
/// The tool that runs a script, which calls the other tools; their hooks are called.
const SCRIPT: &str = "exec";

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    timestamp: String,
    payload: Payload,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Payload {
    /// The model calls a tool.
    FunctionCall {
        name: String,
        #[serde(default)]
        arguments: String,
        call_id: String,
    },
    /// The model calls a tool with text.
    CustomToolCall {
        name: String,
        #[serde(default)]
        input: String,
        call_id: String,
    },
    /// A call's result, as the model gets it.
    FunctionCallOutput {
        call_id: String,
        output: Value,
    },
    CustomToolCallOutput {
        call_id: String,
        output: Value,
    },
    /// A part of a turn ended.
    ItemCompleted {
        item: Item,
    },
    /// The tokens so far.
    TokenCount {
        info: Option<Usage>,
    },
    /// The person's words.
    UserMessage {
        message: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Item {
    CommandExecution {
        id: String,
        exit_code: Option<i64>,
        #[serde(default)]
        status: String,
        duration: Option<Elapsed>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Elapsed {
    secs: u64,
    nanos: u32,
}

#[derive(Deserialize)]
struct Usage {
    total_token_usage: Tokens,
    last_token_usage: Tokens,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

impl Tokens {
    /// Returns those that were not read from a cache.
    const fn spent(&self) -> u64 {
        let input = self.input_tokens.saturating_sub(self.cached_input_tokens);
        input.saturating_add(self.output_tokens)
    }
}

/// Adds to the end of a call what only the transcript says: whether it failed, and how long it
/// took.
pub(super) fn add_end(event: &mut Event, input: &[u8]) {
    let EventKind::AfterTool(call, result) = &mut event.kind else { return };
    let (Some(id), Some(path)) = (&call.id, path_in(input)) else { return };
    let mut found = None;
    // A transcript that cannot be read adds nothing.
    let _read = for_each_line(&path, MOST_TAIL, |line| {
        // The client's own line comes before any that a process appends.
        if found.is_none()
            && contains(line, b"CommandExecution")
            && contains(line, id.as_bytes())
            && let Ok(Line { payload: Payload::ItemCompleted { item }, .. }) =
                serde_json::from_slice(line)
            && let Item::CommandExecution { id: of, exit_code, status, duration } = item
            && of == *id
        {
            found = Some((exit_code.map_or(status == "failed", |code| code != 0), duration));
        }
    });
    let Some((failed, duration)) = found else { return };
    if failed && !result.failed {
        result.failed = true;
        result.error = std::mem::take(&mut result.output);
    }
    result.duration_ms = duration.map(|elapsed| {
        let ms =
            elapsed.secs.saturating_mul(1000).saturating_add(u64::from(elapsed.nanos / 1_000_000));
        u32::try_from(ms).unwrap_or(u32::MAX)
    });
}

/// Reads the tokens on from `cursor`.
///
/// # Errors
/// Fails if the transcript is not a file, or cannot be read.
pub(super) fn read_tokens(
    transcript: &Path,
    cursor: Option<&TokenCursor>,
) -> io::Result<TokenReading> {
    read_new_tokens(transcript, false, cursor, &|line, cursor| {
        if !contains(line, b"\"token_count\"") {
            return 0;
        }
        let Ok(Line { payload: Payload::TokenCount { info: Some(usage) }, .. }) =
            serde_json::from_slice(line)
        else {
            return 0;
        };
        // A line may repeat the one before it, so the total counts; the first total of a session
        // holds what was counted before.
        let total = usage.total_token_usage.spent();
        match cursor.messages.first_mut() {
            Some((_, known)) => {
                let added = total.saturating_sub(*known);
                *known = total;
                added
            }
            None => {
                cursor.messages.push((0, total));
                usage.last_token_usage.spent()
            }
        }
    })
}

/// Returns the calls without a hook that began at `since` (milliseconds since 1970) or later. A
/// script that makes such calls counts as one of them.
///
/// # Errors
/// Fails if the transcript is not a file, or cannot be read.
pub(super) fn calls(transcript: &Path, since: u64) -> io::Result<Vec<ShownCall>> {
    let mut found: Vec<ShownCall> = Vec::new();
    for_each_line(transcript, MOST_BYTES, |line| {
        if !contains(line, b"call_id") {
            return;
        }
        let Ok(Line { timestamp, payload }) = serde_json::from_slice(line) else { return };
        if let Payload::FunctionCallOutput { call_id, output }
        | Payload::CustomToolCallOutput { call_id, output } = payload
        {
            if let Some(call) = found.iter_mut().find(|call| call.id == call_id) {
                call.output = crate::payload::text_of(&output);
            }
            return;
        }
        let is_new = parse_time(&timestamp).is_none_or(|at| at >= since);
        let Some((id, input)) = unhooked_call(payload).filter(|_| is_new) else { return };
        if found.len() == MOST_CALLS {
            found.remove(0);
        }
        let tool = UNHOOKED.to_owned();
        found.push(ShownCall { id, tool, input, failed: false, output: String::new() });
    })?;
    Ok(found)
}

/// Returns the id and the parameters of a call that writes to a running command. Without input it
/// only looks at the output, which does not count.
fn unhooked_call(payload: Payload) -> Option<(String, Map<String, Value>)> {
    match payload {
        Payload::FunctionCall { name, arguments, call_id } if name == UNHOOKED => {
            let input: Map<String, Value> = serde_json::from_str(&arguments).unwrap_or_default();
            let looks = input.get("chars").and_then(Value::as_str).is_some_and(str::is_empty);
            (!looks).then_some((call_id, input))
        }
        Payload::CustomToolCall { name, input, call_id }
            if name == SCRIPT && writes_to_command(&input) =>
        {
            let input = [("script".to_owned(), Value::String(input))].into_iter().collect();
            Some((call_id, input))
        }
        _ => None,
    }
}

/// Returns true unless a script cannot mean the tool, or visibly gives it nothing but empty texts.
fn writes_to_command(script: &str) -> bool {
    if script_names::hides_a_tool(script, UNHOOKED) {
        return true;
    }
    let packed: String = script.split_whitespace().collect();
    let given = ["\"\"", "''", "``"].iter().fold(packed, |text, empty| {
        text.replace(&format!("chars:{empty}"), "").replace(&format!("\"chars\":{empty}"), "")
    });
    given.split(UNHOOKED).skip(1).any(|after| given.contains("chars") || !only_looks(after))
}

/// Returns true if a call's text after the tool's name, without white space, is that of parameters
/// without input. Parameters from elsewhere, and another name for the tool, are not understood.
fn only_looks(after: &str) -> bool {
    let parameters = after.strip_prefix("({").and_then(|rest| rest.split_once("})"));
    parameters.is_some_and(|(given, _)| !given.contains("...") && !given.contains('['))
}

/// Returns the events of one line, by the names that hooks use. The first line names the session
/// and the folder.
pub(super) fn read_line(
    object: &Map<String, Value>,
    state: &mut RecordingState,
) -> Vec<TimedEvent> {
    if object.get("type").and_then(Value::as_str) == Some("session_meta") {
        note_session(object.get("payload"), state);
        return Vec::new();
    }
    let Ok(Line { timestamp, payload }) = Line::deserialize(&Value::Object(object.clone())) else {
        return Vec::new();
    };
    let at = parse_time(&timestamp);
    let client = format!("{}-transcript", PROFILE.name);
    let (name, kind) = match payload {
        Payload::UserMessage { message } => ("UserPromptSubmit", EventKind::Prompt(message)),
        Payload::FunctionCall { name, arguments, call_id } => {
            let given: Map<String, Value> = serde_json::from_str(&arguments).unwrap_or_default();
            ("PreToolUse", EventKind::BeforeTool(hooked(call_id, name, given)))
        }
        Payload::CustomToolCall { name, input, call_id } => {
            let input = [("command".to_owned(), Value::String(input))].into_iter().collect();
            ("PreToolUse", EventKind::BeforeTool(Call { id: Some(call_id), tool: name, input }))
        }
        Payload::FunctionCallOutput { call_id, output }
        | Payload::CustomToolCallOutput { call_id, output } => {
            let text = crate::payload::text_of(&output);
            let failed = shown_code(&text).is_some_and(|code| code != 0);
            let result = |_: &Call| CallResult::from_text(text, failed);
            let event = state.end_event(&client, "PostToolUse", at, &call_id, result);
            return event.into_iter().collect();
        }
        _ => return Vec::new(),
    };
    vec![state.event(&client, name, at, kind)]
}

/// Notes the session of a recording: a copied one begins with its own name, then that of its
/// origin.
fn note_session(meta: Option<&Value>, state: &mut RecordingState) {
    let text = |key: &str| meta?.get(key)?.as_str().map(str::to_owned);
    if state.session.is_empty() {
        state.session = text("id").unwrap_or_default();
        state.cwd = text("cwd").unwrap_or_default();
    }
}

/// Returns a call as a hook sees it: the model's tool for commands has another name and other
/// parameters.
fn hooked(id: String, tool: String, mut input: Map<String, Value>) -> Call {
    if tool != "exec_command" {
        return Call { id: Some(id), tool, input };
    }
    if let Some(command) = input.shift_remove("cmd") {
        input.insert("command".into(), command);
    }
    Call { id: Some(id), tool: "Bash".into(), input }
}

/// Returns the exit code in a result as the model gets it.
fn shown_code(text: &str) -> Option<i64> {
    let begins = ["Process exited with code ", "Exit code: "];
    // The code stands at the head; below it is the command's own output.
    let mut head = text.lines().take(6);
    head.find_map(|line| {
        begins.iter().find_map(|begin| line.strip_prefix(begin)?.trim().parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn line(payload: &Value) -> String {
        format!(
            "{}\n",
            json!({"timestamp": "2026-11-26T00:47:00.650Z", "ordinal": 1, "type": "event_msg", "payload": payload})
        )
    }

    fn command(id: &str, code: i64) -> String {
        line(&json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": id,
            "status": if code == 0 { "completed" } else { "failed" }, "exit_code": code,
            "aggregated_output": "x", "duration": {"secs": 1, "nanos": 500_000_000}}}))
    }

    #[test]
    fn a_command_failed_if_the_transcript_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let forged = line(&json!({"type": "item_completed", "item": {"type": "AgentMessage",
            "text": "CommandExecution a exit_code 7"}}));
        fs::write(
            &path,
            [
                forged,
                "no json\n".into(),
                command("b", 0),
                command("a", 3),
                command("a", 0),
                command("b", 1),
            ]
            .concat(),
        )
        .unwrap();
        for (id, transcript, failed) in [
            ("a", path.clone(), true),
            ("b", path.clone(), false),
            ("c", path.clone(), false),
            ("a", folder.path().join("none"), false),
            ("a", "/dev/zero".into(), false),
        ] {
            let input = json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PostToolUse",
                "transcript_path": transcript, "tool_name": "Bash", "tool_use_id": id,
                "tool_input": {"command": "false"}, "tool_response": "Exit code: 1\n"})
            .to_string();
            let mut event = super::super::wire::parse_event(input.as_bytes()).unwrap();
            add_end(&mut event, input.as_bytes());
            let EventKind::AfterTool(_, result) = event.kind else { panic!("another event") };
            assert_eq!(result.failed, failed, "{id} {}", transcript.display());
            let shown = if failed { &result.error } else { &result.output };
            assert_eq!(shown, "Exit code: 1\n");
        }
    }

    #[test]
    fn tokens_count_once() {
        let count = |total: u64, last: u64| {
            let tokens = |spent: u64| json!({"input_tokens": spent, "cached_input_tokens": 0, "output_tokens": 0});
            line(
                &json!({"type": "token_count", "info": {"total_token_usage": tokens(total), "last_token_usage": tokens(last)}}),
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let (mut cursor, mut written, mut added) = (None, String::new(), Vec::new());
        for text in
            [count(100, 10), count(130, 30), count(130, 30), command("a", 0), count(150, 20)]
        {
            written.push_str(&text);
            fs::write(&path, &written).unwrap();
            let reading = read_tokens(&path, cursor.as_ref()).unwrap();
            cursor = Some(reading.cursor);
            added.push(reading.added);
        }
        assert_eq!(added, [0, 30, 0, 0, 20]);
    }

    #[test]
    fn input_of_a_running_command_is_a_call_that_no_hook_saw() {
        let call = |name: &str, id: &str| {
            line(
                &json!({"type": "function_call", "name": name, "call_id": id, "arguments": "{\"chars\":\"rm -rf x\\n\",\"session_id\":1}"}),
            )
        };
        let result =
            line(&json!({"type": "function_call_output", "call_id": "w", "output": "done"}));
        let look = line(
            &json!({"type": "function_call", "name": "write_stdin", "call_id": "l", "arguments": "{\"chars\":\"\"}"}),
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let script = |name: &str, id: &str, text: &str| {
            line(&json!({"type": "custom_tool_call", "name": name, "call_id": id, "input": text}))
        };
        let lines = [
            call("exec_command", "e"),
            call("write_stdin", "w"),
            look,
            result,
            script("exec", "s", "await tools.write_stdin({session_id: s.id, chars: \"x\\n\"})"),
            script("exec", "v", "const chars = text(); tools.write_stdin({session_id: 1, chars})"),
            script("exec", "o", "tools.write_stdin(options)"),
            script("exec", "d", "tools.write_stdin({session_id: 1, ...rest})"),
            script("exec", "k", "tools.write_stdin({session_id: 1, [key]: 'x'})"),
            script("exec", "b", "tools['write_stdin'](options)"),
            script("exec", "r", "const send = tools.write_stdin; send(options)"),
            script("exec", "h", "tools['write_' + 'stdin']({session_id: 1, chars: 'x'})"),
            script("exec", "t", "for (const tool of Object.values(tools)) tool(options)"),
            script("exec", "p", "tools.write_stdin({session_id: 1, chars: ''})"),
            script("exec", "n", "tools.write_stdin({session_id: 1})"),
            script("exec", "c", "tools.exec_command({cmd: 'ls'})"),
            script("apply_patch", "a", "+ tools.write_stdin({chars: 'x'})"),
            line(
                &json!({"type": "custom_tool_call_output", "call_id": "s", "output": [{"type": "input_text", "text": "typed"}]}),
            ),
        ];
        fs::write(&path, lines.concat()).unwrap();
        let found = calls(&path, 0).unwrap();
        let shown: Vec<_> =
            found.iter().map(|call| (call.id.as_str(), call.tool.as_str())).collect();
        let wanted = ["w", "s", "v", "o", "d", "k", "b", "r", "h", "t"].map(|id| (id, UNHOOKED));
        assert_eq!(shown, wanted);
        let outputs: Vec<_> = found.iter().map(|call| call.output.as_str()).collect();
        assert_eq!(outputs[0], "done");
        assert!(outputs[1].contains("typed"), "{outputs:?}");
        assert_eq!(calls(&path, u64::MAX).unwrap(), []);
    }
}
