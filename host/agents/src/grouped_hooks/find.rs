//! Finds our handlers in settings, in any form that a person may have written, and reports how each
//! deviates from the one that `install` would write.

use super::{GroupedHooks, handlers_in};
use crate::hook_handler::{Deviation, HookHandler};
use crate::invocation::Invocation;
use serde_json::Value;
use std::path::Path;

impl GroupedHooks {
    /// Returns our handlers in settings, compared with `wanted`.
    #[must_use]
    pub(crate) fn find(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
        let mut found = Vec::new();
        for (event, groups) in
            settings.get("hooks").and_then(Value::as_object).into_iter().flatten()
        {
            let first = found.len();
            for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
                for (below, handler) in handlers_in(group) {
                    let pointer = format!("/hooks/{}/{at}{below}", crate::json::escape_name(event));
                    found.extend(self.judge(event, pointer, group, handler, wanted));
                }
            }
            repeated(found.get_mut(first..).unwrap_or_default());
        }
        found
    }

    /// Returns the commands of foreign handlers for an event, shortened.
    #[must_use]
    pub(crate) fn find_foreign(settings: &Value, event: &str, wanted: &Invocation) -> Vec<String> {
        let groups =
            settings.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
        let handlers = groups.into_iter().flatten().flat_map(handlers_in);
        handlers
            .filter(|(_, handler)| whose(handler, wanted).is_none())
            .map(|(_, handler)| {
                let field = |name: &str| handler.get(name).and_then(Value::as_str);
                command_of(handler)
                    .or(field("url"))
                    .or(field("tool"))
                    .or(field("prompt"))
                    .unwrap_or("a hook without a command")
                    .to_owned()
            })
            .collect()
    }

    fn judge(
        &self,
        event: &str,
        pointer: String,
        group: &Value,
        handler: &Value,
        wanted: &Invocation,
    ) -> Option<HookHandler> {
        let ours = whose(handler, wanted)?;
        let listened = self.events.iter().find(|listened| listened.event == event);
        let right = listened.map(|listened| (self.render)(wanted, listened));
        let text = |value: &Value, name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let truth = |name: &str| handler.get(name).and_then(Value::as_bool) == Some(true);
        let mut deviations = Vec::new();
        deviations.extend(listened.is_none().then_some(Deviation::Event));
        let matcher =
            // These match everything, as the lack of a matcher does.
            text(group, "matcher").filter(|matcher| !matches!(matcher.as_str(), "*" | ".*"));
        deviations.extend(matcher.map(Deviation::Matcher));
        deviations.extend(text(handler, "if").map(Deviation::Condition));
        deviations.extend((truth("async") || truth("asyncRewake")).then_some(Deviation::Async));
        deviations.extend(truth("once").then_some(Deviation::Once));
        let same = right.as_ref().is_some_and(|right| {
            ["command", "exec", "bash", "args"]
                .iter()
                .all(|name| right.get(*name) == handler.get(*name))
        });
        let program =
            if same { wanted.program.to_string_lossy().into_owned() } else { ours.program };
        if !same {
            deviations.extend((ours.shell && !self.by_shell).then_some(Deviation::Shell));
            deviations.extend(ours.mixed.then_some(Deviation::Mixed));
            if Path::new(&program) != wanted.program {
                deviations.push(Deviation::Program(program.clone()));
            }
            let arguments = listened
                .map_or_else(|| wanted.arguments(), |listened| wanted.event_arguments(listened));
            deviations.extend((ours.arguments != arguments).then_some(Deviation::Arguments));
        }
        if let (Some(listened), Some(right)) = (listened, right) {
            let closed = ["onFailure", "failClosed"]
                .iter()
                .any(|key| right.get(*key).is_some() && right.get(*key) == handler.get(*key));
            deviations.extend((listened.closed && !closed).then_some(Deviation::Open));
            let keys = ["timeout", "timeoutSec"];
            let key = keys.into_iter().find(|key| right.get(key).is_some()).unwrap_or_default();
            let timeout = handler.get(key);
            let shown = timeout.map_or_else(|| "not set".to_owned(), Value::to_string);
            deviations.extend((timeout != right.get(key)).then_some(Deviation::Timeout(shown)));
        }
        Some(HookHandler { event: event.to_owned(), pointer, program, deviations })
    }
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

/// A command that starts our program.
struct StartCommand {
    program: String,
    arguments: Vec<String>,
    shell: bool,
    mixed: bool,
}

/// Returns the program or the shell line of a handler, by any of the names that clients give it.
fn command_of(handler: &Value) -> Option<&str> {
    ["command", "exec", "bash"].iter().find_map(|name| handler.get(*name)?.as_str())
}

/// Parses a handler that starts `hook` of a program that is ours by name or by path.
fn whose(handler: &Value, wanted: &Invocation) -> Option<StartCommand> {
    let command = command_of(handler)?;
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
        // The shell is replaced by the program, so nothing else runs on that line.
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
    crate::has_our_name(program) || Path::new(program) == wanted.program
}
