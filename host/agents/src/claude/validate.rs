//! Validates a whole settings file like the client: one bad value, in a hook or anywhere else, and
//! it drops the file with all its hooks, silently in `-p` mode.
//!
//! This is stricter than the client in two ways: a handler that the client would drop alone is a
//! problem too, and so is a repeated name in the hooks, since one of the two is ignored.

use super::shapes::{EVENTS, Field, HANDLER, HANDLERS, SETTINGS, Shape};
use crate::json::{JsonDocument, escape_name};
use crate::settings_problem::SettingsProblem;
use portcullis_core::text::one_line;
use serde_json::Value;

/// The most bytes that the client reads of a settings file.
pub(super) const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// Returns all values in a file that the client does not accept, in its order.
#[must_use]
pub(super) fn problems(document: &JsonDocument) -> Vec<SettingsProblem> {
    let mut judge = Validator { document, problems: Vec::new() };
    let settings = document.value();
    if !settings.is_object() {
        judge.add(
            "",
            format!("it holds {}", kind(settings)),
            "a settings file is an object, at least `{}`".to_owned(),
        );
        return judge.problems;
    }
    judge.fields("", settings, SETTINGS);
    judge.hooks(settings.get("hooks").unwrap_or(&Value::Null));
    for pointer in document.repeated().into_iter().filter(|pointer| pointer.starts_with("/hooks")) {
        judge.add(
            &pointer,
            "it is given twice, and only the last one counts".to_owned(),
            "join them, or remove one".to_owned(),
        );
    }
    judge.problems.sort_by_key(|problem| (problem.place.line, problem.place.column));
    judge.problems
}

struct Validator<'a> {
    document: &'a JsonDocument,
    problems: Vec<SettingsProblem>,
}

