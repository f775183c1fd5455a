//! A secret, however it arrives, is in no record, no answer and no state, and no plugin sees it.

use crate::harness::{World, by, event, failed, post, pre, prompt, reading, token};
use portcullis_core::action::{Coverage, Word};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::mask::PLACEHOLDER;
use portcullis_core::plugins::Identity;
use portcullis_core::policy::Mode;
use serde_json::{Value, json};

/// Checks that nothing that outlives the event, or leaves the host, contains any of these.
fn assert_hidden(world: &World, name: &str, parts: &[&str]) {
    let states: Vec<u8> =
        world.session.iter().chain(world.agents.values()).flatten().copied().collect();
    let places = [
        ("journal", world.documents().concat()),
        ("answers", world.replies.clone()),
        ("plugins", world.plugins.shown.clone()),
        ("state", String::from_utf8_lossy(&states).into_owned()),
    ];
    for (place, text) in places {
        for part in parts {
            let found = text
                .find(part)
                .map(|at| text[at.saturating_sub(60)..].chars().take(160).collect::<String>());
            assert_eq!(found, None, "{name}: `{part}` is in the {place}");
        }
    }
}

#[test]
fn a_secret_is_nowhere() {
    let token = token();
    let command = |text: String| json!({ "command": text });
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("in a command", vec![pre("Bash", command(format!("push --token {token}")), "t1")]),
        ("in a path", vec![pre("Read", json!({"file_path": format!("/tmp/{token}/x")}), "t1")]),
        (
            "in content",
            vec![pre(
                "Write",
                json!({"file_path": "a", "content": format!("key = {token}\n")}),
                "t1",
            )],
        ),
        (
            "in an edit",
            vec![pre(
                "Edit",
                json!({"file_path": "a", "old_string": token, "new_string": "x"}),
                "t1",
            )],
        ),
        (
            "in an address",
            vec![pre(
                "WebFetch",
                json!({"url": format!("https://x.example/?k={token}"), "prompt": "read"}),
                "t1",
            )],
        ),
        (
            "in a message",
            vec![pre(
                "Agent",
                json!({"subagent_type": "helper", "prompt": format!("use {token}")}),
                "t1",
            )],
        ),
        (
            "in a recipient",
            vec![pre("SendMessage", json!({"to": token, "message": "hello"}), "t1")],
        ),
        (
            "in an argument",
            vec![pre("mcp__x__y", json!({"nested": {"list": [1, {"deep": token}]}}), "t1")],
        ),
        (
            "in an argument's name",
            vec![pre("mcp__x__y", json!({token.clone(): "x", "deep": {token.clone(): 1}}), "t1")],
        ),
        ("in a tool's name", vec![pre(&format!("tool {token}"), json!({}), "t1")]),
        ("in a prompt", vec![prompt(&format!("deploy with {token}"))]),
        (
            "in an output",
            vec![
                pre("Bash", command("env".into()), "t1"),
                post("Bash", command("env".into()), "t1", json!(format!("X={token}"))),
            ],
        ),
        (
            "in an error",
            vec![
                pre("Bash", command("env".into()), "t1"),
                failed(
                    "Bash",
                    command("env".into()),
                    "t1",
                    &format!("Exit code 1\n{token} is wrong"),
                ),
            ],
        ),
        (
            "in an unreviewed call",
            vec![post("Bash", command(format!("push {token}")), "t1", json!("ok"))],
        ),
        (
            "in a batch",
            vec![event(
                "PostToolBatch",
                json!({"tool_calls": [{"tool_name": "Teleport", "tool_input": {"to": token}, "tool_response": token}]}),
            )],
        ),
        (
            "in a subagent's call",
            vec![by("a1", pre("Bash", command(format!("push {token}")), "t1"))],
        ),
    ];
    for (name, payloads) in cases {
        let mut world = World::default();
        for payload in &payloads {
            world.send(payload);
        }
        world.bash("ls", "later");
        world.send(&event("SessionEnd", json!({})));
        assert_hidden(&world, name, &[&token, &token[..20]]);
        assert!(
            world.documents().concat().contains(PLACEHOLDER),
            "{name}: the record tells that something was masked"
        );
        assert!(
            world
                .journal
                .iter()
                .any(|record| record.masked.iter().any(|place| place.starts_with(PLACEHOLDER))),
            "{name}: it lists it"
        );
    }
}

#[test]
fn the_value_of_something_called_a_password_is_masked() {
    let secret = "correct7horse";
    for (name, input) in [
        ("a parameter", json!({"user": "me", "password": secret})),
        ("a nested one", json!({"login": {"api_key": secret}})),
        ("beside a mention of it", json!({"password": secret, "note": format!("it is {secret}")})),
    ] {
        let mut world = World::default();
        world.send(&pre("mcp__x__login", input.clone(), "t1"));
        world.send(&post("mcp__x__login", input, "t1", json!("ok")));
        assert_hidden(&world, name, &[secret]);
    }
}

