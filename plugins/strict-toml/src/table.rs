//! A table, and its values by key.

use crate::item::Item;
use crate::place::Span;
use crate::report::Report;
use crate::words::{join_path, list_names, nearest};
use std::ops::RangeInclusive;
use toml::de::DeTable;

/// The keys that a table may have.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'k> {
    /// Their names.
    pub names: &'k [&'k str],
    /// The thing that the table describes, with its article: the subject of a message.
    pub owner: &'k str,
}

/// A table of a document.
#[derive(Clone, Debug)]
pub struct Table<'t> {
    report: &'t Report<'t>,
    table: &'t DeTable<'t>,
    head: Span,
    path: String,
}

impl<'t> Table<'t> {
    pub(crate) const fn new(
        report: &'t Report<'t>,
        table: &'t DeTable<'t>,
        head: Span,
        path: String,
    ) -> Self {
        Self { report, table, head, path }
    }

    /// Returns its path, as TOML writes it; empty for the document's own table.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path of a key in it.
    #[must_use]
    pub fn path_of(&self, key: &str) -> String {
        join_path(&self.path, key)
    }

    /// Returns the bytes of its head, or of the whole table if it is written in braces.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.head
    }

    /// Returns line and column of its head, from 1.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        self.report.place(self.head.start)
    }

    /// Returns true if it has no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns true if it has the key, whatever its value.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Item<'t>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Item::new(self.report, key, value, self.path_of(key.get_ref())))
    }

    /// Returns the value of every key, in the document's order.
    #[must_use]
    pub fn entries(&self) -> Vec<Item<'t>> {
        let item = |(key, value): (&'t toml::Spanned<_>, _)| {
            let name: &std::borrow::Cow<'t, str> = key.get_ref();
            Item::new(self.report, key, value, self.path_of(name))
        };
        let mut entries: Vec<_> = self.table.iter().collect();
        // The parser's map is ordered by name; messages follow the document.
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(item).collect()
    }

    /// Returns a text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.text().map(str::to_owned)
    }

    /// Returns `true` or `false`.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.flag()
    }

    /// Returns a whole number within these bounds.
    #[must_use]
    pub fn integer(&self, key: &str, range: RangeInclusive<i64>) -> Option<i64> {
        self.get(key)?.integer(range)
    }

    /// Returns a list of texts.
    #[must_use]
    pub fn texts(&self, key: &str) -> Option<Vec<String>> {
        self.get(key)?.texts()
    }

    /// Returns a table, which may have these keys.
    #[must_use]
    pub fn table(&self, key: &str, keys: &Keys<'_>) -> Option<Self> {
        self.get(key)?.table(keys)
    }

    /// Returns a table that may have any keys.
    #[must_use]
    pub fn any_table(&self, key: &str) -> Option<Self> {
        self.get(key)?.any_table()
    }

    /// Returns the tables of a list, each of which may have these keys.
    #[must_use]
    pub fn tables(&self, key: &str, keys: &Keys<'_>) -> Vec<Self> {
        self.get(key).map(|item| item.tables(keys)).unwrap_or_default()
    }

    /// Reports a problem of the table as a whole, at its head.
    pub fn report(&self, what: impl Into<String>) {
        self.report.add(self.head, what);
    }

    /// Reports each key that is not one of these.
    pub fn report_unknown(&self, keys: &Keys<'_>) {
        let known = |key: &str| keys.names.contains(&key);
        for (key, _) in self.table.iter().filter(|(key, _)| !known(key.get_ref())) {
            let key_span = key.span().into();
            // Past the limit problems are only counted, so no similar name is searched for.
            if self.report.is_full() {
                self.report.add(key_span, String::new());
                continue;
            }
            let fix = match nearest(keys.names.iter().copied(), key.get_ref()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("{} has {}", keys.owner, list_names(keys.names)),
            };
            let path = self.path_of(key.get_ref());
            self.report.add(key_span, format!("`{path}` is unknown; {fix}"));
        }
    }

    /// Returns the end of its last value, in bytes, including the tables below it.
    #[must_use]
    pub fn end(&self) -> usize {
        self.entries().iter().map(Item::end).max().unwrap_or_default()
    }
}
