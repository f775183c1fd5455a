//! Every key of the configuration, as data.
//!
//! The table drives all code that knows keys: strict reading, errors, layers, `config show`, the
//! JSON schema and the tables of the documentation. The meaning of the values is not known here;
//! the defaults are the core's.

mod decision;
mod defaults;
mod exports;
mod notifications;
mod plugins;
mod records;
mod rules;
mod run;
mod session;
mod undo;
mod upgrade;

pub use super::kinds::{ProjectScope, ValueKind, toml_text};
pub use decision::PROFILE_NAMES;
use portcullis_engine::SettingValue as Value;

/// One key.
#[derive(Debug)]
pub struct ConfigKey {
    /// Its path: tables separated by dots; `*` is any name, a final `**` any names below.
    pub path: &'static str,
    /// The allowed values.
    pub kind: ValueKind,
    /// The default; `None` if the key then has no value at all.
    pub default: fn() -> Option<Value>,
    /// The documentation's text for a default that is not one value.
    pub default_text: &'static str,
    /// The values that count in a project's file.
    pub project: ProjectScope,
    /// The description, in one line.
    pub doc: &'static str,
}

/// The table, in parts, in the order of the documentation.
const TABLE: [&[ConfigKey]; 10] = [
    decision::KEYS,
    rules::KEYS,
    session::KEYS,
    records::KEYS,
    undo::KEYS,
    notifications::KEYS,
    exports::KEYS,
    run::KEYS,
    upgrade::KEYS,
    plugins::KEYS,
];

/// Returns every key, in the order of the documentation.
pub fn all_keys() -> impl Iterator<Item = &'static ConfigKey> {
    TABLE.into_iter().flatten()
}

impl PartialEq for ConfigKey {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

/// The table of all pipelines, which are tables of keys themselves.
pub const PIPELINES: &str = "pipelines";
/// The key that a pipeline has in addition to the other keys.
pub const PROJECTS: &str = "projects";

/// Returns the key with exactly that path in the table.
pub fn find_by_name(path: &str) -> Option<&'static ConfigKey> {
    all_keys().find(|key| key.path == path)
}

/// The result of looking up a path of the file.
#[derive(Clone, Copy, Debug)]
pub enum KeyLookup {
    /// A value of this key.
    Key(&'static ConfigKey),
    /// A table that contains keys.
    Table,
    /// Nothing known.
    Nothing,
}

/// Looks up a path.
pub fn look_up(path: &[String]) -> KeyLookup {
    let mut inside = false;
    for key in all_keys() {
        match fits(key.path, path) {
            Fit::Whole => return KeyLookup::Key(key),
            Fit::Beginning => inside = true,
            Fit::No => {}
        }
    }
    if inside { KeyLookup::Table } else { KeyLookup::Nothing }
}

#[derive(PartialEq)]
enum Fit {
    Whole,
    Beginning,
    No,
}

fn fits(pattern: &str, path: &[String]) -> Fit {
    let mut wanted = pattern.split('.');
    for part in path {
        match wanted.next() {
            Some("**") => return Fit::Whole,
            Some("*") => {}
            Some(name) if name == part => {}
            _ => return Fit::No,
        }
    }
    if wanted.next().is_none() { Fit::Whole } else { Fit::Beginning }
}

/// Returns true if every key in a table applies to the whole installation.
pub fn is_global(table: &[String]) -> bool {
    let mut keys = all_keys().filter(|key| fits(key.path, table) != Fit::No).peekable();
    keys.peek().is_some() && keys.all(ConfigKey::is_global)
}

/// Returns the names allowed directly below a path, sorted; empty if any name is allowed.
pub fn list_below(path: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = all_keys()
        .filter(|key| path.is_empty() || fits(key.path, path) == Fit::Beginning)
        .filter_map(|key| key.path.split('.').nth(path.len()))
        .filter(|name| !name.starts_with('*'))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl ConfigKey {
    /// Returns true if it applies to the whole installation: then neither a project nor a pipeline
    /// can change it.
    pub fn is_global(&self) -> bool {
        self.project == ProjectScope::Never
    }

    /// Returns true if only the organisation and the person can set it, even with trust.
    pub fn is_owners(&self) -> bool {
        matches!(self.project, ProjectScope::Never | ProjectScope::Owner)
    }

    /// Returns the later one of two words in the list of allowed words.
    pub fn later_of<'a>(&self, a: &'a str, b: &'a str) -> Option<&'a str> {
        let ValueKind::Choice(words) = self.kind else { return None };
        let at = |word: &str| words.iter().position(|known| *known == word);
        Some(if at(a)? > at(b)? { a } else { b })
    }

    /// Returns the default as it would be written in the file, for people.
    pub fn default_in_words(&self) -> String {
        if !self.default_text.is_empty() {
            return self.default_text.to_owned();
        }
        (self.default)().map(|value| format!("`{}`", toml_text(&value))).unwrap_or_default()
    }
}
