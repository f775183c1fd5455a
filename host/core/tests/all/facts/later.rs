//! Calls whose work goes on, or begins, after they have returned.

use super::{found, place, reading};
use portcullis_core::action::{Coverage, EffectKind, Operation};
use portcullis_core::event::Call;
use portcullis_core::facts;
use serde_json::{Value, json};

#[test]
fn a_background_is_known_in_the_words_of_each_client() {
    for (tool, more, expected) in [
        ("Bash", json!({ "run_in_background": true }), true),
        ("run_shell_command", json!({ "is_background": true }), true),
        ("bash", json!({ "mode": "async" }), true),
        ("bash", json!({ "mode": "sync", "detach": true }), true),
        ("background_process", json!({ "action": "start" }), true),
        ("background_process", json!({ "action": "restart" }), true),
        // An action that nobody knows, and none.
        ("background_process", json!({ "action": "resurrect" }), true),
        ("background_process", json!({}), true),
        ("background_process", json!({ "action": "list" }), false),
        ("background_process", json!({ "action": "logs", "id": "1" }), false),
        ("background_process", json!({ "action": "stop", "id": "1" }), false),
        ("bash", json!({ "action": "start" }), false),
        ("Bash", json!({ "run_in_background": false }), false),
        ("Bash", json!({ "run_in_background": "true" }), false),
        ("bash", json!({ "mode": "sync", "detach": false }), false),
        ("bash", json!({ "mode": "overwrite" }), false),
        ("Bash", json!({ "description": "is_background" }), false),
        ("Bash", json!({}), false),
    ] {
        let mut input = more.as_object().cloned().unwrap_or_default();
        input.insert("command".into(), "make watch".into());
        let Operation::Shell(shell) = found(tool, Value::Object(input)).operation else {
            panic!("{tool} {more} is not read as a command");
        };
        assert_eq!(shell.background, expected, "{tool} {more}");
    }
}

#[test]
fn looking_at_a_command_in_the_background_starts_none() {
    for (input, is_command) in [
        (json!({ "action": "list" }), false),
        (json!({ "action": "logs", "id": "1" }), false),
        (json!({ "action": "start" }), true),
        (json!({ "action": "restart", "id": "1" }), true),
        (json!({}), true),
    ] {
        let found = found("background_process", input.clone());
        let is_unclear = found.facts.coverage == Coverage::Partial;
        assert_eq!(is_unclear, is_command, "{input}");
    }
}

#[test]
fn a_text_for_later_is_a_text_for_an_agent() {
    let lasting = [
        ("claude", "CronCreate", json!({ "prompt": "run the tests", "durable": true })),
        ("kilo", "cron_create", json!({ "prompt": "run the tests", "cron": "*/5 * * * *" })),
    ];
    let passing = [
        ("claude", "ScheduleWakeup", json!({ "prompt": "run the tests", "delaySeconds": 60 })),
        ("claude", "CronCreate", json!({ "prompt": "run the tests", "cron": "*/5 * * * *" })),
        ("claude", "CronCreate", json!({ "prompt": "run the tests", "durable": false })),
        ("kilo", "schedule_wakeup", json!({ "prompt": "run the tests", "delay": "5m" })),
        ("kilo", "cron_create", json!({ "prompt": "run the tests", "delay": "5m", "cron": "" })),
    ];
    let rows = lasting.iter().map(|row| (row, true)).chain(passing.iter().map(|row| (row, false)));
    for ((client, tool, input), lasts) in rows {
        let call = Call {
            id: None,
            tool: (*tool).into(),
            input: input.as_object().cloned().unwrap_or_default(),
        };
        let place = facts::CallLocation { client: (*client).into(), ..place() };
        let found = facts::of_call(&call, &place, &mut |_, _| Ok(reading()));
        let Operation::Message(message) = &found.operation else {
            panic!("{tool} {input} is not read as a message");
        };
        assert_eq!(message.text, "run the tests", "{tool}");
        assert_eq!(message.recipient, "an agent, later", "{tool}");
        assert_eq!(found.facts.coverage, Coverage::Full, "{tool}");
        let kinds: Vec<_> = found.facts.effects.iter().map(|effect| &effect.kind).collect();
        let expected: &[&EffectKind] = if lasts { &[&EffectKind::Persistence] } else { &[] };
        assert_eq!(kinds, expected, "{tool} {input}");
    }
    // A wake-up that is ended has no text, and one whose text is not text is not understood.
    let ended = found("ScheduleWakeup", json!({ "stop": true }));
    assert_eq!(ended.facts.coverage, Coverage::Full);
    let odd = found("ScheduleWakeup", json!({ "prompt": ["run"] }));
    assert_eq!(odd.facts.coverage, Coverage::Partial);
    // A message wakes an agent that waits.
    let woken = found("write_agent", json!({ "agent_id": "a1", "message": "run the tests" }));
    let Operation::Message(message) = &woken.operation else { panic!("not a message") };
    assert_eq!((message.recipient.as_str(), message.text.as_str()), ("a1", "run the tests"));
}
