//! Every key of the configuration, as data.
//!
//! The table drives all that knows keys: strict reading, errors, layers, `config show`, the JSON schema
//! and the tables of the documentation. What a value means is not known here; the defaults are the core's.

mod decision;
mod defaults;
mod notifications;
mod plugins;
mod records;
mod rules;
mod run;
mod session;
mod undo;

pub use super::kinds::{Kind, Project, toml_text};
use portcullis_engine::SettingValue as Value;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Where it stands: tables with dots between; `*` is any name, a last `**` any names below.
    pub path: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is when nobody says anything; none where it then is not there at all.
    pub default: fn() -> Option<Value>,
    /// What the documentation says in place of a default that is not one value.
    pub default_told: &'static str,
    /// What of it counts in a project's file.
    pub project: Project,
    /// In one line.
    pub doc: &'static str,
}

/// The table, in parts, in the order of the documentation.
const TABLE: [&[Key]; 8] =
    [decision::KEYS, rules::KEYS, session::KEYS, records::KEYS, undo::KEYS, notifications::KEYS, run::KEYS, plugins::KEYS];

/// Every key, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Key> {
    TABLE.into_iter().flatten()
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

/// The table of all pipelines, which are tables of keys themselves.
pub const PIPELINES: &str = "pipelines";
/// What a pipeline has beside the other keys.
pub const PROJECTS: &str = "projects";

/// The key of that path, which stands in the table as it is written here.
pub fn named(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// What stands at a path of the file.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A value of this key.
    Key(&'static Key),
    /// A table with keys in it.
    Table,
    /// Nothing that anybody knows.
    Nothing,
}

/// Finds what stands at a path.
pub fn find(path: &[String]) -> Found {
    let mut inside = false;
    for key in all() {
        match fits(key.path, path) {
            Fit::Whole => return Found::Key(key),
            Fit::Beginning => inside = true,
            Fit::No => {}
        }
    }
    if inside { Found::Table } else { Found::Nothing }
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

/// Whether everything in a table holds for the whole installation.
pub fn is_global(table: &[String]) -> bool {
    let mut keys = all().filter(|key| fits(key.path, table) != Fit::No).peekable();
    keys.peek().is_some() && keys.all(Key::is_global)
}

/// The names that may stand directly below a path, sorted; none where any name may.
pub fn below(path: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = all()
        .filter(|key| path.is_empty() || fits(key.path, path) == Fit::Beginning)
        .filter_map(|key| key.path.split('.').nth(path.len()))
        .filter(|name| !name.starts_with('*'))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Key {
    /// Whether it holds for the whole installation: then no project changes it, and no pipeline.
    pub fn is_global(&self) -> bool {
        self.project == Project::Never
    }

    /// Whether only the organisation and the person say it, trust or not.
    pub fn is_owners(&self) -> bool {
        matches!(self.project, Project::Never | Project::Owner)
    }

    /// Which of two words stands later among those that may be said.
    pub fn later<'a>(&self, a: &'a str, b: &'a str) -> Option<&'a str> {
        let Kind::Choice(words) = self.kind else { return None };
        let at = |word: &str| words.iter().position(|known| *known == word);
        Some(if at(a)? > at(b)? { a } else { b })
    }

    /// The default as it would stand in the file, for people.
    pub fn default_in_words(&self) -> String {
        if !self.default_told.is_empty() {
            return self.default_told.to_owned();
        }
        (self.default)().map(|value| format!("`{}`", toml_text(&value))).unwrap_or_default()
    }
}
