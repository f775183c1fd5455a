//! Events that are unreadable, or nearly so.

use super::{Case, Recorded};
use crate::common::reply::Answer;
use crate::common::site::Site;
use serde_json::{Value, json};

const BASH: &str = r#"{"session_id":"bad","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

pub fn cases() -> Vec<Case> {
    [unreadable(), informed(), odd()].into_iter().flatten().collect()
}

/// An event that might have been a call is refused, and a record says why.
fn unreadable() -> Vec<Case> {
    let nested = |depth: usize| {
        format!(
            r#"{{"hook_event_name":"PreToolUse","session_id":"bad","x":{}1{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let field = |key: &str, value: Value| {
        let mut event: Value = serde_json::from_str(BASH).unwrap();
        match value {
            Value::Null => drop(event.as_object_mut().unwrap().remove(key)),
            value => event[key] = value,
        }
        event.to_string()
    };
    let rows: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("no input", vec![], &["standard input is empty", "expected one JSON object"]),
        ("white space", b" \n\t\n".to_vec(), &["standard input is empty"]),
        ("truncated JSON", BASH[..BASH.len() - 9].into(), &["not valid JSON", "EOF"]),
        ("only a brace", b"{".to_vec(), &["not valid JSON"]),
        ("text", b"rm -rf /".to_vec(), &["not valid JSON", "line 1 column 1"]),
        ("a list", b"[1]".to_vec(), &["not an object"]),
        ("two documents", format!("{BASH}{BASH}").into_bytes(), &["not valid JSON", "trailing"]),
        ("nested 1,000 deep", nested(1_000).into_bytes(), &["not valid JSON", "recursion limit"]),
        ("nested 1,000,000 deep", nested(1_000_000).into_bytes(), &["more than 500000 values"]),
        (
            "invalid UTF-8",
            BASH.replace("ls", "\u{e9}")
                .into_bytes()
                .into_iter()
                .filter(|byte| *byte != 0xc3)
                .collect(),
            &["not valid JSON"],
        ),
        ("a lone surrogate", BASH.replace("ls", r"\ud800").into_bytes(), &["not valid JSON"]),
        (
            "20 MB",
            field("tool_input", json!({ "content": "x".repeat(20_000_000) })).into_bytes(),
            &["larger than 16 MiB"],
        ),
        (
            "2,000,000 values",
            field("tool_input", json!({ "x": vec![0; 2_000_000] })).into_bytes(),
            &["more than 500000 values"],
        ),
        ("20 MB of nothing", vec![0; 20_000_000], &["larger than 16 MiB"]),
        (
            "no session id",
            field("session_id", Value::Null).into_bytes(),
            &["`session_id` is missing"],
        ),
        (
            "a session id that is a number",
            field("session_id", json!(5)).into_bytes(),
            &["`session_id` must be a string, not a number"],
        ),
        (
            "an empty session id",
            field("session_id", json!("")).into_bytes(),
            &["`session_id` must have 1 to 256 bytes"],
        ),
        (
            "a session id of 300 bytes",
            field("session_id", json!("s".repeat(300))).into_bytes(),
            &["`session_id` must have 1 to 256 bytes"],
        ),
        (
            "no event name",
            field("hook_event_name", Value::Null).into_bytes(),
            &["`hook_event_name` is missing"],
        ),
        (
            "an event name that is a list",
            field("hook_event_name", json!([])).into_bytes(),
            &["`hook_event_name` must be a string"],
        ),
        ("no tool name", field("tool_name", Value::Null).into_bytes(), &["`tool_name` is missing"]),
        (
            "a tool name that is an object",
            field("tool_name", json!({})).into_bytes(),
            &["`tool_name` must be a string, not an object"],
        ),
        (
            "an empty tool name",
            field("tool_name", json!("")).into_bytes(),
            &["`tool_name` must have 1 to 256 bytes"],
        ),
        (
            "a tool input that is a list",
            field("tool_input", json!(["ls"])).into_bytes(),
            &["`tool_input` must be an object, not an array"],
        ),
        (
            "a tool input that is text",
            field("tool_input", json!("ls")).into_bytes(),
            &["`tool_input` must be an object, not a string"],
        ),
        (
            "a folder that is a number",
            field("cwd", json!(1)).into_bytes(),
            &["`cwd` must be a string"],
        ),
        (
            "a call id that is a number",
            field("tool_use_id", json!(1)).into_bytes(),
            &["`tool_use_id` must be a string"],
        ),
        (
            "an agent id that is true",
            field("agent_id", json!(true)).into_bytes(),
            &["`agent_id` must be a string, not a boolean"],
        ),
    ];
    rows.into_iter()
        .map(|(name, bytes, says)| {
            given(name, "", bytes)
                .answers(Answer::Refused, says)
                .recorded(Recorded::Fault("bad-input"))
        })
        .collect()
}

