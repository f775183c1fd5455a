//! Our handlers are known in every form that a person may have written.

use super::handlers::{EVENTS, HOOKS, render_handler};
use crate::grouped_hooks::GroupedHooks;
use crate::hook_form::HookForm;
use crate::hook_handler::Deviation;
use crate::invocation::Invocation;
use serde_json::{Value, json};

fn wanted() -> Invocation {
    Invocation { agent: "claude", program: "/usr/local/bin/portcullis".into(), pinned: None }
}

fn right() -> Value {
    render_handler(&wanted(), &EVENTS[0])
}

fn with(name: &str, value: Value) -> Value {
    let mut handler = right();
    handler[name] = value;
    handler
}

fn without(name: &str) -> Value {
    let mut handler = right();
    handler.as_object_mut().unwrap().shift_remove(name);
    handler
}

#[test]
fn handlers_of_ours_are_known_in_every_form() {
    let shell = |line: &str| json!({"type": "command", "command": line, "timeout": 30, "onFailure": "block"});
    let program = |name: &str| Deviation::Program(name.to_owned());
    for (handler, expected) in [
        (right(), Some(vec![])),
        (with("command", json!("/opt/portcullis")), Some(vec![program("/opt/portcullis")])),
        (with("command", json!("portcullis")), Some(vec![program("portcullis")])),
        (with("command", json!("/usr/bin/guard")), None),
        (with("args", json!(["audit", "show"])), None),
        (
            with("args", json!(["hook", "claude", "--state", "/x"])),
            Some(vec![Deviation::Arguments]),
        ),
        (
            with("args", json!(["--state", "/x", "hook", "claude"])),
            Some(vec![Deviation::Arguments]),
        ),
        (with("async", json!(true)), Some(vec![Deviation::Async])),
        (with("asyncRewake", json!(true)), Some(vec![Deviation::Async])),
        (with("once", json!(true)), Some(vec![Deviation::Once])),
        (with("if", json!("Bash(git *)")), Some(vec![Deviation::Condition("Bash(git *)".into())])),
        (with("timeout", json!(1)), Some(vec![Deviation::Timeout("1".into())])),
        (without("timeout"), Some(vec![Deviation::Timeout("not set".into())])),
        (without("onFailure"), Some(vec![Deviation::Open])),
        (with("onFailure", json!("continue")), Some(vec![Deviation::Open])),
        (shell("/usr/local/bin/portcullis hook claude"), Some(vec![Deviation::Shell])),
        (shell("'/usr/local/bin/portcullis' hook claude"), Some(vec![Deviation::Shell])),
        (shell("exec /usr/local/bin/portcullis hook claude"), Some(vec![Deviation::Shell])),
        (
            shell("/usr/local/bin/portcullis hook claude || true"),
            Some(vec![Deviation::Shell, Deviation::Mixed, Deviation::Arguments]),
        ),
        (
            shell("date; /usr/local/bin/portcullis hook claude"),
            Some(vec![Deviation::Shell, Deviation::Mixed]),
        ),
        (
            shell("env A=1 /usr/local/bin/portcullis hook claude"),
            Some(vec![Deviation::Shell, Deviation::Mixed]),
        ),
        (shell("/usr/local/bin/portcullis audit show"), None),
        (shell("echo portcullis"), None),
        (with("command", json!("/bin/sh")), None),
        (json!({"type": "http", "url": "http://127.0.0.1/portcullis/hook"}), None),
        (json!(null), None),
    ] {
        let found = HOOKS.find(
            &json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}, handler]}]}}),
            &wanted(),
        );
        let deviations = found.first().map(|found| found.deviations.clone());
        assert_eq!(deviations, expected, "{handler}");
        assert!(
            found.iter().all(|found| found.pointer == "/hooks/PreToolUse/0/hooks/1"),
            "{found:?}"
        );
    }
}

#[test]
fn groups_and_events_count_too() {
    let hooks = |group: Value| json!({"hooks": {"PreToolUse": [group]}});
    for (settings, expected) in [
        (hooks(json!({"matcher": "*", "hooks": [right()]})), vec![vec![]]),
        (hooks(json!({"matcher": "", "hooks": [right()]})), vec![vec![]]),
        (
            hooks(json!({"matcher": "Bash", "hooks": [right()]})),
            vec![vec![Deviation::Matcher("Bash".into())]],
        ),
        (hooks(json!({"hooks": [right(), right()]})), vec![vec![], vec![Deviation::Repeated]]),
        (
            hooks(json!({"hooks": [without("onFailure"), right()]})),
            vec![vec![Deviation::Open, Deviation::Repeated], vec![]],
        ),
        (json!({"hooks": {"Notification": [{"hooks": [right()]}]}}), vec![vec![Deviation::Event]]),
        (json!({"hooks": {"PreToolUse": {"hooks": [right()]}}}), vec![]),
        (json!({"hooks": [right()]}), vec![]),
        (json!([]), vec![]),
    ] {
        let found: Vec<_> =
            HOOKS.find(&settings, &wanted()).into_iter().map(|found| found.deviations).collect();
        assert_eq!(found, expected, "{settings}");
    }
    let one = HOOKS.find(&hooks(json!({"hooks": [right()]})), &wanted());
    assert_eq!(HOOKS.missing(&one).len(), EVENTS.len() - 1);
    assert_eq!(
        GroupedHooks::find_foreign(
            &hooks(json!({"hooks": [right(), {"type": "http", "url": "u"}]})),
            "PreToolUse",
            &wanted()
        ),
        ["u"]
    );
}
