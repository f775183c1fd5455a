//! The plugin that evaluates custom rules.
//!
//! It is only loaded if there are rules files. A project's rules get an instance of their own:
//! rules from a repository can neither use up the others' fuel nor fail in their name.

use super::builtin_spec;
use super::bundled::in_place_of;
use crate::bundles::receipt::PluginPin;
use portcullis_config::Config;
use portcullis_config::rules::{RulesFile, is_builtin};
use portcullis_engine::{PluginSpec, Setting, SettingValue};

/// The plugin that evaluates custom rules.
pub const RULES_PLUGIN: &str = "custom-rules";
/// The same plugin, for a project's rules.
const OF_PROJECT: &str = "project-rules";

/// Returns the plugins that the rules of a configuration need.
pub(super) fn plugin_specs(config: &Config, bundled: &[PluginPin]) -> Vec<PluginSpec> {
    let Some(builtin) = portcullis_builtin::find(RULES_PLUGIN) else { return Vec::new() };
    let of =
        |project: bool| config.rules.files.iter().filter(move |file| file.of_project == project);
    let named = [(RULES_PLUGIN, false), (OF_PROJECT, true)];
    let used = named.into_iter().filter(|(_, project)| of(*project).next().is_some());
    used.map(|(name, project)| {
        rules_spec(
            in_place_of(builtin_spec(builtin, config), bundled),
            name,
            project,
            of(project),
            config,
        )
    })
    .collect()
}

fn rules_spec<'a>(
    spec: PluginSpec,
    name: &str,
    project: bool,
    files: impl Iterator<Item = &'a RulesFile>,
    config: &Config,
) -> PluginSpec {
    let disabled = config.rules.disabled.iter().filter(|name| !is_builtin(name)).cloned().collect();
    let texts =
        files.flat_map(|file| [file.path.display().to_string(), file.text.clone()]).collect();
    let setting = |key: &str, value| Setting { key: key.to_owned(), value };
    let own = [
        setting("files", SettingValue::Texts(texts)),
        setting("disabled", SettingValue::Texts(disabled)),
        setting("on_fault", SettingValue::Text(spec.on_fault.as_str().to_owned())),
        setting("project", SettingValue::Flag(project)),
    ];
    // Settings that somebody made for the plugin itself are passed on: it refuses them and names
    // the right place.
    let settings = spec.settings.iter().cloned().chain(own).collect();
    PluginSpec { name: name.to_owned(), settings, ..spec }
}
