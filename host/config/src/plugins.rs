//! The settings of builtin plugins, checked against what their descriptors declare.
//!
//! A mistake is thus an error with its file and line. Every plugin checks its settings again when
//! it is loaded, and that check is final; for third-party plugins it is the only one.

use super::keys::toml_text;
use super::parse::KeyValue;
use super::problem::{ConfigProblem, MOST};
use portcullis_core::intervene::InterventionKind as Intervention;
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;
use portcullis_strict_toml::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A setting as a descriptor declares it.
#[derive(Clone, Debug, Deserialize)]
pub struct SettingDeclaration {
    /// Its name, with dots between tables; a final `*` is every name of that table.
    pub key: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The default.
    pub default: serde_json::Value,
    /// The least number.
    pub minimum: Option<f64>,
    /// The greatest number.
    pub maximum: Option<f64>,
    /// The description, in one line.
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
    /// Any number. A score, as languages without an SDK call it, is one from 0 to 1.
    #[serde(alias = "score")]
    Decimal,
    /// Yes or no.
    Flag,
    /// A list of texts.
    Texts,
}

/// Returns a builtin plugin's declared settings; `None` for any other plugin.
pub fn declared_settings(plugin: &str) -> Option<Vec<SettingDeclaration>> {
    #[derive(Deserialize)]
    struct Descriptor {
        settings: Vec<SettingDeclaration>,
    }
    let descriptor: Descriptor =
        serde_json::from_str(portcullis_builtin::find(plugin)?.descriptor).ok()?;
    Some(descriptor.settings)
}

/// Returns the problems of builtin plugins' settings, cut if there are many.
pub fn wrong_settings<'a>(said: impl Iterator<Item = &'a KeyValue>) -> Vec<ConfigProblem> {
    let mut known: BTreeMap<&str, Option<Vec<SettingDeclaration>>> = BTreeMap::new();
    let mut problems = Vec::new();
    for said in said.filter(|said| !said.setting.is_empty()) {
        let Some(declared) =
            known.entry(&said.name).or_insert_with(|| declared_settings(&said.name))
        else {
            continue;
        };
        if let Some(what) = wrong(said, declared) {
            problems.push(ConfigProblem { place: Some(said.place), what });
        }
        if problems.len() > MOST {
            break;
        }
    }
    problems
}

/// Returns the problems of names under `interventions.plugins` that are not interventions.
pub fn wrong_interventions<'a>(said: impl Iterator<Item = &'a KeyValue>) -> Vec<ConfigProblem> {
    let names = || Intervention::ALL.iter().map(|kind| kind.as_str());
    let wrong = |said: &&KeyValue| {
        said.key.path == "interventions.plugins.*" && !names().any(|name| name == said.name)
    };
    let problem = |said: &KeyValue| {
        let fix = match nearest(names(), &said.name) {
            Some(name) => format!("did you mean `interventions.plugins.{name}`?"),
            None => format!(
                "the interventions are {}",
                names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        ConfigProblem {
            place: Some(said.place),
            what: format!("`{}` is unknown; {fix}", one_line(&said.path, 128)),
        }
    };
    said.filter(wrong).take(MOST).map(problem).collect()
}

fn wrong(said: &KeyValue, declared: &[SettingDeclaration]) -> Option<String> {
    find_misfit(
        declared,
        &said.name,
        (&said.setting, &said.value),
        (&said.path, &format!("plugins.{}.settings.", said.name)),
    )
}

/// Returns the problem of a setting of a plugin with these declarations. `path` is the setting's
/// name as it was written, `above` the prefix of the other names.
pub fn find_misfit(
    declared: &[SettingDeclaration],
    plugin: &str,
    (key, value): (&str, &Value),
    (path, above): (&str, &str),
) -> Option<String> {
    let path = one_line(path, 128);
    let Some(setting) = declared.iter().find(|setting| setting.covers(key)) else {
        let names = || declared.iter().map(|setting| setting.key.as_str());
        let fix = match nearest(names(), key) {
            Some(name) => format!("did you mean `{above}{name}`?"),
            None if declared.is_empty() => format!("the plugin `{plugin}` has no settings"),
            None => format!(
                "the plugin `{plugin}` has {}",
                names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        return Some(format!("`{path}` is unknown; {fix}"));
    };
    let fits = match (setting.kind, value) {
        (Type::Integer | Type::Decimal, Value::Integer(number)) => setting.holds(*number as f64),
        (Type::Decimal, Value::Decimal(number)) => setting.holds(*number),
        (Type::Text, Value::Text(_))
        | (Type::Flag, Value::Flag(_))
        | (Type::Texts, Value::Texts(_)) => true,
        _ => false,
    };
    (!fits).then(|| {
        format!(
            "`{path}` is `{}`; it must be {}",
            one_line(&toml_text(value), 64),
            setting.in_words()
        )
    })
}

impl SettingDeclaration {
    /// Returns true if it declares a setting of that name.
    fn covers(&self, name: &str) -> bool {
        match self.key.strip_suffix('*') {
            Some(table) => name.strip_prefix(table).is_some_and(|rest| !rest.is_empty()),
            None => self.key == name,
        }
    }

    fn holds(&self, number: f64) -> bool {
        self.minimum.is_none_or(|least| least <= number)
            && self.maximum.is_none_or(|most| number <= most)
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
