//! Claude's wire format, both ways: inputs that are read or refused, and their messages here;
//! answers in `replies`.

mod replies;

use crate::harness::event;
use portcullis_agents::claude::wire::{self as claude, MAX_INPUT};
use portcullis_core::event::EventKind;
use serde_json::{Value, json};

const CALLS: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];
const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "ConfigChange",
];

/// Returns every event with every field that it may have.
fn whole(name: &str) -> Value {
    event(
        name,
        match name {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => {
                json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1", "tool_response": "ok", "error": "Exit code 1\nbad",
                       "permission_mode": "default", "agent_id": "a1"})
            }
            "PostToolBatch" => {
                json!({"tool_calls": [{"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t1", "tool_response": "ok"}]})
            }
            "UserPromptSubmit" => json!({"prompt": "fix it"}),
            "SessionStart" => json!({"source": "startup"}),
            "SessionEnd" => json!({"reason": "other"}),
            "SubagentStart" | "SubagentStop" => {
                json!({"agent_id": "a1", "agent_type": "general-purpose"})
            }
            "ConfigChange" => {
                json!({"source": "project_settings", "file_path": "/x/settings.json"})
            }
            _ => json!({}),
        },
    )
}

fn problem(payload: &Value) -> Option<String> {
    claude::parse_event(payload.to_string().as_bytes()).err().map(|error| error.problem)
}

#[test]
fn every_event_is_read() {
    for name in EVENTS {
        let event = claude::parse_event(whole(name).to_string().as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (event.name.as_str(), event.session.as_str(), event.cwd.as_str()),
            (*name, "s1", crate::harness::CWD)
        );
        let as_expected = match (*name, &event.kind) {
            ("PreToolUse", EventKind::BeforeTool(call)) => {
                call.tool == "Bash" && call.id.as_deref() == Some("t1")
            }
            ("PostToolUse", EventKind::AfterTool(_, result)) => {
                !result.failed && result.output == "ok"
            }
            ("PostToolUseFailure", EventKind::AfterTool(_, result)) => {
                result.failed && result.error.starts_with("Exit code 1")
            }
            ("PostToolBatch", EventKind::AfterBatch(calls)) => calls.len() == 1,
            ("UserPromptSubmit", EventKind::Prompt(text)) => text == "fix it",
            ("SessionStart", EventKind::SessionStart { source }) => source == "startup",
            ("SessionEnd", EventKind::SessionEnd { reason }) => reason == "other",
            ("SubagentStart", EventKind::SubagentStart { agent_type }) => {
                agent_type == "general-purpose"
            }
            ("ConfigChange", EventKind::ConfigChange { source, file }) => {
                source == "project_settings" && file.is_some()
            }
            ("Stop", EventKind::Stop) | ("SubagentStop", EventKind::SubagentStop) => true,
            _ => false,
        };
        assert!(as_expected, "{name}: {:?}", event.kind);
    }
}

#[test]
fn every_field_of_the_wrong_type_is_named() {
    let wrong: &[(Value, &str)] = &[
        (json!(5), "a number"),
        (json!(true), "a boolean"),
        (json!([]), "an array"),
        (json!({}), "an object"),
        (json!("text"), "a string"),
    ];
    let mut fields: Vec<(&str, &str, &str)> = Vec::new();
    for name in EVENTS {
        fields.extend(
            [
                ("session_id", "string"),
                ("cwd", "string"),
                ("permission_mode", "string"),
                ("agent_id", "string"),
            ]
            .map(|(f, t)| (*name, f, t)),
        );
    }
    for name in CALLS {
        fields.extend(
            [("tool_name", "string"), ("tool_use_id", "string"), ("tool_input", "object")]
                .map(|(f, t)| (*name, f, t)),
        );
    }
    fields.extend([
        ("PostToolBatch", "tool_calls", "array"),
        ("UserPromptSubmit", "prompt", "string"),
        ("SessionStart", "source", "string"),
        ("SessionEnd", "reason", "string"),
        ("SubagentStart", "agent_type", "string"),
        ("ConfigChange", "source", "string"),
        ("ConfigChange", "file_path", "string"),
    ]);
    for (name, field, right) in fields {
        for (value, type_name) in wrong.iter().filter(|(_, type_name)| !type_name.ends_with(right))
        {
            let mut payload = whole(name);
            payload[field] = value.clone();
            let found = problem(&payload).unwrap_or_default();
            assert!(
                found.contains(&format!("`{field}`")) && found.contains(type_name),
                "{name}.{field} as {type_name}: {found:?}"
            );
        }
    }
    let mut payload = whole("Stop");
    payload["hook_event_name"] = json!(7);
    assert!(problem(&payload).is_some_and(|found| found.contains("`hook_event_name`")));
}