/// Events that cannot be refused: the person is informed.
fn informed() -> Vec<Case> {
    let event = |name: &str, more: &str| {
        format!(r#"{{"hook_event_name":"{name}","session_id":"bad"{more}}}"#).into_bytes()
    };
    let rows: Vec<(&str, &str, Vec<u8>, &[&str])> = vec![
        (
            "a result that breaks off",
            "PostToolUse",
            event("PostToolUse", r#","tool_name":"Bash","tool_response":{"stdout":"#),
            &["not valid JSON"],
        ),
        (
            "a result without a tool",
            "PostToolUse",
            event("PostToolUse", ""),
            &["`tool_name` is missing"],
        ),
        (
            "a failure of a tool that is 7",
            "PostToolUseFailure",
            event("PostToolUseFailure", r#","tool_name":7"#),
            &["`tool_name` must be"],
        ),
        (
            "a batch that is text",
            "PostToolBatch",
            event("PostToolBatch", r#","tool_calls":"none""#),
            &["`tool_calls` must be an array"],
        ),
        (
            "a batch of numbers",
            "PostToolBatch",
            event("PostToolBatch", r#","tool_calls":[{"tool_name":"Read"},4]"#),
            &["`tool_calls[1]` must be an object"],
        ),
        ("no prompt", "UserPromptSubmit", event("UserPromptSubmit", ""), &["`prompt` is missing"]),
        (
            "a prompt that is a list",
            "UserPromptSubmit",
            event("UserPromptSubmit", r#","prompt":["x"]"#),
            &["`prompt` must be a string"],
        ),
        (
            "a source that is 1",
            "SessionStart",
            event("SessionStart", r#","source":1"#),
            &["`source` must be a string"],
        ),
        (
            "a reason that is 1",
            "SessionEnd",
            event("SessionEnd", r#","reason":1"#),
            &["`reason` must be a string"],
        ),
    ];
    let case = |(name, event, bytes, says): (&str, _, _, &[&'static str])| {
        given(name, event, bytes)
            .answers(Answer::Informed, says)
            .recorded(Recorded::Fault("bad-input"))
    };
    let settings = given(
        "settings in a file that is 1",
        "ConfigChange",
        event("ConfigChange", r#","source":"user_settings","file_path":1"#),
    )
    .answers(Answer::Held, &["`file_path` must be a string"])
    .recorded(Recorded::Fault("bad-input"));
    rows.into_iter().map(case).chain([settings]).collect()
}

/// Strange but valid events.
fn odd() -> Vec<Case> {
    let of = |name: &str, event: &'static str, make: fn(&Site) -> Value| Case {
        event,
        input: Box::new(move |site| make(site).to_string().into_bytes()),
        ..Case::new(name, |_| Ok(()))
    };
    let reviewed = Recorded::Clean("review");
    vec![
        of("an event that nobody knows", "Unheard", |site| site.calls("bad").event("Unheard", json!({"tool_name": 3})))
            .answers(Answer::Quiet, &[]),
        of("an event for others", "Notification", |site| site.calls("bad").event("Notification", json!({"message": "hello"})))
            .answers(Answer::Quiet, &[]),
        of("an unknown tool", "PreToolUse", |site| site.calls("bad").before("1", "Frobnicate", json!({"how": "well"})))
            .answers(Answer::Informed, &["Frobnicate"])
            .recorded(reviewed),
        of("a known tool without its input", "PreToolUse", |site| site.calls("bad").before("1", "Bash", Value::Null))
            .answers(Answer::Informed, &["warns"])
            .recorded(reviewed),
        of("a command that is a number", "PreToolUse", |site| site.calls("bad").before("1", "Bash", json!({"command": 7})))
            .answers(Answer::Informed, &["warns"])
            .recorded(reviewed),
        of("a path that is a list", "PreToolUse", |site| {
            site.calls("bad").before("1", "Write", json!({"file_path": ["a"], "content": "b"}))
        })
        .answers(Answer::Informed, &["warns"])
        .recorded(reviewed),
        of("15 MB", "PreToolUse", |site| {
            site.calls("bad").before("1", "Write", json!({"file_path": site.project().join("large"), "content": "x".repeat(15_000_000)}))
        })
        .answers(Answer::Informed, &["Not understood", "more than 64 KiB"])
        .recorded(reviewed),
        of("many commas", "PreToolUse", |site| {
            site.calls("bad").before(
                "1",
                "Write",
                json!({"file_path": site.project().join("commas"), "content": "\",[{\\".repeat(300_000)}),
            )
        })
        .answers(Answer::Informed, &["Not understood", "more than 64 KiB"])
        .recorded(reviewed),
        of("a command of 900 KB", "PreToolUse", |site| site.calls("bad").bash("1", &format!("echo {}", "x ".repeat(450_000))))
            .answers(Answer::Asked, &["Not read to its end", "more than 64 KiB"])
            .recorded(Recorded::Review("out-of-fuel")),
        of("substitutions 10,000 deep", "PreToolUse", |site| site.calls("bad").bash("1", &"$(".repeat(10_000)))
            .answers(Answer::Asked, &["Not read to its end", "nested too deeply"])
            .recorded(reviewed),
        of("control characters", "PreToolUse", |site| site.calls("bad").bash("1", "echo '\u{1b}[2J\u{0}\r\n'"))
            .answers(Answer::Quiet, &[])
            .recorded(reviewed),
    ]
}

fn given(name: &str, event: &'static str, bytes: Vec<u8>) -> Case {
    Case { event, input: Box::new(move |_| bytes.clone()), ..Case::new(name, |_| Ok(())) }
}
