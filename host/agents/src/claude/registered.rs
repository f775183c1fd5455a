//! Finds our handlers in settings, in any form that a person may have written, and reports how each
//! deviates from the one that `install` would write.

use super::Claude;
use super::handlers::EVENTS;
use crate::hook_handler::{Deviation, HookHandler};
use crate::hook_settings::HookSettings;
use crate::invocation::{EventSubscription, Invocation};
use serde_json::Value;
use std::path::Path;

/// Returns our handlers in settings, compared with `wanted`.
#[must_use]
pub(super) fn find(settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
    let mut found = Vec::new();
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        let first = found.len();
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (index, handler) in
                group.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate()
            {
                let pointer =
                    format!("/hooks/{}/{at}/hooks/{index}", crate::json::escape_name(event));
                found.extend(judge(event, pointer, group, handler, wanted));
            }
        }
        repeated(found.get_mut(first..).unwrap_or_default());
    }
    found
}

/// Marks repeated handlers: of several correct ones, one is enough.
fn repeated(of_event: &mut [HookHandler]) {
    let right = of_event.iter().position(|handler| handler.deviations.is_empty()).unwrap_or(0);
    for (index, handler) in of_event.iter_mut().enumerate() {
        if index != right && !handler.deviations.contains(&Deviation::Mixed) {
            handler.deviations.push(Deviation::Repeated);
        }
    }
}

/// Returns our events without a correct handler.
#[must_use]
pub(super) fn missing(found: &[HookHandler]) -> Vec<&'static EventSubscription> {
    Claude.missing_events(found)
}

/// Returns the commands of foreign handlers for an event, shortened.
#[must_use]
pub(super) fn others(settings: &Value, event: &str, wanted: &Invocation) -> Vec<String> {
    let groups = settings.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
    let handlers =
        groups.into_iter().flatten().filter_map(|group| group.get("hooks")?.as_array()).flatten();
    handlers
        .filter(|handler| whose(handler, wanted).is_none())
        .map(|handler| {
            let field = |name: &str| handler.get(name).and_then(Value::as_str);
            field("command")
                .or(field("url"))
                .or(field("tool"))
                .or(field("prompt"))
                .unwrap_or("a hook without a command")
                .to_owned()
        })
        .collect()
}

fn judge(
    event: &str,
    pointer: String,
    group: &Value,
    handler: &Value,
    wanted: &Invocation,
) -> Option<HookHandler> {
    let ours = whose(handler, wanted)?;
    let listened = EVENTS.iter().find(|listened| listened.event == event);
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let truth = |name: &str| handler.get(name).and_then(Value::as_bool) == Some(true);
    let mut deviations = Vec::new();
    deviations.extend(listened.is_none().then_some(Deviation::Event));
    let matcher = text(group, "matcher").filter(|matcher| !matches!(matcher.as_str(), "*" | ".*"));
    deviations.extend(matcher.map(Deviation::Matcher));
    deviations.extend(text(handler, "if").map(Deviation::Condition));
    deviations.extend((truth("async") || truth("asyncRewake")).then_some(Deviation::Async));
    deviations.extend(truth("once").then_some(Deviation::Once));
    deviations.extend(ours.shell.then_some(Deviation::Shell));
    deviations.extend(ours.mixed.then_some(Deviation::Mixed));
    if Path::new(&ours.program) != wanted.program {
        deviations.push(Deviation::Program(ours.program.clone()));
    }
    deviations.extend((ours.arguments != wanted.arguments()).then_some(Deviation::Arguments));
    if let Some(listened) = listened {
        let closed = handler.get("onFailure").and_then(Value::as_str) == Some("block");
        deviations.extend((listened.closed && !closed).then_some(Deviation::Open));
        let timeout = handler.get("timeout").map_or_else(|| "not set".to_owned(), Value::to_string);
        deviations.extend(
            (timeout != listened.timeout.to_string()).then_some(Deviation::Timeout(timeout)),
        );
    }
    Some(HookHandler { event: event.to_owned(), pointer, program: ours.program, deviations })
}

/// A command that starts our program.
struct StartCommand {
    program: String,
    arguments: Vec<String>,
    shell: bool,
    mixed: bool,
}

/// Parses a handler that starts `hook` of a program that is ours by name or by path.
fn whose(handler: &Value, wanted: &Invocation) -> Option<StartCommand> {
    let command = handler.get("command")?.as_str()?;
    if let Some(arguments) = handler.get("args").and_then(Value::as_array) {
        let arguments: Vec<String> =
            arguments.iter().filter_map(|argument| argument.as_str().map(str::to_owned)).collect();
        if is_ours(command, wanted) && arguments.iter().any(|argument| argument == "hook") {
            return Some(StartCommand {
                program: command.to_owned(),
                arguments,
                shell: false,
                mixed: false,
            });
        }
        // Another program that starts ours, such as `env` or `sh -c`.
        let line = format!("{command} {}", arguments.join(" "));
        return shell(&line, wanted).map(|start| StartCommand { mixed: true, ..start });
    }
    shell(command, wanted)
}

fn shell(line: &str, wanted: &Invocation) -> Option<StartCommand> {
    let mixed = line.contains(['|', '&', ';', '<', '>', '`', '\n']) || line.contains("$(");
    let plain = line.replace(['"', '\''], "");
    let mut words =
        plain.split_whitespace().map(|word| word.trim_end_matches([';', '&', '|', ')']));
    let before = words
        .by_ref()
        .take_while(|word| !is_ours(word, wanted))
        .filter(|word| *word != "exec")
        .count();
    // The program is the word at which `take_while` stopped.
    let program = plain
        .split_whitespace()
        .map(|word| word.trim_end_matches([';', '&', '|', ')']))
        .find(|word| is_ours(word, wanted))?;
    let arguments: Vec<String> = words.map(str::to_owned).collect();
    arguments.iter().any(|argument| argument == "hook").then(|| StartCommand {
        program: program.to_owned(),
        arguments,
        shell: true,
        mixed: mixed || before > 0,
    })
}

fn is_ours(program: &str, wanted: &Invocation) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    name == crate::PROGRAM || Path::new(program) == wanted.program
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wanted() -> Invocation {
        Invocation { agent: "claude", program: "/usr/local/bin/portcullis".into(), pinned: None }
    }

    fn right() -> Value {
        crate::claude::handlers::render_handler(&wanted(), &EVENTS[0])
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
            (
                with("if", json!("Bash(git *)")),
                Some(vec![Deviation::Condition("Bash(git *)".into())]),
            ),
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
            let found = find(
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
            (
                json!({"hooks": {"Notification": [{"hooks": [right()]}]}}),
                vec![vec![Deviation::Event]],
            ),
            (json!({"hooks": {"PreToolUse": {"hooks": [right()]}}}), vec![]),
            (json!({"hooks": [right()]}), vec![]),
            (json!([]), vec![]),
        ] {
            let found: Vec<_> =
                find(&settings, &wanted()).into_iter().map(|found| found.deviations).collect();
            assert_eq!(found, expected, "{settings}");
        }
        let one = find(&hooks(json!({"hooks": [right()]})), &wanted());
        assert_eq!(missing(&one).len(), EVENTS.len() - 1);
        assert_eq!(
            others(
                &hooks(json!({"hooks": [right(), {"type": "http", "url": "u"}]})),
                "PreToolUse",
                &wanted()
            ),
            ["u"]
        );
    }
}
