//! The exact answer to every ruling on every event.

use super::EVENTS;
use crate::harness::{effect, one_object};
use portcullis_agents::claude::wire as claude;
use portcullis_core::event::{Disposition, Reply};
use serde_json::{Map, Value, json};

fn rewritten() -> Map<String, Value> {
    json!({"command": "ls -l", "timeout": 5}).as_object().cloned().unwrap()
}

fn reply(ruling: Disposition) -> Reply {
    Reply {
        ruling,
        agent: vec!["to the agent".into()],
        person: vec!["to the person".into(), "twice".into()],
        result: None,
    }
}

/// A case: the event, the ruling, the exact answer, and the exit code.
type Rendered = (&'static str, Disposition, Value, u8);

#[test]
fn every_ruling_on_every_event_has_its_exact_answer() {
    let (ask, refuse, stop) = (
        || Disposition::Ask("why".into()),
        || Disposition::Refuse("why".into()),
        || Disposition::Stop("why".into()),
    );
    let person = "to the person\ntwice";
    let mut cases: Vec<Rendered> = vec![
        (
            "PreToolUse",
            Disposition::None,
            json!({"systemMessage": person, "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "to the agent"}}),
            0,
        ),
        (
            "PreToolUse",
            Disposition::Rewrite(rewritten()),
            json!({"systemMessage": person, "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -l", "timeout": 5}}}),
            0,
        ),
        (
            "PreToolUse",
            ask(),
            json!({"systemMessage": person, "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "why", "additionalContext": "to the agent"}}),
            0,
        ),
        (
            "PreToolUse",
            refuse(),
            json!({"systemMessage": person, "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why", "additionalContext": "to the agent"}}),
            2,
        ),
        (
            "PreToolUse",
            stop(),
            json!({"systemMessage": person, "continue": false, "stopReason": "why", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why", "additionalContext": "to the agent"}}),
            2,
        ),
        (
            "ConfigChange",
            refuse(),
            json!({"systemMessage": person, "decision": "block", "reason": "why"}),
            0,
        ),
        (
            "ConfigChange",
            ask(),
            json!({"systemMessage": person, "decision": "block", "reason": "why"}),
            0,
        ),
        (
            "ConfigChange",
            stop(),
            json!({"systemMessage": person, "decision": "block", "reason": "why"}),
            0,
        ),
        ("ConfigChange", Disposition::None, json!({"systemMessage": person}), 0),
    ];
    for name in [
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "UserPromptSubmit",
        "SessionStart",
        "Stop",
        "SubagentStart",
        "SubagentStop",
    ] {
        let mut informed = json!({"systemMessage": person, "hookSpecificOutput": {"hookEventName": name, "additionalContext": "to the agent"}});
        let mut ended = informed.clone();
        ended["continue"] = false.into();
        ended["stopReason"] = "why".into();
        // Context at the end of a turn would begin another turn.
        if matches!(name, "Stop" | "SubagentStop") {
            informed.as_object_mut().unwrap().remove("hookSpecificOutput");
            ended.as_object_mut().unwrap().remove("hookSpecificOutput");
        }
        cases.extend([
            (name, Disposition::None, informed.clone(), 0),
            (name, ask(), informed.clone(), 0),
            (name, refuse(), informed, 0),
            (name, stop(), ended, 0),
        ]);
    }
    for name in ["SessionEnd", "PermissionRequest", "Teleported"] {
        for ruling in [Disposition::None, ask(), refuse(), stop()] {
            cases.push((name, ruling, json!({"systemMessage": person}), 0));
        }
    }
    for (name, ruling, expected, exit) in cases {
        let answer = claude::render_reply(name, &reply(ruling.clone()));
        assert_eq!(
            (one_object(&answer.stdout), answer.exit),
            (expected, exit),
            "{name} {ruling:?}"
        );
        let stderr = String::from_utf8(answer.stderr).unwrap();
        assert_eq!(stderr, if exit == 2 { "why\n" } else { "" }, "{name} {ruling:?}");
    }
}

#[test]
fn a_result_is_replaced_where_the_client_lets_it() {
    let shown = json!({"stdout": "KEY=<secret:token:12345678>", "stderr": ""});
    for name in EVENTS {
        let answer = one_object(
            &claude::render_reply(name, &Reply { result: Some(shown.clone()), ..Reply::default() })
                .stdout,
        );
        let expected = (*name == "PostToolUse").then_some(&shown);
        assert_eq!(answer.pointer("/hookSpecificOutput/updatedToolOutput"), expected, "{name}");
    }
}

#[test]
fn nothing_to_say_is_an_answer_all_the_same() {
    for name in EVENTS.iter().chain(&["Teleported"]) {
        let answer = claude::render_reply(name, &Reply::default());
        let expected = if *name == "PreToolUse" {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse"}})
        } else {
            json!({})
        };
        assert_eq!(
            (one_object(&answer.stdout), answer.exit, answer.stderr.len()),
            (expected, 0, 0),
            "{name}"
        );
    }
}

#[test]
fn an_event_that_cannot_be_determined_is_answered_as_the_one_that_refuses() {
    let answer = claude::render_reply("", &reply(Disposition::Refuse("why".into())));
    assert_eq!((effect(&one_object(&answer.stdout)), answer.exit), ("deny", 2));
}

#[test]
fn no_text_of_an_answer_reaches_the_clients_bound() {
    let long = "é\u{1b}\"\n".repeat(5000);
    let fat = || vec![long.clone(), long.clone()];
    for name in EVENTS {
        for ruling in [
            Disposition::None,
            Disposition::Ask(long.clone()),
            Disposition::Refuse(long.clone()),
            Disposition::Stop(long.clone()),
        ] {
            let answer = claude::render_reply(
                name,
                &Reply { ruling, agent: fat(), person: fat(), result: None },
            );
            let mut open = vec![one_object(&answer.stdout)];
            while let Some(value) = open.pop() {
                match value {
                    Value::String(text) => assert!(
                        text.chars().count() < 10_000,
                        "{name}: {} characters",
                        text.chars().count()
                    ),
                    Value::Object(object) => {
                        open.extend(object.into_iter().map(|(_, value)| value))
                    }
                    _ => {}
                }
            }
            assert!(
                answer.stderr.len() < 10_000,
                "{name}: {} bytes of standard error",
                answer.stderr.len()
            );
        }
    }
}
