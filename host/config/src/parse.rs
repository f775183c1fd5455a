//! Reads the text of one file: strict TOML, every problem with its position.
//!
//! This module knows the table of keys and the kinds of values, but not layers. An unknown key, a
//! wrong type or an impossible value is a problem: a guard that silently ignores a line of its
//! configuration does not do what its owner expects.

use super::answers;
use super::hidden_tools;
use super::keys::{self, ConfigKey, KeyLookup, PIPELINES, PROJECTS, ValueKind};
use super::names::is_name;
use super::problem::ConfigProblem;
use portcullis_core::mask::{MOST_PATTERNS, check_pattern};
use portcullis_engine::{Host, SettingValue as Value};
use portcullis_strict_toml::{
    Document, Item, Table, Value as TomlValue, is_bare_key, list_names, nearest, show,
};
use std::collections::BTreeSet;

/// The most items of a list.
const MOST_ITEMS: usize = 1000;

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigDocument {
    /// Keys for every project, by path.
    pub said: Vec<KeyValue>,
    /// Keys for some projects, in the file's order.
    pub pipelines: Vec<PipelineSection>,
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
        let bare = self.path.split('.').all(is_bare_key);
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
pub struct PipelineSection {
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
/// used. The last value is the number of omitted problems.
pub fn parse_document(text: &str) -> (ConfigDocument, Vec<ConfigProblem>, usize) {
    let file = Document::parse(text);
    let mut document = ConfigDocument::default();
    let mut section = Section::default();
    for item in file.any_root().entries() {
        if item.key() == PIPELINES {
            let pipelines = item.any_table().map(|table| table.entries()).unwrap_or_default();
            document.pipelines = pipelines.iter().filter_map(read_pipeline).collect();
        } else {
            section.read(&file.any_root(), &item);
        }
    }
    document.said = section.said;
    let (problems, omitted) = ConfigProblem::from_document(&file);
    (document, problems, omitted)
}

fn read_pipeline(item: &Item<'_>) -> Option<PipelineSection> {
    let path = item.path();
    if !is_name(item.key()) {
        item.report_key(format!("`{path}`: a pipeline's name {NAMES}"));
    }
    let table = item.any_table()?;
    let mut projects = Vec::new();
    let mut section = Section::default();
    for item in table.entries() {
        let path = item.path();
        if item.key() == PROJECTS {
            let kind =
                keys::find_by_name("pipelines.*.projects").map_or(ValueKind::Globs, |key| key.kind);
            if let Some(Value::Texts(globs)) = read_value(&item, kind) {
                projects = globs;
            }
        } else if item.key() == PIPELINES {
            item.report_key(format!("`{path}` is unknown; pipelines cannot be nested"));
        } else if keys::is_global(&[item.key().to_owned()]) {
            item.report_key(format!(
                "`{path}` applies to the whole installation; put it outside of the pipelines"
            ));
        } else {
            section.read(&table, &item);
        }
    }
    if !table.contains(PROJECTS) {
        item.report_key(format!(
            "`{path}` has no `{PROJECTS}`, so it never applies; name the \
             folders: `{PROJECTS} = [\"~/work/*\"]`"
        ));
    }
    let (name, place) = (item.key().to_owned(), item.place());
    Some(PipelineSection { name, projects, said: section.said, place })
}

/// The keys for every project, or those of one pipeline.
#[derive(Default)]
struct Section {
    /// The path of the table that is being read, without the pipeline.
    parts: Vec<String>,
    said: Vec<KeyValue>,
    /// The paths of plugins' settings, which can be written in two ways: as a table, and with a dot
    /// in the name.
    settings: BTreeSet<String>,
}

impl Section {
    fn read(&mut self, parent: &Table<'_>, item: &Item<'_>) {
        self.parts.push(item.key().to_owned());
        match (keys::look_up(&self.parts), item.value()) {
            (KeyLookup::Nothing, _) => self.report_unknown(parent, item),
            (KeyLookup::Table, TomlValue::Table(table))
            | (
                KeyLookup::Key(ConfigKey { kind: ValueKind::Setting, .. }),
                TomlValue::Table(table),
            ) => self.read_table(item, &table),
            (KeyLookup::Table, _) => item.refuse("a table"),
            (KeyLookup::Key(key), _) => {
                if let Some(value) = read_value(item, key.kind) {
                    self.push(key, item, value);
                }
            }
        }
        self.parts.pop();
    }

    fn read_table(&mut self, item: &Item<'_>, table: &Table<'_>) {
        let named = match self.parts.as_slice() {
            [section, _] if section == "plugins" => Some("a plugin"),
            [section, _] if section == "exports" => Some("an export"),
            [section, table, _] if section == "notifications" && table == "channels" => {
                Some("a channel")
            }
            _ => None,
        };
        if let Some(what) = named
            && !is_name(item.key())
        {
            item.report_key(format!("`{}`: {what}'s name {NAMES}", item.path()));
        } else if named.is_some() && table.entries().is_empty() {
            let path = item.path();
            item.report_key(format!("`{path}` sets nothing; give it a key, or remove it"));
        }
        for item in table.entries() {
            self.read(table, &item);
        }
    }

    fn push(&mut self, key: &'static ConfigKey, item: &Item<'_>, value: Value) {
        let (mut name, mut setting) = (String::new(), Vec::new());
        let mut wanted = key.path.split('.');
        for part in &self.parts {
            match wanted.next() {
                Some("*") => name.clone_from(part),
                Some("**") | None => setting.push(part.as_str()),
                Some(_) => {}
            }
        }
        let (path, setting) = (self.parts.join("."), setting.join("."));
        if !setting.is_empty() && !self.settings.insert(path.clone()) {
            item.report_key(format!("`{}` is given twice", show(&path)));
        }
        self.said.push(KeyValue { key, path, name, setting, value, place: item.place() });
    }

    fn report_unknown(&self, parent: &Table<'_>, item: &Item<'_>) {
        // Past the limit problems are only counted, so no similar name is searched for.
        if item.is_full() {
            return item.report_key("");
        }
        let above = self.parts.get(..self.parts.len().saturating_sub(1)).unwrap_or_default();
        let siblings = keys::list_below(above);
        let elsewhere =
            || keys::all_keys().find(|key| key.path.rsplit('.').next() == Some(item.key()));
        let fix = if let Some(name) = nearest(siblings.iter().copied(), item.key()) {
            format!("did you mean `{}`?", parent.path_of(name))
        } else if let Some(key) = elsewhere() {
            format!("did you mean `{}`?", key.path.replace(".*", ".NAME"))
        } else if above.is_empty() {
            format!("known here are {}", list_names(&siblings))
        } else {
            format!("`{}` has {}", parent.path(), list_names(&siblings))
        };
        item.report_key(format!("`{}` is unknown; {fix}", item.path()));
    }
}

/// Returns the value, if it is allowed for the kind.
fn read_value(item: &Item<'_>, kind: ValueKind) -> Option<Value> {
    if let TomlValue::List(list) = item.value()
        // The length comes first: its problem is reported, not one for each item.
        && list.len() > MOST_ITEMS
    {
        item.list(MOST_ITEMS)?;
    }
    let value = read_typed(item, kind)?;
    match (kind, &value) {
        (ValueKind::Choice(words), Value::Text(_)) => {
            item.word(words)?;
        }
        (ValueKind::Globs, Value::Texts(items)) => check_globs(item, items)?,
        (ValueKind::Integer(least, most), Value::Integer(_)) => {
            item.integer(least..=most)?;
        }
        _ => {
            if let Some(wrong) = find_wrong(kind, &value) {
                report_wrong(item, kind, &value, &wrong);
                return None;
            }
        }
    }
    Some(value)
}

/// Returns a plugin's own setting: text, a finite number, a flag or a list of texts.
pub fn read_setting(item: &Item<'_>) -> Option<Value> {
    let kind = ValueKind::Setting;
    let value = read_typed(item, kind)?;
    if let Some(wrong) = find_wrong(kind, &value) {
        report_wrong(item, kind, &value, &wrong);
        return None;
    }
    Some(value)
}

/// Returns the settings in a table, with their items. Nested tables become dotted names.
pub fn read_settings<'t>(table: &Table<'t>) -> Vec<(String, Value, Item<'t>)> {
    fn flatten<'t>(table: &Table<'t>, above: &str, found: &mut Vec<(String, Value, Item<'t>)>) {
        for item in table.entries() {
            let name = format!("{above}{}", item.key());
            if let TomlValue::Table(below) = item.value() {
                flatten(&below, &format!("{name}."), found);
            } else if let Some(value) = read_setting(&item) {
                found.push((name, value, item));
            }
        }
    }
    let mut found = Vec::new();
    flatten(table, "", &mut found);
    let mut names = BTreeSet::new();
    for (name, _, item) in &found {
        if !names.insert(name) {
            item.report_key(format!("`{}` is given twice; remove one of them", item.path()));
        }
    }
    found
}

/// Returns the value in the kind's type.
fn read_typed(item: &Item<'_>, kind: ValueKind) -> Option<Value> {
    use ValueKind::{Choice, File, Flag, Integer, Path, Score, Setting, Text};
    let value = match (kind, item.value()) {
        (Choice(_) | Text | Path | File | Setting, TomlValue::Text(text)) => {
            Some(Value::Text(text.to_owned()))
        }
        (Score, TomlValue::Integer(number)) => Some(Value::Decimal(number as f64)),
        (Integer(..) | Setting, TomlValue::Integer(number)) => Some(Value::Integer(number)),
        (Score | Setting, TomlValue::Decimal(number)) => Some(Value::Decimal(number)),
        (Flag | Setting, TomlValue::Flag(flag)) => Some(Value::Flag(flag)),
        (Choice(_) | Text | Path | File | Score | Integer(..) | Flag, _) => None,
        (_, TomlValue::List(list)) => list.texts().map(Value::Texts),
        _ => None,
    };
    if value.is_none() {
        item.refuse(&kind.in_words());
    }
    value
}

/// Returns the part of a value that its kind does not allow.
fn find_wrong(kind: ValueKind, value: &Value) -> Option<String> {
    let fits = |item: &str| match kind {
        ValueKind::Choices(words) => words.contains(&item),
        ValueKind::Answers => answers::is_answer(item),
        ValueKind::Paths => is_path(item),
        ValueKind::Variables => is_variable(item),
        ValueKind::Hosts => Host::parse_host(item).is_some(),
        ValueKind::Tools => hidden_tools::is_pattern(item),
        ValueKind::Patterns => check_pattern(item).is_ok(),
        ValueKind::PathGlobs => is_path_glob(item),
        ValueKind::Plugins => is_name(item),
        ValueKind::Path | ValueKind::File => !item.is_empty() && !item.contains('\0'),
        _ => true,
    };
    match value {
        Value::Text(text) => (!fits(text)).then(|| text.clone()),
        Value::Texts(items) => {
            let most = if kind == ValueKind::Patterns { MOST_PATTERNS } else { usize::MAX };
            items.iter().find(|item| !fits(item)).or_else(|| items.get(most)).cloned()
        }
        Value::Decimal(number) => {
            let fits = match kind {
                ValueKind::Score => (0.0..=1.0).contains(number),
                _ => number.is_finite(),
            };
            (!fits).then(|| number.to_string())
        }
        Value::Integer(_) | Value::Flag(_) => None,
    }
}

fn report_wrong(item: &Item<'_>, kind: ValueKind, value: &Value, wrong: &str) {
    let holds = if matches!(value, Value::Texts(_)) { "holds" } else { "is" };
    let plain = match kind {
        ValueKind::Paths | ValueKind::PathGlobs => ", without `.` or `..` in them",
        _ => "",
    };
    let meant = match kind {
        ValueKind::Choices(words) => nearest(words.iter().copied(), wrong),
        ValueKind::Answers => answers::find_meant(wrong),
        _ => None,
    };
    let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
    item.report(format!(
        "`{}` {holds} `{}`; it must be {}{plain}{meant}",
        item.path(),
        show(wrong),
        kind.in_words()
    ));
}

fn check_globs(item: &Item<'_>, globs: &[String]) -> Option<()> {
    let path = item.path();
    if globs.is_empty() {
        item.report(format!("`{path}` is empty, so the pipeline never applies"));
        return None;
    }
    for text in globs {
        let glob = show(text);
        if !text.starts_with('/') && !text.starts_with("~/") {
            let must = ValueKind::Globs.in_words();
            item.report(format!("`{path}` holds `{glob}`; it must be {must}"));
            return None;
        }
        if let Err(error) = glob::Pattern::new(text) {
            let why = error.msg;
            item.report(format!("`{path}` holds `{glob}`, which is not a valid glob: {why}"));
            return None;
        }
    }
    Some(())
}

const NAMES: &str = "has 1 to 64 lower case letters, digits, `-` and `_`";

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
