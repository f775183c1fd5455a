//! Plugins of bundles as entries of the engine, which holds each to the digest that was verified.
//!
//! The bundle [`OURS`] holds the builtin plugins: where it is locked, its components run in place of those in the program,
//! as they are set up otherwise. Nobody else's bundle can take a builtin plugin's place: two plugins of one name are an
//! error.

use super::foreign_entry;
use crate::bundles::receipt::Pinned;
use crate::config::{Config, GrantConfig};
use portcullis_builtin::CHOICE;
use portcullis_core::fault::OnFault;
use portcullis_engine::{Entry, Setting, SettingValue, Source};
use serde_json::Value;

/// The bundle of the builtin plugins.
pub const OURS: &str = "portcullis/builtin";

/// The plugins that are not ours.
pub fn third_party(bundled: &[Pinned]) -> impl Iterator<Item = &Pinned> {
    bundled.iter().filter(|pinned| pinned.bundle != OURS)
}

/// A builtin plugin, from the bundle that was locked where it holds it.
pub fn in_place_of(builtin: Entry, bundled: &[Pinned]) -> Entry {
    match bundled.iter().find(|pinned| pinned.bundle == OURS && pinned.name == builtin.name) {
        Some(pinned) => {
            let own = builtin.settings.iter().filter(|setting| setting.key != CHOICE).cloned();
            Entry { source: source(pinned), settings: choice(pinned).into_iter().chain(own).collect(), ..builtin }
        }
        None => builtin,
    }
}

/// A plugin of somebody else's bundle, without any grant: the operator's settings go before the bundle's.
pub fn entry(pinned: &Pinned, config: &Config) -> Entry {
    let entry = foreign_entry(pinned.name.clone(), source(pinned), config);
    let mut settings = Vec::new();
    flatten("", &pinned.settings, &mut settings);
    settings.retain(|default| !entry.settings.iter().any(|said| said.key == default.key));
    settings.extend(entry.settings.iter().cloned());
    settings.sort_by(|a, b| a.key.cmp(&b.key));
    let settings = choice(pinned).into_iter().chain(settings).collect();
    match (pinned.organisation, entry.on_fault) {
        // What an organisation locked counts, and is missed when it fails: what it does not want to count it does not lock.
        (true, OnFault::Warn) => Entry { settings, shadow: false, on_fault: OnFault::Ask, ..entry },
        (true, _) => Entry { settings, shadow: false, ..entry },
        (false, _) => Entry { settings, ..entry },
    }
}

/// What the configuration grants of what the bundle may have: the operator's grants and those that were locked, both.
pub fn at_most(pinned: &Pinned, said: &GrantConfig) -> GrantConfig {
    let may = |key: &str| pinned.grants.iter().any(|grant| grant == key);
    let list = |key: &str, said: &[String]| if may(key) { said.to_vec() } else { Vec::new() };
    GrantConfig {
        clocks: said.clocks && may("clocks"),
        random: said.random.clone().filter(|_| may("random")),
        random_seed: said.random_seed,
        environment: list("environment", &said.environment),
        directories: list("directories", &said.directories),
        project: said.project && may("directories"),
        hosts: list("hosts", &said.hosts),
    }
}

fn source(pinned: &Pinned) -> Source {
    Source::Pinned { path: pinned.file.clone(), digest: pinned.digest.clone(), plugin: pinned.several.then(|| pinned.name.clone()) }
}

/// The setting that tells a component of several plugins which one it is.
fn choice(pinned: &Pinned) -> Option<Setting> {
    pinned.several.then(|| Setting { key: CHOICE.into(), value: SettingValue::Text(pinned.name.clone()) })
}

/// Tables become keys with dots. What no setting can be was refused when the bundle was built; a plugin whose bundle was
/// built by other means gets the rest, and says itself what it misses.
fn flatten(prefix: &str, table: &serde_json::Map<String, Value>, settings: &mut Vec<Setting>) {
    for (name, value) in table {
        let key = format!("{prefix}{name}");
        let value = match value {
            Value::Object(below) => {
                flatten(&format!("{key}."), below, settings);
                continue;
            }
            Value::String(text) => Some(SettingValue::Text(text.clone())),
            Value::Bool(flag) => Some(SettingValue::Flag(*flag)),
            Value::Number(number) => number.as_i64().map(SettingValue::Integer).or_else(|| number.as_f64().map(SettingValue::Decimal)),
            Value::Array(items) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().map(SettingValue::Texts)
            }
            Value::Null => None,
        };
        settings.extend(value.map(|value| Setting { key, value }));
    }
}
