//! Reads the text of one file: strict TOML, every problem with its position.
//!
//! This module knows the table of keys and the kinds of values, but not layers. An unknown key, a
//! wrong type or an impossible value is a problem: a guard that silently ignores a line of its
//! configuration does not do what its owner expects.

use super::keys::{self, ConfigKey, KeyLookup, PIPELINES, PROJECTS, ValueKind};
use super::problem::{ConfigProblem, MOST};
use crate::toml_text::{LineIndex, Text, integer, nearest, quoted, shown, start, type_of};
use portcullis_core::text::one_line;
use portcullis_engine::{Host, SettingValue as Value};
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most items of a list.
const MOST_ITEMS: usize = 1000;
/// The size, in bytes, above which only the first syntax error is reported: a broken megabyte has a
/// million of them.
const MOST_SYNTAX: usize = 64 << 10;

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigDocument {
    /// Keys for every project, by path.
    pub said: Vec<KeyValue>,
    /// Keys for some projects, in the file's order.
    pub pipelines: Vec<Pipeline>,
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// The key.
    pub key: &'static ConfigKey,
    /// Its path without the pipeline, which identifies it.
    pub path: String,
    /// The text in place of `*`: the plugin's name, or the issue's.
    pub name: String,
    /// The text in place of `**`: the setting's name.
    pub setting: String,
    /// Its value.
    pub value: Value,
    /// Its line and column, from 1.
    pub place: (usize, usize),
}

impl KeyValue {
    /// Returns its path as a file writes it: unusual names of settings are quoted.
    pub fn written(&self) -> String {
        let bare = self.path.split('.').all(is_bare);
        match self.path.strip_suffix(&self.setting) {
            Some(above) if self.key.kind == ValueKind::Setting && !bare => {
                format!("{above}{}", keys::toml_text(&Value::Text(self.setting.clone())))
            }
            _ => self.path.clone(),
        }
    }
}

/// Keys that override the others for some projects.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// Globs of the projects' folders.
    pub projects: Vec<String>,
    /// Its keys.
    pub said: Vec<KeyValue>,
    /// Its line and column, from 1.
    pub place: (usize, usize),
}

impl ConfigDocument {
    /// Returns all its keys, for every project and for some.
    pub fn all(&self) -> impl Iterator<Item = &KeyValue> {
        self.said.iter().chain(self.pipelines.iter().flat_map(|pipeline| &pipeline.said))
    }
}

/// Parses a text. The problems are in the file's order; if there is any, the document must not be
/// used.
pub fn parse(text: &str) -> (ConfigDocument, Vec<ConfigProblem>, usize) {
    let (table, errors) = if text.len() <= MOST_SYNTAX {
        DeTable::parse_recoverable(text)
    } else {
        match DeTable::parse(text) {
            Ok(table) => (table, Vec::new()),
            Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
        }
    };
    let mut reader = Reader {
        lines: LineIndex::of(text),
        problems: Vec::new(),
        unsound: BTreeSet::new(),
        more: 0,
    };
    reader.syntax(&errors);
    let document = reader.document(table.get_ref());
    reader.problems.sort();
    (document, reader.problems, reader.more)
}

struct Reader<'a> {
    lines: LineIndex<'a>,
    problems: Vec<ConfigProblem>,
    /// Lines that are not valid TOML: their parse results are ignored.
    unsound: BTreeSet<usize>,
    more: usize,
}

