//! The plugins that a configuration asks for, as specifications for the engine.
//!
//! | order | plugins | from |
//! |---|---|---|
//! | 1 | builtin ones | the program, or the locked bundle [`OURS`] in their place |
//! | 2 | one for a person's rules, one for a project's | the configuration's rules files |
//! | 3 | third-party ones | the plugin folder, the command line, locked bundles |
//!
//! Nothing is compiled or run here.

mod bundled;
mod kept;
mod rules;

pub use bundled::OURS;
pub(crate) use kept::KeptSpecs;
pub use rules::RULES_PLUGIN;

use crate::bundles::receipt::PluginPin;
use anyhow::{Context, Result};
use portcullis_agents::HookEnvironment;
use portcullis_builtin::{Builtin, CHOICE};
use portcullis_config::{Config, GrantConfig, PluginConfig, at_home, plugins};
use portcullis_core::fault::OnFault;
use portcullis_engine::{
    GrantedFolder, Grants, Host, Kind, Limits, MOST_VARIABLES, PluginSpec, Random, Setting,
    SettingValue, Source,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file extension of third-party components.
pub const COMPONENT: &str = "wasm";

/// The things outside the sandbox that plugins can be granted.
#[derive(Clone, Copy)]
pub struct GrantScope<'a> {
    /// The variables that plugins may read.
    pub environment: &'a HookEnvironment,
    /// False for a replay, which must not depend on the machine: nothing is granted then, and
    /// plugins that need hosts are loaded without a network.
    pub granted: bool,
    /// The person's home folder.
    pub person: &'a str,
    /// The project's folder, for plugins that may read it.
    pub project: Option<&'a Path>,
}

/// Returns the specifications of a configuration's plugins, except the shell reader's, in the
/// order in which they are loaded. `files` holds the components of the plugin folder and of the
/// command line.
fn list_plugin_specs(
    config: &Config,
    files: &[PathBuf],
    pins: &[PluginPin],
    scope: GrantScope<'_>,
) -> Vec<PluginSpec> {
    let builtins = portcullis_builtin::ALL
        .iter()
        .filter(|builtin| is_enabled(config, builtin.name) && builtin.name != RULES_PLUGIN);
    let mut specs: Vec<PluginSpec> =
        builtins.map(|builtin| bundled::in_place_of(builtin_spec(builtin, config), pins)).collect();
    if is_enabled(config, RULES_PLUGIN) {
        specs.extend(rules::plugin_specs(config, pins));
    }
    let granted = |said: &GrantConfig| {
        let hosts = hosts(said);
        Arc::new(if scope.granted {
            Grants { hosts, ..grants(said, scope) }
        } else {
            Grants { hosts, offline: true, ..Grants::default() }
        })
    };
    let files = files.iter().map(|path| (file_spec(path, config), None));
    let pinned = bundled::third_party(pins)
        .map(|pinned| (bundled::pinned_spec(pinned, config), Some(pinned)));
    let is_on = |spec: &PluginSpec, pinned: Option<&PluginPin>| {
        pinned.is_some_and(|one| one.organisation) || is_enabled(config, &spec.name)
    };
    for (mut spec, pinned) in files.chain(pinned).filter(|(spec, pinned)| is_on(spec, *pinned)) {
        if let Some(said) = config.plugins.get(&spec.name) {
            spec.grants = match pinned {
                Some(pinned) => granted(&bundled::at_most(pinned, &said.grants)),
                None => granted(&said.grants),
            };
        }
        specs.push(spec);
    }
    specs
}

/// Returns the shell reader's specification.
pub fn reader_spec(config: &Config) -> PluginSpec {
    PluginSpec {
        limits: Limits::shell_reader(),
        ..builtin_spec(&portcullis_builtin::SHELL_READER, config)
    }
}

/// Returns the shell reader's specification without a configuration.
pub fn unconfigured_reader_spec() -> PluginSpec {
    let reader = &portcullis_builtin::SHELL_READER;
    PluginSpec { limits: Limits::shell_reader(), ..unconfigured_spec(reader) }
}

fn is_enabled(config: &Config, name: &str) -> bool {
    config.plugins.get(name).and_then(|plugin| plugin.enabled) != Some(false)
}

/// Returns a builtin plugin's specification under the configuration.
fn builtin_spec(builtin: &'static Builtin, config: &Config) -> PluginSpec {
    let said = config.plugins.get(builtin.name);
    let spec = unconfigured_spec(builtin);
    PluginSpec {
        settings: settings(said, builtin, config),
        on_fault: said.and_then(|plugin| plugin.on_fault).unwrap_or(spec.on_fault),
        shadow: said.is_some_and(|plugin| plugin.shadow),
        ..spec
    }
}

/// Returns a builtin plugin's specification without a configuration.
fn unconfigured_spec(builtin: &'static Builtin) -> PluginSpec {
    PluginSpec {
        name: builtin.name.to_owned(),
        source: Source::Builtin {
            name: builtin.name,
            kind: engine_kind(builtin.kind),
            waits_for_outcome: builtin.waits_for_outcome,
            descriptor: (!builtin.descriptor.is_empty()).then_some(builtin.descriptor),
            digest: builtin.component.digest,
            bytes: builtin.component,
        },
        settings: choice(builtin).into_iter().collect(),
        injected_settings: Vec::new(),
        on_fault: OnFault::Block,
        limits: Limits::builtin(),
        // Builtin plugins ask for no grants.
        grants: Arc::default(),
        shadow: false,
    }
}