/// Tests every length at which a text is cut: a secret that crosses it must not show its beginning.
#[test]
fn a_secret_across_a_cut_shows_no_part_of_itself() {
    let token = token();
    let filled = |most: usize| format!("{} {token} tail", "x".repeat(most - 22));
    let command = || json!({"command": "env"});
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("a command", vec![pre("Bash", json!({"command": filled(64 * 1024)}), "t1")]),
        (
            "content",
            vec![pre("Write", json!({"file_path": "a", "content": filled(64 * 1024)}), "t1")],
        ),
        (
            "a message",
            vec![pre(
                "Agent",
                json!({"subagent_type": "helper", "prompt": filled(64 * 1024)}),
                "t1",
            )],
        ),
        (
            "an address",
            vec![pre(
                "WebFetch",
                json!({"url": format!("https://x.example/{}?k={token}", "x".repeat(4096 - 43))}),
                "t1",
            )],
        ),
        ("an argument", vec![pre("mcp__x__y", json!({"text": filled(1024)}), "t1")]),
        ("a nested argument", vec![pre("mcp__x__y", json!({"text": [filled(1022)]}), "t1")]),
        ("a goal", vec![prompt(&filled(4096))]),
        (
            "an output",
            vec![
                pre("Bash", command(), "t1"),
                post("Bash", command(), "t1", json!(filled(16 * 1024))),
            ],
        ),
        (
            "an error",
            vec![pre("Bash", command(), "t1"), failed("Bash", command(), "t1", &filled(4096))],
        ),
        ("a summary", vec![pre("Bash", json!({"command": filled(240)}), "t1")]),
    ];
    for (name, payloads) in cases {
        let mut world = World::default();
        for payload in &payloads {
            world.send(payload);
        }
        assert_hidden(&world, name, &[&token[..8]]);
    }
}

/// Quotes and escapes can hide a secret from a scan of the text; the words that the shell reads
/// show it.
#[test]
fn a_secret_that_only_the_shell_spells_out_is_masked() {
    let secret = "hunter2xyz";
    let mut world = World::default();
    world.plugins.read = Box::new(move |text| {
        let mut read = reading(text);
        let word = |text: &str| Word { text: text.into(), known: true, quoted: false };
        read.commands[0].words =
            vec![word("--password"), word(secret), word("and"), word(&token())];
        read.commands[0].assignments = vec![("DB_PASSWORD".into(), "tr0ub4dor-3".into())];
        Ok(read)
    });
    world.bash("DB_PASSWORD=tr0ub'4'dor-3 login --password hun\\ter2xyz and gh'p_'...", "t1");
    assert_hidden(&world, "decoded words", &[secret, "tr0ub4dor-3", &token()]);
}

#[test]
fn a_fault_of_the_shell_reader_does_not_tell_what_it_read() {
    let token = token();
    let mut world = World::default();
    world.plugins.read = Box::new(|text| {
        let reader = Identity {
            name: "shell".into(),
            version: "1".into(),
            digest: String::new(),
            on_fault: OnFault::Block,
            foreign: false,
            session: false,
            shadow: false,
        };
        Err(reader.new_fault(FaultKind::Trap, format!("it panicked at `{text}`")))
    });
    world.bash(&format!("push {token}"), "t1");
    assert_hidden(&world, "a fault's detail", &[&token]);
    let mut world = World::default();
    world.plugins.read = Box::new(|text| {
        let mut read = reading(text);
        read.coverage = Coverage::Partial;
        read.gaps = vec![format!("what `{text}` means")];
        Ok(read)
    });
    world.bash(&format!("push {token}"), "t1");
    assert_hidden(&world, "a gap", &[&token]);
}

