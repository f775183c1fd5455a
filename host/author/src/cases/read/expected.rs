//! Reads expected findings, and every other table that is defined by a list of keys.

use super::super::keys::{self, AllowedValues, CaseKey};
use super::super::values::read_json;
use super::super::{Expectation, ExpectedFinding};
use super::Reader;
use portcullis_engine::Kind;
use portcullis_strict_toml::{Item, Keys, Table};
use serde_json::{Map, Value};

impl Reader {
    /// Reads the `expect` of a step's or a case's table.
    pub(super) fn expectation(&self, table: &Table<'_>, path: &'static str) -> Expectation {
        let keys = keys::of(self.kind);
        let owner = format!("a finding of {}", a_plugin(self.kind));
        let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
        let given = table.tables("expect", &Keys { names: &names, owner: &owner });
        let findings = given.iter().map(|given| read_finding(given, keys)).collect();
        Expectation { path, place: table.place(), findings, end: table.end() }
    }
}

fn read_finding(table: &Table<'_>, keys: &[CaseKey]) -> ExpectedFinding {
    if table.is_empty() {
        table.report(
            "an `expect` names at least one property of the finding; leave it out if the \
             plugin must report nothing",
        );
    }
    let mut found = ExpectedFinding { head: table.span().start, ..ExpectedFinding::default() };
    for (item, value) in read_entries(table, keys) {
        let key = item.key().to_owned();
        found.places.push((key.clone(), item.key_span().start, item.span().range()));
        found.says.insert(key, value);
    }
    found
}

/// Reads a table with these keys.
pub(super) fn read_fields(item: &Item<'_>, keys: &[CaseKey]) -> Option<Map<String, Value>> {
    let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
    let owner = format!("`{}`", item.path());
    let table = item.table(&Keys { names: &names, owner: &owner })?;
    let entries = read_entries(&table, keys).into_iter();
    Some(entries.map(|(item, value)| (item.key().to_owned(), value)).collect())
}

/// Returns the allowed values in the file's order. Unknown keys have been reported.
fn read_entries<'t>(table: &Table<'t>, keys: &[CaseKey]) -> Vec<(Item<'t>, Value)> {
    let entry = |item: Item<'t>| {
        let (_, allowed) = keys.iter().find(|(known, _)| *known == item.key())?;
        let value = read_allowed(&item, *allowed)?;
        Some((item, value))
    };
    table.entries().into_iter().filter_map(entry).collect()
}

/// Returns the value if it is allowed.
fn read_allowed(item: &Item<'_>, allowed: AllowedValues) -> Option<Value> {
    let value = read_json(item)?;
    let fits = match (allowed, &value) {
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
        (AllowedValues::Word(words), Value::String(_)) => {
            return item.word(&words()).map(Value::from);
        }
        _ => false,
    };
    if fits {
        return Some(value);
    }
    match &value {
        Value::String(text) => item.refuse_value(text, &allowed.in_words()),
        Value::Number(number) => item.refuse_value(&number.to_string(), &allowed.in_words()),
        _ => item.refuse(&allowed.in_words()),
    }
    None
}

/// Returns the noun phrase for a plugin of a kind.
pub(super) fn a_plugin(kind: Kind) -> String {
    let article = if matches!(kind, Kind::Intervention | Kind::AuditExporter) { "an" } else { "a" };
    format!("{article} {kind}")
}