/// Returns the settings for a builtin plugin's `prepare`: its name, if its component holds several
/// plugins; its own settings; and the shared settings that it declares.
fn settings(said: Option<&PluginConfig>, builtin: &Builtin, config: &Config) -> Vec<Setting> {
    choice(builtin).into_iter().chain(own_settings(said, builtin, config)).collect()
}

/// Returns the setting that names the plugin, if its component holds several.
fn choice(builtin: &Builtin) -> Option<Setting> {
    let name = builtin.choice()?;
    Some(Setting { key: CHOICE.into(), value: SettingValue::Text(name.into()) })
}

fn own_settings(said: Option<&PluginConfig>, builtin: &Builtin, config: &Config) -> Vec<Setting> {
    let mut settings = said.map(|plugin| plugin.settings.clone()).unwrap_or_default();
    let known =
        if builtin.kind == portcullis_builtin::Kind::Pattern { handed(config) } else { Vec::new() };
    if known.is_empty() {
        return settings;
    }
    let declared = plugins::declared_settings(builtin.name).unwrap_or_default();
    for setting in known {
        let own = settings.iter().any(|own| own.key == setting.key);
        if !own && declared.iter().any(|declared| declared.key == setting.key) {
            settings.push(setting);
        }
    }
    settings.sort_by(|a, b| a.key.cmp(&b.key));
    settings
}

/// Returns the settings that every pattern plugin gets that declares them and does not override
/// them.
fn handed(config: &Config) -> Vec<Setting> {
    let value = config.patterns.sensitivity.clone().map(SettingValue::Text);
    value.map(|value| Setting { key: "sensitivity".into(), value }).into_iter().collect()
}

/// Converts the kind to the engine's type.
pub const fn engine_kind(kind: portcullis_builtin::Kind) -> Kind {
    match kind {
        portcullis_builtin::Kind::RiskCalculator => Kind::RiskCalculator,
        portcullis_builtin::Kind::Pattern => Kind::Pattern,
        portcullis_builtin::Kind::Intervention => Kind::Intervention,
        portcullis_builtin::Kind::AuditExporter => Kind::AuditExporter,
        portcullis_builtin::Kind::ShellReader => Kind::ShellReader,
    }
}

/// Returns the specification of a third-party component; it is named after its file, without the
/// extension.
fn file_spec(path: &Path, config: &Config) -> PluginSpec {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    foreign_spec(name, Source::File(path.to_owned()), config)
}

/// Returns a third-party plugin's specification under the configuration, without any grant.
fn foreign_spec(name: String, source: Source, config: &Config) -> PluginSpec {
    let said = config.plugins.get(&name);
    PluginSpec {
        source,
        settings: said.map(|plugin| plugin.settings.clone()).unwrap_or_default(),
        injected_settings: handed(config),
        on_fault: said.and_then(|plugin| plugin.on_fault).unwrap_or(OnFault::Ask),
        limits: Limits::third_party(),
        grants: Arc::default(),
        shadow: said.is_some_and(|plugin| plugin.shadow),
        name,
    }
}

/// Returns the grants of a person or the organisation for a plugin, with the values of the
/// variables and the locations of the folders.
fn grants(said: &GrantConfig, scope: GrantScope<'_>) -> Grants {
    let GrantScope { person, project, environment, .. } = scope;
    let variables = said.environment.iter().take(MOST_VARIABLES);
    let value = |name: &String| {
        Some((name.clone(), environment.text(name)?.chars().take(VALUE_CHARS).collect()))
    };
    let named = said
        .directories
        .iter()
        .map(|shown| GrantedFolder { path: at_home(shown, person), shown: shown.clone() });
    let project = project
        .filter(|_| said.project)
        .map(|path| GrantedFolder { path: path.to_owned(), shown: PROJECT.into() });
    Grants {
        clocks: said.clocks,
        random: match said.random.as_deref() {
            Some("system") => Random::System,
            Some("seeded") => Random::Seeded(said.random_seed),
            _ => Random::Fixed,
        },
        environment: variables.filter_map(value).collect(),
        directories: project.into_iter().chain(named).collect(),
        ..Grants::default()
    }
}

/// Returns the hosts that a plugin may send requests to; each was parsed before, with the
/// configuration.
fn hosts(said: &GrantConfig) -> Vec<Host> {
    said.hosts.iter().filter_map(|host| Host::parse_host(host)).collect()
}

/// The longest value of an environment variable that a plugin sees, in characters.
const VALUE_CHARS: usize = 4096;

/// The path at which a plugin sees the project's folder.
const PROJECT: &str = "/project";

/// Returns the components of the plugin folder, sorted; a missing folder holds none.
fn components(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read the plugin folder `{}`", folder.display()));
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read the plugin folder `{}`", folder.display()))?
            .path();
        if path.extension().is_some_and(|end| end == COMPONENT) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
