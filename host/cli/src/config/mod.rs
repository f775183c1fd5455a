//! The configuration file: TOML, read strictly, turned into the core's policy and the engine's entries.
//!
//! Only the user's own file is read; a project's file comes with trust in its digest. An unknown key, a
//! wrong type or an impossible value is an error with file, line and column: a guard that silently
//! ignores a line of its configuration is not doing what its owner thinks.

use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_core::fault::OnFault;
use portcullis_core::mask::Kind as MaskKind;
use portcullis_core::policy::{InterventionPolicy, LimitPolicy, Mode, Policy, ScopePolicy, Strategy};
use portcullis_engine::{Setting, SettingValue};
use portcullis_store::{Durability, Home};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file's name inside the configuration folder.
pub const FILE: &str = "config.toml";

/// What the file says, as it stands there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    mode: Option<Mode>,
    durability: Option<DurabilityName>,
    plugins_dir: Option<PathBuf>,
    hold_settings: Option<bool>,
    scope: Scope,
    limits: Limits,
    interventions: Interventions,
    mask: Mask,
    plugins: BTreeMap<String, Plugin>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DurabilityName {
    Process,
    Full,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Scope {
    folders: Vec<String>,
    scratch: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    file_operations: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Interventions {
    strategy: Option<StrategyName>,
    disabled: Vec<String>,
    most: Option<u32>,
    cooldown_seconds: Option<u64>,
    escalation_delay_seconds: Option<u64>,
    escalation_delay_steps: Option<u64>,
    templates: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StrategyName {
    Progressive,
    PatternSpecific,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Mask {
    personal: Option<Vec<MaskKind>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Plugin {
    enabled: Option<bool>,
    on_fault: Option<OnFault>,
    settings: toml::Table,
}

/// The configuration in the terms of those who use it.
#[derive(Clone, Debug)]
pub struct Config {
    /// For the pipeline.
    pub policy: Policy,
    /// What a commit survives.
    pub durability: Durability,
    /// Where third-party components lie.
    pub plugins_dir: PathBuf,
    /// What is said of single plugins, by name.
    pub plugins: BTreeMap<String, PluginConfig>,
}

/// What is said of one plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginConfig {
    /// It is loaded.
    pub enabled: Option<bool>,
    /// What its faults mean.
    pub on_fault: Option<OnFault>,
    /// Its own settings, flattened.
    pub settings: Vec<Setting>,
}

impl Config {
    /// Reads the configuration; without one everything has its default.
    ///
    /// # Errors
    /// A file cannot be read, or something in it is unknown, of a wrong type or impossible.
    pub fn load(places: &Places, _home: Option<&Home>) -> Result<Self> {
        let folder = places.config.as_path();
        let path = folder.join(FILE);
        if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            // A pipe would wait for a writer, and a device might never end.
            return Err(unreadable(&path, &std::io::Error::other("it is not a file")));
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::parse("", folder, None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        Self::parse(&text, folder, Some(path))
    }

    /// Reads a named file.
    ///
    /// # Errors
    /// As for `read`; a missing file is an error here.
    pub fn read_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&text, folder, Some(path.to_owned()))
    }

    fn parse(text: &str, folder: &Path, path: Option<PathBuf>) -> Result<Self> {
        let name = path.as_deref().unwrap_or(Path::new(FILE)).display().to_string();
        let file: File = toml::from_str(text).map_err(|error| anyhow!(place(&name, text, &error)))?;
        let policy = file.policy().with_context(|| format!("in the configuration `{name}`"))?;
        let plugins = file.plugins.iter().map(|(plugin, config)| Ok((plugin.clone(), config.read(plugin)?))).collect::<Result<_>>();
        Ok(Self {
            policy,
            durability: match file.durability {
                Some(DurabilityName::Full) => Durability::Full,
                Some(DurabilityName::Process) | None => Durability::Process,
            },
            plugins_dir: folder.join(file.plugins_dir.clone().unwrap_or_else(|| "plugins".into())),
            plugins: plugins.with_context(|| format!("in the configuration `{name}`"))?,
        })
    }
}

impl File {
    fn policy(&self) -> Result<Policy> {
        let default = Policy::default();
        for folder in self.scope.folders.iter().chain(self.scope.scratch.iter().flatten()) {
            if !folder.starts_with('/') && !folder.starts_with("~/") {
                bail!("`scope`: the folder `{folder}` must begin with `/` or `~/`");
            }
        }
        if let Some(unknown) =
            self.interventions.disabled.iter().find(|name| !portcullis_core::intervene::Kind::ALL.iter().any(|kind| kind.as_str() == *name))
        {
            let known: Vec<&str> = portcullis_core::intervene::Kind::ALL.iter().map(|kind| kind.as_str()).collect();
            bail!("`interventions.disabled`: there is no intervention `{unknown}`; there are {}", known.join(", "));
        }
        if let Some(kind) = self.mask.personal.iter().flatten().find(|kind| !matches!(kind, MaskKind::Email | MaskKind::PaymentCard)) {
            bail!("`mask.personal`: `{kind}` is no kind of personal data; there are email, payment-card");
        }
        let limits = LimitPolicy { file_operations: self.limits.file_operations.unwrap_or(default.limits.file_operations) };
        if limits.file_operations == 0 {
            bail!("`limits.file_operations` must be at least 1");
        }
        Ok(Policy {
            mode: self.mode.unwrap_or(default.mode),
            scope: ScopePolicy {
                folders: self.scope.folders.clone(),
                scratch: self.scope.scratch.clone().unwrap_or(default.scope.scratch),
            },
            limits,
            interventions: self.interventions.policy(),
            personal_data: self.mask.personal.clone().unwrap_or(default.personal_data),
            hold_settings: self.hold_settings.unwrap_or(default.hold_settings),
            guarded: default.guarded,
        })
    }
}

impl Interventions {
    fn policy(&self) -> InterventionPolicy {
        let default = InterventionPolicy::default();
        let ms = |seconds: Option<u64>, default: u64| seconds.map_or(default, |seconds| seconds.saturating_mul(1000));
        InterventionPolicy {
            strategy: match self.strategy {
                Some(StrategyName::PatternSpecific) => Strategy::PatternSpecific,
                Some(StrategyName::Progressive) => Strategy::Progressive,
                None => default.strategy,
            },
            disabled: self.disabled.clone(),
            most: self.most.unwrap_or(default.most),
            cooldown_ms: ms(self.cooldown_seconds, default.cooldown_ms),
            escalation_delay_ms: ms(self.escalation_delay_seconds, default.escalation_delay_ms),
            escalation_delay_steps: self.escalation_delay_steps.unwrap_or(default.escalation_delay_steps),
            templates: self.templates.clone(),
        }
    }
}

impl Plugin {
    fn read(&self, name: &str) -> Result<PluginConfig> {
        let mut settings = Vec::new();
        flatten(&mut settings, "", &self.settings).with_context(|| format!("`plugins.{name}.settings`"))?;
        // Their order means nothing, so it must not tell prepared settings apart either.
        settings.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(PluginConfig { enabled: self.enabled, on_fault: self.on_fault, settings })
    }
}

fn flatten(settings: &mut Vec<Setting>, prefix: &str, table: &toml::Table) -> Result<()> {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let value = match value {
            toml::Value::Table(table) => {
                flatten(settings, &key, table)?;
                continue;
            }
            toml::Value::String(text) => SettingValue::Text(text.clone()),
            toml::Value::Integer(number) => SettingValue::Integer(*number),
            toml::Value::Float(number) => SettingValue::Decimal(*number),
            toml::Value::Boolean(flag) => SettingValue::Flag(*flag),
            toml::Value::Array(items) => texts(&key, items)?,
            toml::Value::Datetime(_) => bail!("`{key}` is a date; plugins take text, numbers, booleans and lists of text"),
        };
        settings.push(Setting { key, value });
    }
    Ok(())
}

fn texts(key: &str, items: &[toml::Value]) -> Result<SettingValue> {
    let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.map(SettingValue::Texts).ok_or_else(|| anyhow!("`{key}` must be a list of text"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot read the configuration `{}`: {error}; it must be a text file that you can read", path.display())
}

/// The error with its file, line and column, in one line.
fn place(name: &str, text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', "; ");
    let Some(span) = error.span() else { return format!("the configuration `{name}`: {message}") };
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("the configuration `{name}`, line {line}, column {column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("/home/me/.config/portcullis"), None)
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let config = read("").unwrap();
        assert_eq!(config.policy, Policy::default());
        assert_eq!(config.plugins_dir, Path::new("/home/me/.config/portcullis/plugins"));
    }

    #[test]
    fn everything_can_be_said() {
        let config = read(
            "mode = \"observe\"\ndurability = \"full\"\nplugins_dir = \"/opt/checks\"\nhold_settings = false\n\
             [scope]\nfolders = [\"/srv/data\"]\nscratch = [\"/tmp\"]\n[limits]\nfile_operations = 7\n\
             [interventions]\nstrategy = \"pattern_specific\"\ndisabled = [\"emergency_stop\"]\nmost = 3\ncooldown_seconds = 5\n\
             escalation_delay_seconds = 6\nescalation_delay_steps = 2\n[interventions.templates]\nloop = \"stop it\"\n\
             [mask]\npersonal = [\"email\"]\n[plugins.risk]\non_fault = \"ask\"\n[plugins.risk.settings.scope]\nweight = 200\nnames = [\"a\"]\n",
        )
        .unwrap();
        assert_eq!(config.policy.mode, Mode::Observe);
        assert_eq!(config.plugins_dir, Path::new("/opt/checks"));
        assert_eq!(config.policy.limits.file_operations, 7);
        assert_eq!(config.policy.interventions.cooldown_ms, 5000);
        let risk = &config.plugins["risk"];
        assert_eq!(risk.on_fault, Some(OnFault::Ask));
        let keys: Vec<&str> = risk.settings.iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(keys, ["scope.names", "scope.weight"]);
    }

    #[test]
    fn what_cannot_be_is_named_with_its_place() {
        for (text, expected) in [
            ("mod = \"observe\"", "line 1, column 1: unknown field `mod`"),
            ("mode = \"off\"", "line 1, column 8: unknown variant `off`"),
            ("[limits]\nfile_operations = \"many\"", "line 2, column 19: invalid type"),
            ("[limits]\nfile_operations = 0", "`limits.file_operations` must be at least 1"),
            ("[limits]\nfile_operations = -1", "line 2, column 19"),
            ("[scope]\nfolders = [\"src\"]", "the folder `src` must begin with `/`"),
            ("[interventions]\ndisabled = [\"shouting\"]", "no intervention `shouting`; there are soft_correction"),
            ("[mask]\npersonal = [\"token\"]", "no kind of personal data"),
            ("[plugins.risk]\non_fault = \"allow\"", "unknown variant `allow`"),
            ("[plugins.risk.settings]\nx = [1]", "`x` must be a list of text"),
            ("mode = ", "line 1, column 8"),
        ] {
            let problem = format!("{:#}", read(text).unwrap_err());
            assert!(problem.contains(expected), "{text}: {problem}");
            assert!(!problem.contains('\n'), "one line: {problem}");
        }
    }
}
