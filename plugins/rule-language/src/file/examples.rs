//! Actions in a short form: a command line, or a tool with its input.

use super::{Found, MOST_ITEMS, Reader, shown, span, type_of};
use crate::nearest;
use crate::place::Span;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: &[&str] = &["command", "tool", "input", "cwd", "goal"];

/// An action, and the expected answer of the rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// True if the rule must object.
    pub matches: bool,
    /// The action itself.
    pub input: Input,
    /// The folder that it runs in; none for the example's project.
    pub cwd: Option<String>,
    /// The person's request.
    pub goal: Option<String>,
    /// Its position in the file.
    pub place: Span,
}

/// The action of an example.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A command line.
    Command(String),
    /// A tool with its parameters.
    Tool(String, Vec<(String, Given)>),
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Several.
    List(Vec<Self>),
    /// By name.
    Table(Vec<(String, Self)>),
}

impl Reader<'_> {
    pub(super) fn examples(&mut self, found: Found<'_, '_>, matches: bool) -> Vec<Example> {
        let Some((key, value)) = found else { return Vec::new() };
        let Some(items) = self.items(value, key.get_ref(), MOST_ITEMS) else { return Vec::new() };
        items.iter().filter_map(|item| self.example(item, matches)).collect()
    }

    fn example(&mut self, item: &Spanned<DeValue<'_>>, matches: bool) -> Option<Example> {
        let place = span(item);
        match item.get_ref() {
            DeValue::String(command) => {
                let input = Input::Command(command.to_string());
                Some(Example { matches, input, cwd: None, goal: None, place })
            }
            DeValue::Table(table) => {
                let (cwd, goal) = (self.optional(table, "cwd"), self.optional(table, "goal"));
                self.unknown(table);
                if let Some(folder) = cwd.as_ref().filter(|folder| !folder.starts_with('/')) {
                    self.wrong(
                        item,
                        format!("`cwd` is `{}`; it must begin with `/`", shown(folder)),
                    );
                }
                let input = self.input(item, table)?;
                Some(Example { matches, input, cwd, goal, place })
            }
            _ => {
                self.wrong(
                    item,
                    format!(
                        "is {}; an example is a command line, or a table with `tool` and `input`",
                        type_of(item)
                    ),
                );
                None
            }
        }
    }

    fn unknown(&mut self, table: &DeTable<'_>) {
        for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let mend = match nearest(KEYS.iter().copied(), key.get_ref()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("an example has `{}`", KEYS.join("`, `")),
            };
            self.wrong(key, format!("`{}` is unknown; {mend}", shown(key.get_ref())));
        }
    }

    fn optional(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        table.get(key).and_then(|value| self.text_of(value, key)).map(|(text, _)| text)
    }

    fn input(&mut self, item: &Spanned<DeValue<'_>>, table: &DeTable<'_>) -> Option<Input> {
        let (command, tool) = (self.optional(table, "command"), self.optional(table, "tool"));
        let parameters = table.get("input");
        match (command, tool, parameters) {
            (Some(command), None, None) => Some(Input::Command(command)),
            (None, Some(tool), None) => Some(Input::Tool(tool, Vec::new())),
            (None, Some(tool), Some(given)) => match self.given(given) {
                Some(Given::Table(named)) => Some(Input::Tool(tool, named)),
                Some(_) => {
                    self.wrong(
                        given,
                        format!("`input` is {}; it must be a table of parameters", type_of(given)),
                    );
                    None
                }
                None => None,
            },
            _ => {
                self.wrong(item, "an example has either `command`, or `tool` and `input`".into());
                None
            }
        }
    }

    fn given(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Given> {
        match value.get_ref() {
            DeValue::String(text) => Some(Given::Text(text.to_string())),
            DeValue::Boolean(flag) => Some(Given::Flag(*flag)),
            DeValue::Integer(number) => {
                let found = i64::from_str_radix(number.as_str(), number.radix()).ok();
                if found.is_none() {
                    self.wrong(value, "is a number that is too large".into());
                }
                found.map(Given::Number)
            }
            DeValue::Array(items) => {
                items.iter().map(|item| self.given(item)).collect::<Option<_>>().map(Given::List)
            }
            DeValue::Table(table) => {
                let named = table
                    .iter()
                    .map(|(key, value)| Some((key.get_ref().to_string(), self.given(value)?)));
                named.collect::<Option<_>>().map(Given::Table)
            }
            DeValue::Float(_) | DeValue::Datetime(_) => {
                self.wrong(value, format!("is {}; a parameter is text, a whole number, true, false, a list or a table", type_of(value)));
                None
            }
        }
    }
}