#[test]
fn missing_event_parts_are_reported() {
    let mut needed: Vec<(&str, &str)> = EVENTS
        .iter()
        .flat_map(|name| [(*name, "session_id"), (*name, "hook_event_name")])
        .collect();
    needed.extend(CALLS.iter().map(|name| (*name, "tool_name")));
    needed.push(("UserPromptSubmit", "prompt"));
    for (name, field) in needed {
        let found = problem(&crate::harness::without(field, whole(name))).unwrap_or_default();
        assert_eq!(found, format!("`{field}` is missing"), "{name}");
        let mut payload = whole(name);
        payload[field] = Value::Null;
        assert_eq!(
            problem(&payload).unwrap_or_default(),
            format!("`{field}` is missing"),
            "{name}: null is missing too"
        );
    }
    for (name, field) in [
        ("PreToolUse", "tool_input"),
        ("PreToolUse", "tool_use_id"),
        ("PostToolBatch", "tool_calls"),
        ("Stop", "cwd"),
        ("ConfigChange", "file_path"),
    ] {
        assert_eq!(
            problem(&crate::harness::without(field, whole(name))),
            None,
            "{name} without {field}"
        );
    }
}

#[test]
fn every_field_has_its_bound() {
    for (name, field, most) in [
        ("Stop", "session_id", 256),
        ("PreToolUse", "agent_id", 256),
        ("PreToolUse", "tool_name", 256),
        ("PreToolUse", "tool_use_id", 256),
        ("PreToolUse", "cwd", 4096),
    ] {
        for (length, fits) in [(most, true), (most + 1, false), (1 << 20, false)] {
            let mut payload = whole(name);
            payload[field] = "x".repeat(length).into();
            let found = problem(&payload);
            assert_eq!(found.is_none(), fits, "{name}.{field} of {length} bytes: {found:?}");
            assert!(found.is_none_or(|found| found.contains(&format!("`{field}`"))), "{field}");
        }
    }
    for (name, field) in [("Stop", "session_id"), ("PreToolUse", "tool_name")] {
        let mut payload = whole(name);
        payload[field] = "".into();
        assert!(
            problem(&payload).is_some_and(|found| found.contains(&format!("`{field}`"))),
            "an empty {field}"
        );
    }
}

#[test]
fn entries_of_a_batch_are_named_by_their_place() {
    for (entry, names) in [
        (json!(5), "`tool_calls[1]` must be an object"),
        (json!({"tool_input": {}}), "in `tool_calls[1]`: `tool_name` is missing"),
        (
            json!({"tool_name": "x", "tool_input": "y"}),
            "in `tool_calls[1]`: `tool_input` must be an object",
        ),
    ] {
        let payload = event("PostToolBatch", json!({"tool_calls": [{"tool_name": "Bash"}, entry]}));
        assert!(
            problem(&payload).is_some_and(|found| found.contains(names)),
            "{names}: {:?}",
            problem(&payload)
        );
    }
}

/// A case: the bytes, the problem's text, and the event and session that could still be read.
type Bad = (&'static str, Vec<u8>, &'static str, Option<&'static str>, Option<&'static str>);

