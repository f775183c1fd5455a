//! Values in a file of hooks that a client cannot use: it drops the file, or what stands there,
//! without a word to the person.

use super::{FileForm, GroupedHooks};
use crate::json::{JsonDocument, escape_name};
use crate::settings_problem::SettingsProblem;
use serde_json::Value;

impl GroupedHooks {
    /// Returns all values below `hooks` that are not of the type that they must have.
    pub(crate) fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        let mut found = Found { document, problems: Vec::new() };
        let settings = document.value();
        if !settings.is_object() {
            found.add("", settings, "an object, at least `{}`");
            return found.problems;
        }
        match settings.get("hooks") {
            None => {}
            Some(Value::Object(events)) => {
                for (event, groups) in events {
                    let pointer = format!("/hooks/{}", escape_name(event));
                    match self.form {
                        FileForm::Groups => found.groups(&pointer, groups),
                        FileForm::Flat { typed, .. } => found.handlers(&pointer, groups, typed),
                    }
                }
            }
            Some(other) => found.add("/hooks", other, "an object of events"),
        }
        if let (FileForm::Flat { version, .. }, Some(other)) = (self.form, settings.get("version"))
            && *other != version
        {
            found.add("/version", other, &format!("the number {version}"));
        }
        for pointer in
            document.repeated().into_iter().filter(|pointer| pointer.starts_with("/hooks"))
        {
            found.problems.push(SettingsProblem {
                place: document.find_position(&pointer),
                pointer,
                what: "it is given twice, and only the last one counts".to_owned(),
                fix: "join them, or remove one".to_owned(),
            });
        }
        found.problems.sort_by_key(|problem| (problem.place.line, problem.place.column));
        found.problems
    }
}

struct Found<'a> {
    document: &'a JsonDocument,
    problems: Vec<SettingsProblem>,
}

impl Found<'_> {
    fn add(&mut self, pointer: &str, value: &Value, wanted: &str) {
        let what = match value {
            Value::Array(_) => "it is an array".to_owned(),
            Value::Object(_) => "it is an object".to_owned(),
            other => format!("it is `{}`", portcullis_core::text::one_line(&other.to_string(), 40)),
        };
        self.problems.push(SettingsProblem {
            pointer: pointer.to_owned(),
            place: self.document.find_position(pointer),
            what,
            fix: format!("make it {wanted}, or remove it"),
        });
    }

    fn groups(&mut self, pointer: &str, groups: &Value) {
        let Value::Array(groups) = groups else {
            return self.add(pointer, groups, "an array of groups");
        };
        for (at, group) in groups.iter().enumerate() {
            let pointer = format!("{pointer}/{at}");
            let handlers = group.get("hooks");
            if let Some(matcher) = group.get("matcher").filter(|value| !is_text_or_null(value)) {
                self.add(&format!("{pointer}/matcher"), matcher, "text");
            }
            match handlers {
                Some(Value::Array(handlers)) => {
                    for (index, handler) in handlers.iter().enumerate() {
                        self.handler(&format!("{pointer}/hooks/{index}"), handler, true);
                    }
                }
                Some(other) => {
                    self.add(&format!("{pointer}/hooks"), other, "an array of handlers");
                }
                None => self.add(&pointer, group, "an object with an array `hooks`"),
            }
        }
    }

    fn handlers(&mut self, pointer: &str, handlers: &Value, typed: bool) {
        let Value::Array(handlers) = handlers else {
            return self.add(pointer, handlers, "an array of handlers");
        };
        for (index, handler) in handlers.iter().enumerate() {
            let pointer = format!("{pointer}/{index}");
            if let Some(matcher) = handler.get("matcher").filter(|value| !is_text_or_null(value)) {
                self.add(&format!("{pointer}/matcher"), matcher, "text");
            }
            self.handler(&pointer, handler, typed);
        }
    }

    fn handler(&mut self, pointer: &str, handler: &Value, typed: bool) {
        let kind = handler.get("type").and_then(Value::as_str);
        let untyped = !typed && handler.is_object() && handler.get("type").is_none();
        let kind = if untyped { Some("command") } else { kind };
        if kind.is_none() {
            return self.add(pointer, handler, "an object with a `type`");
        }
        let wrong = |name: &str, fits: fn(&Value) -> bool| {
            handler.get(name).filter(|value| !fits(value)).cloned()
        };
        let names = ["command", "exec", "bash", "powershell"];
        let starts = |name: &str| handler.get(name).is_some_and(Value::is_string);
        if kind == Some("command") && !names.into_iter().any(starts) {
            self.add(pointer, handler, "a handler with a `command`, which is text");
        }
        for name in ["timeout", "timeoutSec"] {
            if let Some(timeout) = wrong(name, |value| value.as_f64().is_some_and(|t| t > 0.0)) {
                self.add(&format!("{pointer}/{name}"), &timeout, "a number above 0");
            }
        }
    }
}

fn is_text_or_null(value: &Value) -> bool {
    value.is_string() || value.is_null()
}
