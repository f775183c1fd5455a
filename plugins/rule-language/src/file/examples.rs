//! Actions in a short form: a command line, or a tool with its input.

use super::MOST_ITEMS;
use crate::place::Span;
use portcullis_strict_toml::{Item, Keys, Table, Value, show};

const EXAMPLE: Keys<'_> =
    Keys { names: &["command", "tool", "input", "cwd", "goal"], owner: "an example" };

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

/// Reads the examples of one key.
pub(super) fn read(rule: &Table<'_>, key: &str, matches: bool) -> Vec<Example> {
    let list = rule.get(key).and_then(|item| item.list(MOST_ITEMS));
    list.iter().flat_map(|list| list.iter()).filter_map(|item| example(&item, matches)).collect()
}

fn example(item: &Item<'_>, matches: bool) -> Option<Example> {
    let place = item.span();
    let table = match item.value() {
        Value::Text(command) => {
            let input = Input::Command(command.to_owned());
            return Some(Example { matches, input, cwd: None, goal: None, place });
        }
        Value::Table(table) => table,
        _ => {
            item.report(format!(
                "`{}` holds {}; an example is a command line, or a table with `tool` and `input`",
                item.path(),
                item.type_name()
            ));
            return None;
        }
    };
    table.report_unknown(&EXAMPLE);
    let (cwd, goal) = (table.text("cwd"), table.text("goal"));
    if let Some(folder) = cwd.as_ref().filter(|folder| !folder.starts_with('/')) {
        let path = table.path_of("cwd");
        table.report(format!("`{path}` is `{}`; it must begin with `/`", show(folder)));
    }
    let input = input(&table)?;
    Some(Example { matches, input, cwd, goal, place })
}

fn input(table: &Table<'_>) -> Option<Input> {
    match (table.text("command"), table.text("tool"), table.get("input")) {
        (Some(command), None, None) => Some(Input::Command(command)),
        (None, Some(tool), None) => Some(Input::Tool(tool, Vec::new())),
        (None, Some(tool), Some(given)) => match parameter(&given)? {
            Given::Table(named) => Some(Input::Tool(tool, named)),
            _ => {
                given.refuse("a table of parameters");
                None
            }
        },
        _ => {
            table.report("an example has either `command`, or `tool` and `input`");
            None
        }
    }
}

fn parameter(item: &Item<'_>) -> Option<Given> {
    Some(match item.value() {
        Value::Text(text) => Given::Text(text.to_owned()),
        Value::Flag(flag) => Given::Flag(flag),
        Value::Integer(number) => Given::Number(number),
        Value::List(list) => {
            Given::List(list.iter().map(|item| parameter(&item)).collect::<Option<_>>()?)
        }
        Value::Table(table) => {
            let named = table.entries().into_iter().map(|item| {
                let key = item.key().to_owned();
                Some((key, parameter(&item)?))
            });
            Given::Table(named.collect::<Option<_>>()?)
        }
        Value::TooLarge | Value::Decimal(_) | Value::Date => {
            item.refuse("text, a whole number, `true`, `false`, a list or a table");
            return None;
        }
    })
}
