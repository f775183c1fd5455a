//! Reads expected findings, and every other table that is defined by a list of keys.

use super::super::keys::{self, AllowedValues, CaseKey};
use super::super::values::{Item, Reader, in_order};
use super::super::{Expectation, ExpectedFinding};
use portcullis_config::toml_text::{nearest, quoted, shown, start, type_of};
use portcullis_engine::Kind;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

impl Reader<'_> {
    /// Reads the `expect` of a step's or a case's table.
    pub(super) fn expectation(
        &mut self,
        at: usize,
        table: &DeTable<'_>,
        path: &'static str,
    ) -> Expectation {
        let given = table.get("expect").map(|given| self.tables(given, path)).unwrap_or_default();
        let findings =
            given.into_iter().map(|(at, given)| self.expected(at, given, path)).collect();
        Expectation { path, place: self.lines.place(at), findings, end: end_of(table) }
    }

    fn expected(&mut self, at: usize, table: &DeTable<'_>, path: &str) -> ExpectedFinding {
        if table.is_empty() {
            self.problem(
                at,
                "an `expect` says at least one thing of the finding; leave it out where the plugin has to say nothing".to_owned(),
            );
        }
        let of = format!("a finding of {} has", a_plugin(self.kind));
        let mut found = ExpectedFinding { head: at, ..ExpectedFinding::default() };
        for (key, item, value) in self.entries(table, path, keys::of(self.kind), &of) {
            found.places.push((key.clone(), item.0, item.1.span()));
            found.says.insert(key, value);
        }
        found
    }

    /// Reads a table with these keys; every other key and every value of another type is a problem.
    pub(super) fn fields(
        &mut self,
        table: &DeTable<'_>,
        path: &str,
        keys: &[CaseKey],
    ) -> Map<String, Value> {
        let of = format!("`{path}` has");
        self.entries(table, path, keys, &of)
            .into_iter()
            .map(|(key, _, value)| (key, value))
            .collect()
    }

    /// Returns the valid entries in the file's order: the key, its offset with the value's range,
    /// the value.
    fn entries<'t, 'a>(
        &mut self,
        table: &'t DeTable<'a>,
        path: &str,
        keys: &[CaseKey],
        of: &str,
    ) -> Vec<(String, (usize, &'t Item<'a>), Value)> {
        let mut found = Vec::new();
        for (key, item) in in_order(table) {
            let name = key.get_ref().as_ref();
            let Some((_, holds)) = keys.iter().find(|(known, _)| *known == name) else {
                let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
                let of = format!("{of} {}", quoted(&names));
                let mend = nearest(names.iter().copied(), name)
                    .map_or(of, |name| format!("did you mean `{name}`?"));
                self.problem(start(key), format!("`{path}.{}` is unknown; {mend}", shown(name)));
                continue;
            };
            if let Some(value) = self.held(&format!("{path}.{name}"), *holds, item) {
                found.push((name.to_owned(), (start(key), item), value));
            }
        }
        found
    }

    /// Returns the value if it is allowed for the key.
    fn held(&mut self, path: &str, holds: AllowedValues, item: &Item<'_>) -> Option<Value> {
        let value = self.json(item, path)?;
        let fits = match (holds, &value) {
            (AllowedValues::Text, Value::String(_))
            | (AllowedValues::Flag, Value::Bool(_))
            | (AllowedValues::List, Value::Array(_))
            | (AllowedValues::Table, Value::Object(_)) => true,
            (AllowedValues::Score, Value::Number(number)) => {
                number.as_u64().is_some_and(|number| number <= 1000)
            }
            (AllowedValues::Whole, Value::Number(number)) => number.is_u64(),
            (AllowedValues::Most(most), Value::Number(number)) => {
                number.as_u64().is_some_and(|number| number <= most)
            }
            (AllowedValues::Word(words), Value::String(word)) => words().contains(&word.as_str()),
            _ => false,
        };
        if fits {
            return Some(value);
        }
        let is = match &value {
            Value::String(word) => format!("`{}`", shown(word)),
            Value::Number(number) => format!("`{number}`"),
            _ => type_of(item).to_owned(),
        };
        let meant = match (holds, &value) {
            (AllowedValues::Word(words), Value::String(word)) => nearest(words().into_iter(), word),
            _ => None,
        };
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        self.problem(
            start(item),
            format!("`{path}` is {is}; it must be {}{meant}", holds.in_words()),
        );
        None
    }
}

/// Returns the end of the last value of a table, including its subtables.
fn end_of(table: &DeTable<'_>) -> usize {
    let end = |(_, item): (_, &Item<'_>)| {
        let below = match item.get_ref() {
            DeValue::Table(table) => end_of(table),
            DeValue::Array(items) => items
                .iter()
                .filter_map(|item| item.get_ref().as_table())
                .map(end_of)
                .max()
                .unwrap_or_default(),
            _ => 0,
        };
        below.max(item.span().end)
    };
    table.iter().map(end).max().unwrap_or_default()
}

/// Returns the noun phrase for a plugin of a kind.
pub(super) fn a_plugin(kind: Kind) -> String {
    let article = if matches!(kind, Kind::Intervention | Kind::AuditExporter) { "an" } else { "a" };
    format!("{article} {kind}")
}