impl Reader<'_> {
    fn syntax(&mut self, errors: &[toml::de::Error]) {
        for error in errors {
            let place = self.lines.place(error.span().unwrap_or_default().start);
            let message = one_line(&error.message().replace('\n', "; "), 300);
            if self.problems.len() >= MOST {
                self.more += 1;
            } else if self.unsound.insert(place.0) {
                self.problems.push(ConfigProblem {
                    place: Some(place),
                    what: format!("it is not TOML: {message}"),
                });
            }
        }
    }

    fn problem(&mut self, at: usize, what: String) {
        let place = if self.problems.len() < MOST { self.lines.place(at) } else { (0, 0) };
        self.problem_in(place, what);
    }

    fn problem_in(&mut self, place: (usize, usize), what: String) {
        if self.problems.len() >= MOST {
            self.more += 1;
        } else if !self.unsound.contains(&place.0) {
            self.problems.push(ConfigProblem { place: Some(place), what });
        }
    }

    fn document(&mut self, table: &DeTable<'_>) -> ConfigDocument {
        let mut document = ConfigDocument::default();
        let mut path = Path::default();
        for (key, value) in table {
            if key.get_ref() == PIPELINES {
                document.pipelines = self.pipelines(key, value);
            } else {
                self.entry(&mut path, key, value, &mut document.said);
            }
        }
        self.twice(&document.said);
        document
    }

    fn pipelines(
        &mut self,
        key: &Spanned<Text<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Vec<Pipeline> {
        let Some(table) = value.get_ref().as_table() else {
            self.problem(
                start(key),
                format!(
                    "`{PIPELINES}` is {}; it must be a table: `[{PIPELINES}.NAME]`",
                    type_of(value)
                ),
            );
            return Vec::new();
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| start(name));
        entries.into_iter().filter_map(|(name, value)| self.pipeline(name, value)).collect()
    }

    fn pipeline(
        &mut self,
        name: &Spanned<Text<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Pipeline> {
        let at = start(name);
        let shown = Path::default().with(PIPELINES).with(name.get_ref());
        if !is_name(name.get_ref()) {
            self.problem(at, format!("`{shown}`: a pipeline's name {NAMES}"));
        }
        let Some(table) = value.get_ref().as_table() else {
            self.problem(at, format!("`{shown}` is {}; it must be a table", type_of(value)));
            return None;
        };
        let mut pipeline = Pipeline {
            name: name.get_ref().to_string(),
            projects: Vec::new(),
            said: Vec::new(),
            place: self.lines.place(at),
        };
        let mut path = Path { parts: Vec::new(), pipeline: Some(shown.to_string()) };
        let mut chosen = false;
        for (key, value) in table {
            if key.get_ref() == PROJECTS {
                chosen = true;
                let whole = format!("{shown}.{PROJECTS}");
                let wanted =
                    keys::named("pipelines.*.projects").map_or(ValueKind::Globs, |key| key.kind);
                if let Some(Value::Texts(projects)) = self.checked(&whole, wanted, value) {
                    pipeline.projects = projects;
                }
            } else if key.get_ref() == PIPELINES {
                self.problem(
                    start(key),
                    format!("`{shown}.{PIPELINES}` is unknown; pipelines cannot be nested"),
                );
            } else if keys::is_global(&[key.get_ref().to_string()]) {
                let what = format!(
                    "`{shown}.{}` holds for the whole installation; put it outside of the pipelines",
                    key.get_ref()
                );
                self.problem(start(key), what);
            } else {
                self.entry(&mut path, key, value, &mut pipeline.said);
            }
        }
        if !chosen {
            self.problem(
                at,
                format!("`{shown}` has no `{PROJECTS}`, so it never applies; name the folders: `{PROJECTS} = [\"~/work/*\"]`"),
            );
        }
        self.twice(&pipeline.said);
        Some(pipeline)
    }

    fn entry(
        &mut self,
        path: &mut Path,
        key: &Spanned<Text<'_>>,
        value: &Spanned<DeValue<'_>>,
        said: &mut Vec<KeyValue>,
    ) {
        path.parts.push(key.get_ref().to_string());
        match (keys::find(&path.parts), value.get_ref()) {
            (KeyLookup::Nothing, _) => self.unknown(start(key), path),
            (KeyLookup::Table, DeValue::Table(table)) => self.table(start(key), path, table, said),
            (KeyLookup::Table, _) => self.problem(
                start(value),
                format!("`{path}` is {}; it must be a table", type_of(value)),
            ),
            (KeyLookup::Key(ConfigKey { kind: ValueKind::Setting, .. }), DeValue::Table(table)) => {
                self.table(start(key), path, table, said)
            }
            (KeyLookup::Key(key_of), _) => {
                if let Some(checked) = self.checked(&path.to_string(), key_of.kind, value) {
                    let place = self.lines.place(start(key));
                    said.push(path.said(key_of, checked, place));
                }
            }
        }
        path.parts.pop();
    }

    fn table(&mut self, at: usize, path: &mut Path, table: &DeTable<'_>, said: &mut Vec<KeyValue>) {
        let named = match path.parts.as_slice() {
            [section, plugin] if section == "plugins" => Some((plugin, "plugin")),
            [section, table, channel] if section == "notifications" && table == "channels" => {
                Some((channel, "channel"))
            }
            _ => None,
        };
        if let Some((name, what)) = named
            && !is_name(name)
        {
            self.problem(at, format!("`{path}`: a {what}'s name {NAMES}"));
        } else if named.is_some() && table.is_empty() {
            self.problem(at, format!("`{path}` sets nothing; give it a key, or remove it"));
        }
        for (key, value) in table {
            self.entry(path, key, value, said);
        }
    }

    fn unknown(&mut self, at: usize, path: &Path) {
        if self.problems.len() >= MOST {
            self.more += 1;
            return;
        }
        let given = path.parts.last().map(String::as_str).unwrap_or_default();
        let above = path.parts.get(..path.parts.len().saturating_sub(1)).unwrap_or_default();
        let siblings = keys::below(above);
        let mut parent = path.clone();
        parent.parts.pop();
        let mend = match nearest(siblings.iter().copied(), given) {
            Some(name) => format!("did you mean `{}`?", parent.with(name)),
            None => match keys::all().find(|key| key.path.rsplit('.').next() == Some(given)) {
                Some(key) => format!("did you mean `{}`?", key.path.replace(".*", ".NAME")),
                None if above.is_empty() => format!("known here are {}", quoted(&siblings)),
                None => format!("`{parent}` has {}", quoted(&siblings)),
            },
        };
        self.problem(at, format!("`{path}` is unknown; {mend}"));
    }

    /// Reports settings of a plugin that are written twice: as a table, and with a dot in the name.
    fn twice(&mut self, said: &[KeyValue]) {
        let mut seen = BTreeSet::new();
        for again in said.iter().filter(|said| !said.setting.is_empty()) {
            if !seen.insert(&again.path) {
                let what = format!("`{}` is given twice", shown(&again.path));
                self.problem_in(again.place, what);
            }
        }
    }

    /// Returns the value, if it is allowed for the key.
    fn checked(
        &mut self,
        path: &str,
        kind: ValueKind,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let at = start(value);
        let Some(typed) = self.typed(path, kind, value) else {
            self.problem(
                at,
                format!("`{path}` is {}; it must be {}", type_of(value), kind.in_words()),
            );
            return None;
        };
        let wrong = match (kind, &typed) {
            (ValueKind::Integer(least, most), Value::Integer(number))
                if !(least..=most).contains(number) =>
            {
                Some(number.to_string())
            }
            (ValueKind::Choice(words), Value::Text(word)) if !words.contains(&word.as_str()) => {
                Some(word.clone())
            }
            (ValueKind::Path, Value::Text(path)) if path.is_empty() || path.contains('\0') => {
                Some(path.clone())
            }
            (ValueKind::Score, Value::Decimal(number)) if !(0.0..=1.0).contains(number) => {
                Some(number.to_string())
            }
            (ValueKind::Setting, Value::Decimal(number)) if !number.is_finite() => {
                Some(number.to_string())
            }
            (ValueKind::Choices(words), Value::Texts(items)) => {
                items.iter().find(|item| !words.contains(&item.as_str())).cloned()
            }
            (ValueKind::Paths, Value::Texts(items)) => {
                items.iter().find(|item| !is_path(item)).cloned()
            }
            (ValueKind::Variables, Value::Texts(items)) => {
                items.iter().find(|item| !is_variable(item)).cloned()
            }
            (ValueKind::Hosts, Value::Texts(items)) => {
                items.iter().find(|item| Host::parse(item).is_none()).cloned()
            }
            (ValueKind::PathGlobs, Value::Texts(items)) => {
                items.iter().find(|item| !is_path_glob(item)).cloned()
            }
            (ValueKind::Plugins, Value::Texts(items)) => {
                items.iter().find(|item| !is_name(item)).cloned()
            }
            (ValueKind::Globs, Value::Texts(items)) => {
                return self.globs(path, items, at).then_some(typed);
            }
            _ => None,
        };
        let Some(wrong) = wrong else { return Some(typed) };
        let meant = match kind {
            ValueKind::Choice(words) | ValueKind::Choices(words) => {
                nearest(words.iter().copied(), &wrong)
            }
            _ => None,
        };
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        let holds = if matches!(typed, Value::Texts(_)) { "holds" } else { "is" };
        let plain = if matches!(kind, ValueKind::Paths | ValueKind::PathGlobs) {
            ", without `.` or `..` in them"
        } else {
            ""
        };
        self.problem(
            at,
            format!(
                "`{path}` {holds} `{}`; it must be {}{plain}{meant}",
                shown(&wrong),
                kind.in_words()
            ),
        );
        None
    }

    fn globs(&mut self, path: &str, items: &[String], at: usize) -> bool {
        let problem = items.iter().find_map(|item| {
            if !item.starts_with('/') && !item.starts_with("~/") {
                return Some(format!(
                    "`{path}` holds `{}`; it must be {}",
                    shown(item),
                    ValueKind::Globs.in_words()
                ));
            }
            let error = glob::Pattern::new(item).err()?;
            Some(format!(
                "`{path}` holds `{}`, which is not a valid glob: {}",
                shown(item),
                error.msg
            ))
        });
        let problem = problem.or_else(|| {
            items.is_empty().then(|| format!("`{path}` is empty, so the pipeline never applies"))
        });
        problem.into_iter().for_each(|what| self.problem(at, what));
        items.iter().all(|item| glob::Pattern::new(item).is_ok())
    }

    /// Returns the value in the key's type; `None` for another type.
    fn typed(
        &mut self,
        path: &str,
        kind: ValueKind,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        Some(match (kind, value.get_ref()) {
            (
                ValueKind::Choice(_) | ValueKind::Text | ValueKind::Path | ValueKind::Setting,
                DeValue::String(text),
            ) => Value::Text(text.to_string()),
            (ValueKind::Score, DeValue::Integer(number)) => Value::Decimal(integer(number)? as f64),
            (ValueKind::Flag | ValueKind::Setting, DeValue::Boolean(flag)) => Value::Flag(*flag),
            (ValueKind::Integer(..) | ValueKind::Setting, DeValue::Integer(number)) => {
                Value::Integer(integer(number)?)
            }
            (ValueKind::Setting | ValueKind::Score, DeValue::Float(number)) => {
                Value::Decimal(number.as_str().parse().ok()?)
            }
            (
                ValueKind::Choices(_)
                | ValueKind::Paths
                | ValueKind::Globs
                | ValueKind::PathGlobs
                | ValueKind::Plugins
                | ValueKind::Files
                | ValueKind::Names
                | ValueKind::Variables
                | ValueKind::Hosts
                | ValueKind::Setting,
                DeValue::Array(items),
            ) => {
                if items.len() > MOST_ITEMS {
                    self.problem(
                        start(value),
                        format!(
                            "`{path}` has {} items; at most {MOST_ITEMS} are read",
                            items.len()
                        ),
                    );
                    return Some(Value::Texts(Vec::new()));
                }
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
                Value::Texts(texts?)
            }
            _ => return None,
        })
    }
}

/// The reader's position.
#[derive(Clone, Default)]
struct Path {
    parts: Vec<String>,
    pipeline: Option<String>,
}

impl Path {
    fn with(&self, part: &str) -> Self {
        let mut longer = self.clone();
        longer.parts.push(part.to_owned());
        longer
    }

    fn said(&self, key: &'static ConfigKey, value: Value, place: (usize, usize)) -> KeyValue {
        let (mut name, mut setting) = (String::new(), Vec::new());
        let mut wanted = key.path.split('.');
        for part in &self.parts {
            match wanted.next() {
                Some("*") => name.clone_from(part),
                Some("**") | None => setting.push(part.as_str()),
                Some(_) => {}
            }
        }
        KeyValue { key, path: self.parts.join("."), name, setting: setting.join("."), value, place }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(|part| quoted_part(part)).collect();
        match &self.pipeline {
            Some(pipeline) => write!(f, "{pipeline}.{}", parts.join(".")),
            None => f.write_str(&parts.join(".")),
        }
    }
}

/// Formats a part of a path as TOML, within bounds.
fn quoted_part(part: &str) -> String {
    let (bare, part) = (is_bare(part), shown(part));
    if bare { part } else { format!("\"{part}\"") }
}

/// Returns true if a part of a path needs no quotes.
fn is_bare(part: &str) -> bool {
    !part.is_empty()
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

const NAMES: &str = "has 1 to 64 lower case letters, digits, `-` and `_`";

/// Returns true if a plugin or a pipeline can have that name.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
        })
}

/// Returns true for an absolute path, or one below the home folder, without `.`, `..` or NUL in it.
fn is_path(path: &str) -> bool {
    let below = path.strip_prefix("~/").or_else(|| path.strip_prefix('/'));
    below.is_some_and(|below| {
        !below.contains('\0') && !below.split('/').any(|part| matches!(part, "." | ".."))
    })
}

/// Returns true if an environment variable can have that name.
pub fn is_variable(item: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    item.len() <= 128
        && item.bytes().all(fits)
        && item.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// Returns true for a glob that, if it is relative, stays in the project.
fn is_path_glob(text: &str) -> bool {
    let below = text.strip_prefix("~/").or_else(|| text.strip_prefix('/')).unwrap_or(text);
    let plain = !below.is_empty()
        && !below.contains('\0')
        && !below.starts_with('~')
        && !below.split('/').any(|part| matches!(part, "." | ".."));
    plain && glob::Pattern::new(text).is_ok()
}
