//! Bundled plugins as specifications for the engine, which enforces each one's verified digest.
//!
//! The bundle [`OURS`] contains the builtin plugins: if it is locked, its components run in place
//! of those in the program, with the same setup. Nobody else's bundle can replace a builtin plugin:
//! two plugins with one name are an error.

use super::foreign_spec;
use crate::bundles::receipt::PluginPin;
use portcullis_builtin::CHOICE;
use portcullis_config::{Config, GrantConfig};
use portcullis_core::fault::OnFault;
use portcullis_engine::{PluginSpec, Setting, SettingValue, Source};
use serde_json::Value;

/// The bundle of the builtin plugins.
pub const OURS: &str = "portcullis/builtin";

/// Returns the third-party plugins.
pub(super) fn third_party(bundled: &[PluginPin]) -> impl Iterator<Item = &PluginPin> {
    bundled.iter().filter(|pinned| pinned.bundle != OURS)
}

/// Returns a builtin plugin, taken from the locked bundle if that contains it.
pub(super) fn in_place_of(builtin: PluginSpec, bundled: &[PluginPin]) -> PluginSpec {
    match bundled.iter().find(|pinned| pinned.bundle == OURS && pinned.name == builtin.name) {
        Some(pinned) => {
            let own = builtin.settings.iter().filter(|setting| setting.key != CHOICE).cloned();
            PluginSpec {
                source: source(pinned),
                settings: choice(pinned).into_iter().chain(own).collect(),
                ..builtin
            }
        }
        None => builtin,
    }
}

/// Returns the specification of a third-party bundle's plugin, without any grant: the operator's
/// settings take precedence over the bundle's.
pub(super) fn pinned_spec(pinned: &PluginPin, config: &Config) -> PluginSpec {
    let entry = foreign_spec(pinned.name.clone(), source(pinned), config);
    let mut settings = Vec::new();
    flatten("", &pinned.settings, &mut settings);
    settings.retain(|default| !entry.settings.iter().any(|said| said.key == default.key));
    settings.extend(entry.settings.iter().cloned());
    settings.sort_by(|a, b| a.key.cmp(&b.key));
    let settings = choice(pinned).into_iter().chain(settings).collect();
    match (pinned.organisation, entry.on_fault) {
        // Organisation-locked plugins cannot run in shadow mode, and their failures are faults. To
        // avoid that, the organisation does not lock them.
        (true, OnFault::Warn) => {
            PluginSpec { settings, shadow: false, on_fault: OnFault::Ask, ..entry }
        }
        (true, _) => PluginSpec { settings, shadow: false, ..entry },
        (false, _) => PluginSpec { settings, ..entry },
    }
}

/// Returns the intersection of the operator's grants and those that were locked with the bundle.
pub(super) fn at_most(pinned: &PluginPin, said: &GrantConfig) -> GrantConfig {
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

fn source(pinned: &PluginPin) -> Source {
    Source::Pinned {
        path: pinned.file.clone(),
        digest: pinned.digest.clone(),
        plugin: pinned.several.then(|| pinned.name.clone()),
    }
}

/// Returns the setting that selects one plugin of a component that contains several.
fn choice(pinned: &PluginPin) -> Option<Setting> {
    pinned
        .several
        .then(|| Setting { key: CHOICE.into(), value: SettingValue::Text(pinned.name.clone()) })
}

/// Flattens tables into keys with dots. Invalid setting values were refused when the bundle was
/// built; for a bundle that was built by other means they are skipped here, and the plugin reports
/// missing settings.
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
            Value::Number(number) => number
                .as_i64()
                .map(SettingValue::Integer)
                .or_else(|| number.as_f64().map(SettingValue::Decimal)),
            Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map(SettingValue::Texts),
            Value::Null => None,
        };
        settings.extend(value.map(|value| Setting { key, value }));
    }
}
