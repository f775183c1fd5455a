//! The plain values of a case file, as JSON: a client's parameters and a plugin's findings are
//! JSON.

use portcullis_strict_toml::{Item, Table, Value as TomlValue};
use serde_json::{Map, Number, Value};

/// Converts a table. Its entries stay in the file's order, since a client's parameters are ordered
/// too.
pub(super) fn read_object(table: &Table<'_>) -> Map<String, Value> {
    let entry = |item: &Item<'_>| Some((item.key().to_owned(), read_json(item)?));
    table.entries().iter().filter_map(entry).collect()
}

/// Converts a value.
pub(super) fn read_json(item: &Item<'_>) -> Option<Value> {
    let value = match item.value() {
        TomlValue::Text(text) => Some(Value::from(text)),
        TomlValue::Integer(number) => Some(Value::from(number)),
        TomlValue::Decimal(number) => Number::from_f64(number).map(Value::Number),
        TomlValue::Flag(flag) => Some(Value::from(flag)),
        TomlValue::List(list) => {
            return list.iter().map(|item| read_json(&item)).collect();
        }
        TomlValue::Table(table) => return Some(Value::Object(read_object(&table))),
        TomlValue::TooLarge | TomlValue::Date => None,
    };
    if value.is_none() {
        let fix = if matches!(item.value(), TomlValue::Date) {
            "; put it in quotation marks"
        } else {
            ""
        };
        item.report(format!(
            "`{}` holds {}, which JSON does not have{fix}",
            item.path(),
            item.type_name()
        ));
    }
    value
}