#[test]
fn bytes_that_are_no_event_are_refused_by_name() {
    let good = whole("PreToolUse").to_string();
    let (pre, s1) = (Some("PreToolUse"), Some("s1"));
    let deep = |depth: usize| {
        let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":{nested}}}}}"#)
            .into_bytes()
    };
    let large = |length: usize| {
        let mut bytes = good.clone().into_bytes();
        bytes.resize(length, b' ');
        bytes
    };
    let cases: Vec<Bad> = vec![
        ("nothing", vec![], "is empty", None, None),
        ("white space", b" \n\t\r\n".to_vec(), "is empty", None, None),
        ("truncated", good.as_bytes()[..good.len() - 4].to_vec(), "not valid JSON", pre, s1),
        ("truncated in the name", br#"{"session_id":"s1","hook_event_name":"PreToo"#.to_vec(), "not valid JSON", None, s1),
        ("nested 100,000 deep", deep(100_000), "recursion limit", pre, s1),
        ("nested 128 deep", deep(128), "recursion limit", pre, s1),
        ("a byte too many", large(MAX_INPUT + 1), "larger than 16 MiB", pre, s1),
        (
            "invalid UTF-8",
            good.replace("ls", "\u{1}").bytes().map(|byte| if byte == 1 { 0xff } else { byte }).collect(),
            "not valid JSON",
            pre,
            s1,
        ),
        ("an array", format!("[{good}]").into_bytes(), "not an object", pre, s1),
        ("a string", b"\"PreToolUse\"".to_vec(), "not an object", None, None),
        ("a number", b"42".to_vec(), "not an object", None, None),
        ("null", b"null".to_vec(), "not an object", None, None),
        ("two objects", format!("{good}{good}").into_bytes(), "not valid JSON", pre, s1),
        ("text after it", format!("{good} x").into_bytes(), "not valid JSON", pre, s1),
        ("a NUL after it", format!("{good}\0").into_bytes(), "not valid JSON", pre, s1),
        ("a byte order mark", format!("\u{feff}{good}").into_bytes(), "not valid JSON", pre, s1),
        ("UTF-16", good.encode_utf16().flat_map(u16::to_le_bytes).collect(), "not valid JSON", None, None),
        ("a raw NUL in a text", good.replace("ls", "l\0s").into_bytes(), "not valid JSON", pre, s1),
        ("a number past all bounds", good.replace("\"ls\"", "1e999").into_bytes(), "not valid JSON", pre, s1),
        ("an empty tool name", good.replace("\"Bash\"", "\"\"").into_bytes(), "`tool_name` must have 1 to 256 bytes", pre, s1),
        ("a huge session id", good.replace("s1", &"s".repeat(100_000)).into_bytes(), "`session_id` must have 1 to 256 bytes", pre, None),
        (
            "two names, unreadable",
            br#"{"hook_event_name":"Stop","x":{"hook_event_name":"PreToolUse"},"#.to_vec(),
            "not valid JSON",
            None,
            None,
        ),
        (
            "the name in a parameter is not the event's",
            br#"{"tool_input":{"hook_event_name":"Stop","session_id":"other"},"session_id":5,"hook_event_name":"PreToolUse"}"#.to_vec(),
            "`session_id` must be a string",
            pre,
            None,
        ),
    ];
    for (name, bytes, says, event, session) in cases {
        let error = claude::parse_event(&bytes).expect_err(name);
        assert!(error.problem.contains(says), "{name}: {}", error.problem);
        assert_eq!((error.event.as_deref(), error.session.as_deref()), (event, session), "{name}");
        assert!(
            !error.problem.contains('\n') && !error.problem.ends_with('.'),
            "{name}: one line without a period: {}",
            error.problem
        );
    }
    assert!(claude::parse_event(&large(MAX_INPUT)).is_ok(), "just large enough");
    assert!(claude::parse_event(&deep(100)).is_ok(), "just deep enough");
}

#[test]
fn odd_but_readable_input_is_read() {
    let name = |payload: Value| {
        claude::parse_event(payload.to_string().as_bytes()).map(|event| event.kind)
    };
    assert_eq!(
        name(event("Teleported", json!({"tool_input": 5}))),
        Ok(EventKind::Other),
        "an event that nobody knows"
    );
    assert_eq!(name(event("pretooluse", json!({}))), Ok(EventKind::Other), "names are exact");
    let twice = br#"{"session_id":"s1","hook_event_name":"Stop","hook_event_name":"PreToolUse","tool_name":"Bash"}"#;
    assert!(
        matches!(claude::parse_event(twice).map(|event| event.kind), Ok(EventKind::BeforeTool(_))),
        "of two equal keys the last counts"
    );
    let tagged = event(
        "PreToolUse",
        json!({"tool_name": "x\u{0}\u{1b}[2J", "tool_input": null, "agent_id": ""}),
    );
    let read =
        claude::parse_event(tagged.to_string().as_bytes()).expect("control characters are text");
    assert_eq!(read.agent, None, "an empty agent id is none");
}

/// A case: the event's fields, and failed, error, output, duration and tokens.
type ResultCase =
    (&'static str, Value, (bool, &'static str, &'static str, Option<u32>, Option<u32>));

#[test]
fn results_become_text() {
    let cases: Vec<ResultCase> = vec![
        (
            "PostToolUse",
            json!({"tool_response": {"stdout": "a", "stderr": "b"}, "duration_ms": 7.9}),
            (false, "", "a\nb", Some(7), None),
        ),
        (
            "PostToolUse",
            json!({"tool_response": {"stdout": "", "stderr": ""}}),
            (false, "", "", None, None),
        ),
        (
            "PostToolUse",
            json!({"tool_response": "plain", "duration_ms": -1}),
            (false, "", "plain", None, None),
        ),
        (
            "PostToolUse",
            json!({"tool_response": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            (false, "", "a\nb", None, None),
        ),
        (
            "PostToolUse",
            json!({"tool_response": {"content": [{"text": "deep"}], "totalTokens": 12}}),
            (false, "", "deep", None, Some(12)),
        ),
        (
            "PostToolUse",
            json!({"tool_response": {"x": 1}, "duration_ms": "soon"}),
            (false, "", "{\"x\":1}", None, None),
        ),
        ("PostToolUse", json!({"duration_ms": 1e300}), (false, "", "", Some(u32::MAX), None)),
        (
            "PostToolUse",
            json!({"tool_response": {"content": "x", "totalTokens": 5_000_000_000_u64}}),
            (false, "", "x", None, None),
        ),
        (
            "PostToolUseFailure",
            json!({"error": "Exit code 2\nno"}),
            (true, "Exit code 2\nno", "", None, None),
        ),
        (
            "PostToolUseFailure",
            json!({"is_interrupt": true}),
            (true, "interrupted", "", None, None),
        ),
        (
            "PostToolUseFailure",
            json!({"error": {"content": "typed"}}),
            (true, "typed", "", None, None),
        ),
        (
            "PostToolUseFailure",
            json!({"tool_response": "instead"}),
            (true, "instead", "", None, None),
        ),
    ];
    for (name, extra, expected) in cases {
        let mut payload = event(name, json!({"tool_name": "Bash"}));
        payload.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
        let EventKind::AfterTool(_, found) =
            claude::parse_event(payload.to_string().as_bytes()).unwrap().kind
        else {
            panic!("{name}")
        };
        assert_eq!(
            (
                found.failed,
                found.error.as_str(),
                found.output.as_str(),
                found.duration_ms,
                found.tokens
            ),
            expected,
            "{extra}"
        );
    }
}

#[test]
fn a_batch_tells_refused_calls_from_ended_ones() {
    let entry = |response: &str| json!({"tool_name": "Teleport", "tool_input": {}, "tool_use_id": "t1", "tool_response": response});
    let error = "<tool_use_error>Error: No such tool available: Teleport</tool_use_error>";
    for (response, failed, error, output) in
        [(error, true, error, ""), ("it went well", false, "", "it went well")]
    {
        let payload = event("PostToolBatch", json!({"tool_calls": [entry(response)]}));
        let EventKind::AfterBatch(calls) =
            claude::parse_event(payload.to_string().as_bytes()).unwrap().kind
        else {
            panic!("a batch")
        };
        let result = &calls[0].1;
        assert_eq!(
            (result.failed, result.error.as_str(), result.output.as_str()),
            (failed, error, output)
        );
    }
}
