//! The settings of builtin plugins, checked against what their descriptors declare.
//!
//! So that a slip is an error with its file and line. A plugin checks its settings itself once more when it
//! is loaded, third-party ones do so alone, and what a plugin says is final.

use super::keys::toml_text;
use super::parse::Said;
use super::problem::{MOST, Problem};
use crate::toml_text::nearest;
use portcullis_core::intervene::Kind as Intervention;
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A setting as a descriptor declares it.
#[derive(Clone, Debug, Deserialize)]
pub struct Declared {
    /// Its name, with dots between tables; a last `*` is every name of that table.
    pub key: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Type,
    /// What it is when nobody says anything.
    pub default: serde_json::Value,
    /// The least number.
    pub minimum: Option<f64>,
    /// The greatest number.
    pub maximum: Option<f64>,
    /// In one line.
    pub description: String,
}

/// The types of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// Any number. What languages without an SDK call a score is one from 0 to 1.
    #[serde(alias = "score")]
    Decimal,
    /// Yes or no.
    Flag,
    /// A list of texts.
    Texts,
}

/// What a builtin plugin declares; none for any other.
pub fn declared(plugin: &str) -> Option<Vec<Declared>> {
    #[derive(Deserialize)]
    struct Descriptor {
        settings: Vec<Declared>,
    }
    let descriptor: Descriptor = serde_json::from_str(portcullis_builtin::find(plugin)?.descriptor).ok()?;
    Some(descriptor.settings)
}

/// What is wrong with settings of builtin plugins; the first of it, where it is much.
pub fn wrong_settings<'a>(said: impl Iterator<Item = &'a Said>) -> Vec<Problem> {
    let mut known: BTreeMap<&str, Option<Vec<Declared>>> = BTreeMap::new();
    let mut problems = Vec::new();
    for said in said.filter(|said| !said.setting.is_empty()) {
        let Some(declared) = known.entry(&said.name).or_insert_with(|| declared(&said.name)) else { continue };
        if let Some(what) = wrong(said, declared) {
            problems.push(Problem { place: Some(said.place), what });
        }
        if problems.len() > MOST {
            break;
        }
    }
    problems
}

/// Names under `interventions.plugins` that are no interventions.
pub fn wrong_interventions<'a>(said: impl Iterator<Item = &'a Said>) -> Vec<Problem> {
    let names = || Intervention::ALL.iter().map(|kind| kind.as_str());
    let wrong = |said: &&Said| said.key.path == "interventions.plugins.*" && !names().any(|name| name == said.name);
    let problem = |said: &Said| {
        let mend = match nearest(names(), &said.name) {
            Some(name) => format!("did you mean `interventions.plugins.{name}`?"),
            None => format!("the interventions are {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        Problem { place: Some(said.place), what: format!("`{}` is unknown; {mend}", one_line(&said.path, 128)) }
    };
    said.filter(wrong).take(MOST).map(problem).collect()
}

fn wrong(said: &Said, declared: &[Declared]) -> Option<String> {
    misfit(declared, &said.name, (&said.setting, &said.value), (&said.path, &format!("plugins.{}.settings.", said.name)))
}

/// What is wrong with a setting of a plugin that declares these. `path` is how the setting's name was written, `above`
/// what stands before the names of others.
pub fn misfit(declared: &[Declared], plugin: &str, (key, value): (&str, &Value), (path, above): (&str, &str)) -> Option<String> {
    let path = one_line(path, 128);
    let Some(setting) = declared.iter().find(|setting| setting.covers(key)) else {
        let names = || declared.iter().map(|setting| setting.key.as_str());
        let mend = match nearest(names(), key) {
            Some(name) => format!("did you mean `{above}{name}`?"),
            None if declared.is_empty() => format!("the plugin `{plugin}` has no settings"),
            None => format!("the plugin `{plugin}` has {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        return Some(format!("`{path}` is unknown; {mend}"));
    };
    let fits = match (setting.kind, value) {
        (Type::Integer | Type::Decimal, Value::Integer(number)) => setting.holds(*number as f64),
        (Type::Decimal, Value::Decimal(number)) => setting.holds(*number),
        (Type::Text, Value::Text(_)) | (Type::Flag, Value::Flag(_)) | (Type::Texts, Value::Texts(_)) => true,
        _ => false,
    };
    (!fits).then(|| format!("`{path}` is `{}`; it must be {}", one_line(&toml_text(value), 64), setting.in_words()))
}

impl Declared {
    /// Whether a setting of that name is meant.
    fn covers(&self, name: &str) -> bool {
        match self.key.strip_suffix('*') {
            Some(table) => name.strip_prefix(table).is_some_and(|rest| !rest.is_empty()),
            None => self.key == name,
        }
    }

    fn holds(&self, number: f64) -> bool {
        self.minimum.is_none_or(|least| least <= number) && self.maximum.is_none_or(|most| number <= most)
    }

    fn in_words(&self) -> String {
        let range = match (self.minimum, self.maximum) {
            (Some(least), Some(most)) => format!(" from {least} to {most}"),
            (Some(least), None) => format!(" from {least}"),
            (None, Some(most)) => format!(" up to {most}"),
            (None, None) => String::new(),
        };
        match self.kind {
            Type::Text => "text".into(),
            Type::Integer => format!("a whole number{range}"),
            Type::Decimal => format!("a number{range}"),
            Type::Flag => "`true` or `false`".into(),
            Type::Texts => "a list of texts".into(),
        }
    }
}