impl Validator<'_> {
    fn add(&mut self, pointer: &str, what: String, fix: String) {
        self.problems.push(SettingsProblem {
            pointer: pointer.to_owned(),
            place: self.document.find_position(pointer),
            what,
            fix,
        });
    }

    fn wrong(&mut self, pointer: &str, value: &Value, shape: &Shape) {
        self.add(
            pointer,
            format!("it is {}", kind(value)),
            format!("make it {shape}, or remove it"),
        );
    }

    fn hooks(&mut self, hooks: &Value) {
        let events = match hooks {
            Value::Null => return,
            Value::Object(events) => events,
            other => {
                let fix =
                    "make it an object of events; the client ignores anything else".to_owned();
                return self.add("/hooks", format!("it is {}", kind(other)), fix);
            }
        };
        for (event, groups) in events.iter().filter(|(event, _)| EVENTS.contains(&event.as_str())) {
            let pointer = format!("/hooks/{}", escape_name(event));
            match groups {
                Value::Null => {}
                Value::Array(groups) => {
                    groups
                        .iter()
                        .enumerate()
                        .for_each(|(at, group)| self.group(&format!("{pointer}/{at}"), group));
                }
                other => self.add(
                    &pointer,
                    format!("it is {}", kind(other)),
                    "make it an array of groups, or remove it".to_owned(),
                ),
            }
        }
    }

    fn group(&mut self, pointer: &str, group: &Value) {
        if !group.is_object() {
            let fix = "make it an object with an array `hooks`, or remove it".to_owned();
            return self.add(pointer, format!("it is {}", kind(group)), fix);
        }
        self.fields(
            pointer,
            group,
            &[Field { name: "matcher", shape: Shape::Text, required: false }],
        );
        match group.get("hooks") {
            Some(Value::Array(handlers)) => {
                handlers.iter().enumerate().for_each(|(at, handler)| {
                    self.handler(&format!("{pointer}/hooks/{at}"), handler)
                });
            }
            other => {
                let what = other.map_or_else(
                    || "`hooks` is missing".to_owned(),
                    |other| format!("`hooks` is {}", kind(other)),
                );
                self.add(
                    pointer,
                    what,
                    "give it an array `hooks` of handlers, or remove it".to_owned(),
                );
            }
        }
    }

    fn handler(&mut self, pointer: &str, handler: &Value) {
        if !handler.is_object() {
            return self.add(
                pointer,
                format!("it is {}", kind(handler)),
                "make it an object with a `type`, or remove it".to_owned(),
            );
        }
        let named = handler.get("type").and_then(Value::as_str).unwrap_or_default();
        match HANDLERS.iter().find(|(name, _)| *name == named) {
            Some((_, fields)) => {
                self.fields(pointer, handler, fields);
                self.fields(pointer, handler, HANDLER);
            }
            None => {
                let types: Vec<&str> = HANDLERS.iter().map(|(name, _)| *name).collect();
                let what = if handler.get("type").is_some() {
                    "its `type` is not one that the client knows"
                } else {
                    "it has no `type`"
                };
                self.add(
                    pointer,
                    what.to_owned(),
                    format!("give it one of {}, or remove it", types.join(", ")),
                );
            }
        }
    }

    fn fields(&mut self, pointer: &str, object: &Value, fields: &[Field]) {
        for field in fields {
            match object.get(field.name) {
                Some(value) => self.value(
                    &format!("{pointer}/{}", escape_name(field.name)),
                    value,
                    &field.shape,
                ),
                None if field.required => {
                    self.add(
                        pointer,
                        format!("`{}` is missing", field.name),
                        format!("add it: {}", field.shape),
                    );
                }
                None => {}
            }
        }
    }

    fn value(&mut self, pointer: &str, value: &Value, shape: &Shape) {
        match (shape, value) {
            (Shape::Object(fields), Value::Object(_)) => self.fields(pointer, value, fields),
            (Shape::Record(each), Value::Object(members)) => {
                members.iter().for_each(|(name, value)| {
                    self.value(&format!("{pointer}/{}", escape_name(name)), value, each)
                });
            }
            (Shape::List(each), Value::Array(elements)) => {
                elements
                    .iter()
                    .enumerate()
                    .for_each(|(at, value)| self.value(&format!("{pointer}/{at}"), value, each));
            }
            // If the outer kind is right, the inner position is more helpful.
            (Shape::Either(one, other), _) if !fits(one, value) => match same_kind(other, value) {
                true => self.value(pointer, value, other),
                false => self.wrong(pointer, value, shape),
            },
            (Shape::OrNull(inner), _) if !value.is_null() => self.value(pointer, value, inner),
            _ if fits(shape, value) => {}
            _ => self.wrong(pointer, value, shape),
        }
    }
}

fn fits(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Text => value.is_string(),
        Shape::Url => value.as_str().is_some_and(is_url),
        Shape::Flag => value.is_boolean(),
        Shape::Number => value.is_number(),
        Shape::Seconds => value.as_f64().is_some_and(|number| number > 0.0),
        Shape::Count => value.as_f64().is_some_and(|number| number > 0.0 && number.fract() == 0.0),
        Shape::Share => value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
        Shape::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Shape::AnyList => value.is_array(),
        Shape::List(each) => value
            .as_array()
            .is_some_and(|elements| elements.iter().all(|element| fits(each, element))),
        Shape::Record(each) => value
            .as_object()
            .is_some_and(|members| members.values().all(|member| fits(each, member))),
        Shape::Object(fields) => value.as_object().is_some_and(|members| {
            fields.iter().all(|field| {
                members.get(field.name).map_or(!field.required, |value| fits(&field.shape, value))
            })
        }),
        Shape::Either(one, other) => fits(one, value) || fits(other, value),
        Shape::OrNull(shape) => value.is_null() || fits(shape, value),
    }
}

fn same_kind(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Object(_) | Shape::Record(_) => value.is_object(),
        Shape::List(_) | Shape::AnyList => value.is_array(),
        _ => false,
    }
}

/// Returns true for a scheme and something after it: for realistic mistakes, this equals the
/// client's URL parser.
fn is_url(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let mut letters = scheme.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
            && (!matches!(scheme, "http" | "https") || !rest.trim_start_matches('/').is_empty())
    })
}

fn kind(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the string `{}`", one_line(text, 40)),
        other => format!("`{other}`"),
    }
}
