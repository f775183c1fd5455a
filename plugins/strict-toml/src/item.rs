//! One value, with its key and its place.

use crate::place::Span;
use crate::report::Report;
use crate::table::{Keys, Table};
use crate::words::{list_names, nearest, show};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeArray, DeValue};

/// A value of a table or of a list.
#[derive(Clone, Debug)]
pub struct Item<'t> {
    report: &'t Report<'t>,
    key: &'t str,
    key_span: Span,
    value: &'t Spanned<DeValue<'t>>,
    path: String,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub enum Value<'t> {
    /// Text.
    Text(&'t str),
    /// A whole number.
    Integer(i64),
    /// A whole number that has more than 64 bits.
    TooLarge,
    /// A decimal; it may be infinite or no number.
    Decimal(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A date, a time or both.
    Date,
    /// A list.
    List(List<'t>),
    /// A table whose keys nobody has checked.
    Table(Table<'t>),
}

/// A list of a document.
#[derive(Clone, Debug)]
pub struct List<'t> {
    report: &'t Report<'t>,
    items: &'t DeArray<'t>,
    key: &'t str,
    path: String,
}

impl<'t> Item<'t> {
    pub(crate) fn new(
        report: &'t Report<'t>,
        key: &'t Spanned<Cow<'t, str>>,
        value: &'t Spanned<DeValue<'t>>,
        path: String,
    ) -> Self {
        Self { report, key: key.get_ref(), key_span: key.span().into(), value, path }
    }

    /// Returns its key; for an item of a list the list's key.
    #[must_use]
    pub const fn key(&self) -> &'t str {
        self.key
    }

    /// Returns its path, as TOML writes it; for an item of a list the list's path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the bytes of the value, with its quotes or brackets.
    #[must_use]
    pub fn span(&self) -> Span {
        self.value.span().into()
    }

    /// Returns the bytes of the key; for an item of a list those of the value.
    #[must_use]
    pub const fn key_span(&self) -> Span {
        self.key_span
    }

    /// Returns line and column of the key, from 1.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        self.report.place(self.key_span.start)
    }

    /// Returns the value as the document writes it.
    #[must_use]
    pub fn source(&self) -> &'t str {
        self.report.text(self.span())
    }

    /// Returns true if further problems of the document are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.report.is_full()
    }

    /// Returns the content.
    #[must_use]
    pub fn value(&self) -> Value<'t> {
        match self.value.get_ref() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::TooLarge, Value::Integer),
            DeValue::Float(number) => Value::Decimal(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(items) => Value::List(List {
                report: self.report,
                items,
                key: self.key,
                path: self.path.clone(),
            }),
            DeValue::Table(table) => {
                Value::Table(Table::new(self.report, table, self.span(), self.path.clone()))
            }
        }
    }

    /// Describes the type of the value, to complete "it is".
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self.value() {
            Value::Text(_) => "text",
            Value::Integer(_) => "a whole number",
            Value::TooLarge => "a number that is too large",
            Value::Decimal(_) => "a decimal",
            Value::Flag(_) => "a boolean",
            Value::Date => "a date",
            Value::List(list) if list.items.iter().all(|item| item.get_ref().is_str()) => "a list",
            Value::List(list) if list.items.iter().all(|item| item.get_ref().is_table()) => {
                "a list of tables"
            }
            Value::List(_) => "a list of other things than texts",
            Value::Table(_) => "a table",
        }
    }

    /// Returns a text.
    #[must_use]
    pub fn text(&self) -> Option<&'t str> {
        if let Value::Text(text) = self.value() {
            return Some(text);
        }
        self.refuse("text");
        None
    }

    /// Returns the one of these words that the value is.
    #[must_use]
    pub fn word<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        let found = match self.value() {
            Value::Text(text) => words.iter().copied().find(|word| *word == text),
            _ => None,
        };
        if found.is_none() {
            self.refuse_word(words);
        }
        found
    }

    /// Returns `true` or `false`.
    #[must_use]
    pub fn flag(&self) -> Option<bool> {
        if let Value::Flag(flag) = self.value() {
            return Some(flag);
        }
        self.refuse("`true` or `false`");
        None
    }

    /// Returns a whole number within these bounds.
    #[must_use]
    pub fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let must = || format!("a whole number from {} to {}", range.start(), range.end());
        match self.value() {
            Value::Integer(number) if range.contains(&number) => return Some(number),
            Value::Integer(number) => self.refuse_value(&number.to_string(), &must()),
            _ => self.refuse(&must()),
        }
        None
    }

    /// Returns a list of texts.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        let texts = if let Value::List(list) = self.value() { list.texts() } else { None };
        if texts.is_none() {
            self.refuse("a list of texts");
        }
        texts
    }

    /// Returns a list of at most so many items.
    #[must_use]
    pub fn list(&self, most: usize) -> Option<List<'t>> {
        match self.value() {
            Value::List(list) if list.len() <= most => return Some(list),
            Value::List(list) => {
                self.report(format!(
                    "`{}` has {} items; at most {most} are read",
                    self.path,
                    list.len()
                ));
            }
            _ => self.refuse("a list"),
        }
        None
    }

    /// Returns a table, which may have these keys.
    #[must_use]
    pub fn table(&self, keys: &Keys<'_>) -> Option<Table<'t>> {
        let table = self.any_table()?;
        table.report_unknown(keys);
        Some(table)
    }

    /// Returns a table without a look at its keys.
    #[must_use]
    pub fn any_table(&self) -> Option<Table<'t>> {
        if let Value::Table(table) = self.value() {
            return Some(table);
        }
        self.refuse("a table");
        None
    }

    /// Returns the tables of a list, each of which may have these keys.
    #[must_use]
    pub fn tables(&self, keys: &Keys<'_>) -> Vec<Table<'t>> {
        let brackets =
            |is: &str| format!("`{0}` {is}; write it with two brackets: `[[{0}]]`", self.path);
        let Value::List(list) = self.value() else {
            self.report(brackets(&format!("is {}", self.type_name())));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in list.iter() {
            if let Value::Table(table) = item.value() {
                table.report_unknown(keys);
                tables.push(table);
            } else {
                item.report(brackets(&format!("holds {}", item.type_name())));
            }
        }
        tables
    }

    /// Reports a problem of the value, at the value.
    pub fn report(&self, what: impl Into<String>) {
        self.report.add(self.span(), what);
    }

    /// Reports a problem of the key, at the key.
    pub fn report_key(&self, what: impl Into<String>) {
        self.report.add(self.key_span, what);
    }

    /// Reports that the value is of another type than `must`, which completes "it must be".
    pub fn refuse(&self, must: &str) {
        self.report(format!("`{}` is {}; it must be {must}", self.path, self.type_name()));
    }

    /// Reports that the value, `given`, is not `must`, which completes "it must be".
    pub fn refuse_value(&self, given: &str, must: &str) {
        self.report(format!("`{}` is `{}`; it must be {must}", self.path, show(given)));
    }

    /// Reports that the value is not one of these words.
    pub fn refuse_word(&self, words: &[&str]) {
        let must = format!("one of {}", list_names(words));
        let Value::Text(given) = self.value() else { return self.refuse(&must) };
        let meant = nearest(words.iter().copied(), given);
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        self.refuse_value(given, &format!("{must}{meant}"));
    }

    /// Returns the end of the value, in bytes, including the tables below it.
    pub(crate) fn end(&self) -> usize {
        let below = match self.value() {
            Value::Table(table) => table.end(),
            Value::List(list) => list.iter().map(|item| item.end()).max().unwrap_or_default(),
            _ => 0,
        };
        below.max(self.span().end)
    }
}

impl<'t> List<'t> {
    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the items.
    pub fn iter(&self) -> impl Iterator<Item = Item<'t>> {
        self.items.iter().map(|value| Item {
            report: self.report,
            key: self.key,
            key_span: value.span().into(),
            value,
            path: self.path.clone(),
        })
    }

    /// Returns the items if all are texts.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        self.items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
    }
}
