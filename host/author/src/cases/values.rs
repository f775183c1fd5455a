//! The plain values of a case file: each has its type, or a problem names the actual value and the
//! allowed ones.

use portcullis_config::problem::{ConfigProblem, MOST};
use portcullis_config::toml_text::{
    LineIndex, Text, integer, nearest, quoted, shown, start, type_of,
};
use portcullis_engine::Kind;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its position.
pub(super) type Item<'a> = Spanned<DeValue<'a>>;

/// Reads a file and collects its problems.
pub(super) struct Reader<'a> {
    pub(super) lines: LineIndex<'a>,
    pub(super) problems: Vec<ConfigProblem>,
    pub(super) more: usize,
    pub(super) kind: Kind,
}

impl Reader<'_> {
    pub(super) fn problem(&mut self, at: usize, what: String) {
        if self.problems.len() < MOST {
            self.problems.push(ConfigProblem { place: Some(self.lines.place(at)), what });
        } else {
            self.more += 1;
        }
    }

    pub(super) fn known(&mut self, table: &DeTable<'_>, path: &str, names: &[&str]) {
        for (key, _) in table {
            let given = key.get_ref().as_ref();
            if names.contains(&given) {
                continue;
            }
            let (whole, of) = match path {
                "" => (shown(given), format!("a case file has {}", quoted(names))),
                path => {
                    (format!("{path}.{}", shown(given)), format!("`{path}` has {}", quoted(names)))
                }
            };
            let mend = nearest(names.iter().copied(), given)
                .map_or(of, |name| format!("did you mean `{name}`?"));
            self.problem(start(key), format!("`{whole}` is unknown; {mend}"));
        }
    }

    pub(super) fn table<'t>(&mut self, item: &'t Item<'t>, path: &str) -> Option<&'t DeTable<'t>> {
        let table = item.get_ref().as_table();
        if table.is_none() {
            self.problem(start(item), format!("`{path}` is {}; it must be a table", type_of(item)));
        }
        table
    }

    /// Returns the tables of a list, each with its position.
    pub(super) fn tables<'t>(
        &mut self,
        item: &'t Item<'t>,
        path: &str,
    ) -> Vec<(usize, &'t DeTable<'t>)> {
        let Some(items) = item.get_ref().as_array() else {
            self.problem(
                start(item),
                format!("`{path}` is {}; write it with two brackets: `[[{path}]]`", type_of(item)),
            );
            return Vec::new();
        };
        items.iter().filter_map(|item| Some((start(item), self.table(item, path)?))).collect()
    }

    pub(super) fn text(&mut self, table: &DeTable<'_>, path: &str, key: &str) -> Option<String> {
        let item = table.get(key)?;
        let text = item.get_ref().as_str();
        if text.is_none() {
            self.problem(
                start(item),
                format!("`{path}.{key}` is {}; it must be text", type_of(item)),
            );
        }
        text.map(str::to_owned)
    }

    pub(super) fn flag(&mut self, table: &DeTable<'_>, path: &str, key: &str) -> Option<bool> {
        let item = table.get(key)?;
        let flag = item.get_ref().as_bool();
        if flag.is_none() {
            self.problem(
                start(item),
                format!("`{path}.{key}` is {}; it must be `true` or `false`", type_of(item)),
            );
        }
        flag
    }

    pub(super) fn whole(
        &mut self,
        table: &DeTable<'_>,
        path: &str,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Option<u64> {
        let item = table.get(key)?;
        let given =
            if let DeValue::Integer(number) = item.get_ref() { integer(number) } else { None };
        let number = given
            .filter(|number| range.contains(number))
            .and_then(|number| u64::try_from(number).ok());
        if number.is_none() {
            let is = given.map_or_else(|| type_of(item).to_owned(), |number| format!("`{number}`"));
            let what = format!(
                "`{path}.{key}` is {is}; it must be a whole number from {} to {}",
                range.start(),
                range.end()
            );
            self.problem(start(item), what);
        }
        number
    }

    pub(super) fn texts(
        &mut self,
        table: &DeTable<'_>,
        path: &str,
        key: &str,
    ) -> Option<Vec<String>> {
        let item = table.get(key)?;
        let texts = item.get_ref().as_array().and_then(|items| {
            items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
        });
        if texts.is_none() {
            self.problem(
                start(item),
                format!("`{path}.{key}` is {}; it must be a list of texts", type_of(item)),
            );
        }
        texts
    }

    pub(super) fn object(&mut self, table: &DeTable<'_>, path: &str) -> Map<String, Value> {
        // In the file's order, since a client's parameters are ordered too.
        in_order(table)
            .into_iter()
            .filter_map(|(key, item)| Some((key.get_ref().to_string(), self.json(item, path)?)))
            .collect()
    }

    pub(super) fn json(&mut self, item: &Item<'_>, path: &str) -> Option<Value> {
        let value = match item.get_ref() {
            DeValue::String(text) => Some(Value::from(text.to_string())),
            DeValue::Integer(number) => integer(number).map(Value::from),
            DeValue::Float(number) => number
                .as_str()
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number),
            DeValue::Boolean(flag) => Some(Value::from(*flag)),
            DeValue::Datetime(_) => None,
            DeValue::Array(items) => {
                return items
                    .iter()
                    .map(|item| self.json(item, path))
                    .collect::<Option<Vec<Value>>>()
                    .map(Value::Array);
            }
            DeValue::Table(table) => return Some(Value::Object(self.object(table, path))),
        };
        if value.is_none() {
            let mend =
                if item.get_ref().is_datetime() { "; put it in quotation marks" } else { "" };
            self.problem(
                start(item),
                format!("`{path}` holds {}, which JSON does not have{mend}", type_of(item)),
            );
        }
        value
    }
}

/// Returns a table's entries in the file's order.
pub(super) fn in_order<'t, 'a>(
    table: &'t DeTable<'a>,
) -> Vec<(&'t Spanned<Text<'a>>, &'t Item<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| start(key));
    entries
}
