//! Every key with its value and its origin, for people.

use super::keys::{self, ConfigKey};
use super::layers::{EffectiveValue, Layer, MergedSettings};
use super::profiles::{PROFILE, RETENTION, retention_values};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;
use std::path::Path;

/// The most bytes of a file's path.
const MOST_PATH: usize = 1024;

/// A key with the value in effect.
#[derive(Clone, Debug)]
pub struct ListedKey<'a> {
    /// The key's whole path.
    pub path: String,
    /// The value; none where the key has none.
    pub value: Option<Value>,
    /// The value's entry; none for a default.
    pub entry: Option<&'a EffectiveValue>,
}

/// Returns every key in the table's order; for keys with names, those that are set.
#[must_use]
pub fn list_keys(settled: &MergedSettings) -> Vec<ListedKey<'_>> {
    keys::all_keys()
        .filter(|key| !key.path.starts_with(keys::PIPELINES))
        .flat_map(|key| list_one(settled, key))
        .collect()
}

fn list_one<'a>(settled: &'a MergedSettings, key: &ConfigKey) -> Vec<ListedKey<'a>> {
    if !key.path.contains('*') {
        let entry = settled.entries.get(key.path);
        return vec![ListedKey { path: key.path.to_owned(), value: settled.value_of(key), entry }];
    }
    let said = settled.entries.values().filter(|entry| entry.said.key == key);
    said.map(|entry| ListedKey {
        path: entry.said.path.clone(),
        value: Some(entry.said.value.clone()),
        entry: Some(entry),
    })
    .collect()
}

impl ListedKey<'_> {
    /// Returns where the value comes from: `default`, `profile`, `audit.retention`, or a file and a
    /// line.
    #[must_use]
    pub fn describe_origin(&self, settled: &MergedSettings) -> String {
        let Some(entry) = self.entry else { return "default".into() };
        if entry.origin.layer == Layer::Profile {
            let is_kept = retention_values("regulated").iter().any(|said| said.path == self.path);
            return if is_kept { RETENTION } else { PROFILE }.into();
        }
        let file = describe_place(settled, entry.origin.layer, entry.said.place.0);
        let tightened = if entry.origin.tightened { " (tightened)" } else { "" };
        match &entry.origin.pipeline {
            Some(pipeline) => format!("{file} (pipeline {pipeline}){tightened}"),
            None => format!("{file}{tightened}"),
        }
    }
}

/// Returns notes on effects that the values alone do not show.
#[must_use]
pub fn list_notes(settled: &MergedSettings) -> Vec<&'static str> {
    let is = |path: &str, value: Value| {
        keys::find_by_name(path).and_then(|key| settled.value_of(key)) == Some(value)
    };
    let mut notes = Vec::new();
    if is("mode", Value::Text("async".into())) {
        notes.push(
            "with `mode = \"async\"` the hook decides before it answers, as \
             with \"blocking\": a client takes one answer",
        );
    }
    if is("reviewer.enabled", Value::Flag(false)) {
        notes.push(
            "with `reviewer.enabled = false` nothing is reviewed: what the agent does is \
             recorded as unreviewed",
        );
    }
    notes
}

/// Returns the file of a layer, if there is one.
#[must_use]
pub fn file_of(settled: &MergedSettings, layer: Layer) -> Option<&Path> {
    settled.files.iter().find(|(known, _)| *known == layer).map(|(_, path)| path.as_path())
}

/// Returns a line of a layer's file.
#[must_use]
pub fn describe_place(settled: &MergedSettings, layer: Layer, line: usize) -> String {
    let file = file_of(settled, layer)
        .map(|path| one_line(&path.display().to_string(), MOST_PATH))
        .unwrap_or_default();
    format!("{file}:{line}")
}