/// The result that the agent is shown by policy: the same shape, with placeholders and a note about
/// them.
#[test]
fn by_policy_the_agent_sees_placeholders_too() {
    let token = token();
    let ran = |result: Value| post("Bash", json!({"command": "env"}), "t1", result);
    let cases = [
        ("a text", true, Mode::Blocking, ran(json!(format!("X={token}"))), Some(json!("X=@"))),
        (
            "an object",
            true,
            Mode::Blocking,
            ran(
                json!({"stdout": format!("a\n{token}\nb"), "stderr": "", "interrupted": false, "lines": 3}),
            ),
            Some(json!({"stdout": "a\n@\nb", "stderr": "", "interrupted": false, "lines": 3})),
        ),
        (
            "deep in it",
            true,
            Mode::Blocking,
            ran(json!({"file": {"parts": [1, [token]]}})),
            Some(json!({"file": {"parts": [1, ["@"]]}})),
        ),
        (
            "far in it",
            true,
            Mode::Blocking,
            ran(json!(format!("{}{token}", "x ".repeat(40_000)))),
            Some(json!(format!("{}@", "x ".repeat(40_000)))),
        ),
        ("in every mode that acts", true, Mode::Async, ran(json!(token)), Some(json!("@"))),
        ("nothing secret", true, Mode::Blocking, ran(json!("plain")), None),
        ("no result", true, Mode::Blocking, ran(Value::Null), None),
        (
            "it failed",
            true,
            Mode::Blocking,
            failed("Bash", json!({"command": "env"}), "t1", &format!("Exit code 1\n{token}")),
            None,
        ),
        ("another policy", false, Mode::Blocking, ran(json!(token)), None),
        ("it only looks on", true, Mode::Observe, ran(json!(token)), None),
    ];
    for (name, by_policy, mode, payload, expected) in cases {
        let mut world = World::default();
        world.policy.mask_results = by_policy;
        world.policy.mode = mode;
        let sent = world.send(&payload);
        let answer = sent.at("/hookSpecificOutput/updatedToolOutput");
        let noted = sent.records[0].details.get("shown_masked");
        let placeholder = noted.and_then(|all| all.get(0)?.as_str()).unwrap_or_default();
        let expected = expected.map(|shown| {
            serde_json::from_str::<Value>(&shown.to_string().replace('@', placeholder)).unwrap()
        });
        assert_eq!(answer, expected.as_ref(), "{name}");
        let message = sent
            .at("/hookSpecificOutput/additionalContext")
            .and_then(Value::as_str)
            .unwrap_or_default();
        assert_eq!(
            message.contains(&format!("`{PLACEHOLDER}")),
            expected.is_some(),
            "{name}: {message}"
        );
        assert_eq!(noted.is_some(), expected.is_some(), "{name}");
        assert_hidden(&world, name, &[&token]);
    }
}

/// An agent chooses the text: nested triggers cost no more than their length, and hide nothing that
/// comes after them. (Quadratic work on these would exceed the test's timeout.)
#[test]
fn text_made_of_triggers_is_searched_in_one_pass() {
    let token = token();
    for unit in [
        "eyJ",
        "sk-",
        "password",
        "password=",
        "token-",
        "-----BEGIN PRIVATE KEY-----",
        "://a:b",
        "bearer ",
        "a@b",
        "4111 ",
    ] {
        let mut world = World::default();
        world.plugins.watched = false;
        let content = format!("{}\n{token}\n", unit.repeat((1 << 19) / unit.len()));
        world.send(&pre("Write", json!({"file_path": "a", "content": content}), "t1"));
        world.send(&post(
            "Read",
            json!({"file_path": "a"}),
            "t2",
            json!(format!("{token} {content}")),
        ));
        assert_hidden(&world, unit, &[&token]);
    }
}

#[test]
fn a_private_key_is_masked_whole_also_where_it_is_cut() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(60);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n");
    for (name, payload) in [
        ("whole", pre("Write", json!({"file_path": "a", "content": key}), "t1")),
        (
            "cut",
            pre(
                "Write",
                json!({"file_path": "a", "content": format!("{}\n{key}", "x".repeat(64 * 1024 - 900))}),
                "t1",
            ),
        ),
        ("nested", pre("mcp__x__y", json!({"files": [{"text": key}]}), "t1")),
        (
            "cut while nested",
            pre("mcp__x__y", json!({"files": [format!("{}\n{key}", "x".repeat(400))]}), "t1"),
        ),
        (
            "in an output",
            post(
                "Bash",
                json!({"command": "ls"}),
                "t1",
                json!(format!("{}\n{key}", "x".repeat(16 * 1024 - 900))),
            ),
        ),
    ] {
        let mut world = World::default();
        world.send(&payload);
        assert_hidden(&world, name, &["MIIEvQIBADANBgkq"]);
    }
}

#[test]
fn a_record_of_many_secrets_stays_small() {
    let mut world = World::default();
    let content: String = (0..20_000).map(|index| format!("user{index}@shop.example\n")).collect();
    let sent = world.send(&pre("Write", json!({"file_path": "a", "content": content}), "t1"));
    let record = &sent.records[0];
    assert_eq!((record.masked.len(), record.masked[256].as_str()), (257, "and 19744 more"));
    assert!(record.document().len() < 128 * 1024, "{} bytes", record.document().len());
    assert_hidden(&world, "many", &["@shop.example"]);
}
