//! The configuration: the organisation's, the person's and the project's file, as policy and entries.
//!
//! Without any file everything has its default. An unusable file is an error, no matter who owns
//! it: a guard that runs on half of its configuration does not do what its owner expects. The table
//! of keys is in [`keys`], the reader of a file in [`parse`], the precedence in [`layers`].

pub mod amount;
pub mod clock;
pub mod duration;
pub mod file;
pub mod keys;
pub mod kinds;
mod ladders;
pub mod layers;
mod order;
pub mod parse;
pub mod paths;
pub mod pause;
pub mod plugins;
pub mod problem;
pub mod rules;
pub mod running;
pub mod schema;
pub mod sizes;
pub mod trust;

use crate::paths::{PROJECT_FILE, Paths};
use anyhow::Result;
use layers::{
    EffectiveValue, IgnoreReason, IgnoredKey, Layer, LayerContext, LayerFile, MergedSettings,
};
use parse::KeyValue;
use portcullis_core::breaker::BreakerPolicy;
use portcullis_core::fault::OnFault;
use portcullis_core::intervene::InterventionKind as Intervention;
use portcullis_core::ladder::Ladder;
use portcullis_core::policy::{
    DecisionPolicy, Detail, InterventionPolicy, LimitPolicy, Mode, Policy, RationalityThresholds,
    RiskThresholds, ScopePolicy, Strategy,
};
use portcullis_core::score::Score;
use portcullis_core::text::one_line;
use portcullis_core::undo::OnFailure;
use portcullis_engine::{Setting, SettingValue as Value};
use portcullis_store::{Durability, Home};
use problem::{BadConfiguration, Problems};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name inside the configuration folder.
pub const FILE: &str = "config.toml";

/// The beginning of the path of a channel's key.
pub const CHANNEL: &str = "notifications.channels.*.";

/// The configuration in the types of its users.
#[derive(Clone, Debug)]
pub struct Config {
    /// The policy of the pipeline.
    pub policy: Policy,
    /// The crashes that a commit survives.
    pub durability: Durability,
    /// The folder of third-party components.
    pub plugins_dir: PathBuf,
    /// The settings of single plugins, by name.
    pub plugins: BTreeMap<String, PluginConfig>,
    /// The enabled patterns, and their sensitivity.
    pub patterns: Patterns,
    /// The policy for holding a plugin that keeps failing.
    pub breaker: BreakerPolicy,
    /// The cache of long-lived commands.
    pub cache: Cache,
    /// The checkpoints of files before actions.
    pub checkpoints: Checkpoints,
    /// The retention of stopped sessions.
    pub incidents: Incidents,
    /// Days after which quarantined files are deleted; 0 keeps them.
    pub quarantine_days: u32,
    /// Days after which abandoned messages are deleted; 0 keeps them.
    pub messages_days: u32,
    /// The settings of each notification channel: by name, by key.
    pub channels: BTreeMap<String, BTreeMap<String, Value>>,
    /// The limits that `run` sets for an agent.
    pub running: running::RunDefaults,
    /// The target for the time of a review, in milliseconds.
    pub max_review_time_ms: u64,
    /// The rules from files.
    pub rules: rules::Rules,
    /// The settings of the journal.
    pub audit: Audit,
    /// The values in the project's file that do not count, because nobody trusted that file.
    pub untrusted: Vec<IgnoredKey>,
}

/// The settings of one plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginConfig {
    /// True if it is loaded.
    pub enabled: Option<bool>,
    /// The effect of its faults.
    pub on_fault: Option<OnFault>,
    /// The resources of the machine that it may use.
    pub grants: GrantConfig,
    /// True if it runs in shadow mode: its answers do not count.
    pub shadow: bool,
    /// Its own settings, flattened, by name.
    pub settings: Vec<Setting>,
}

/// The grants of one plugin, as they were written: variables by name, folders by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantConfig {
    /// Access to the real clocks.
    pub clocks: bool,
    /// The source of random bytes: one of the key's words, `None` for its default.
    pub random: Option<String>,
    /// The seed, if they are generated from one.
    pub random_seed: u64,
    /// Names of variables.
    pub environment: Vec<String>,
    /// Folders that begin with `/` or `~/`.
    pub directories: Vec<String>,
    /// The project's folder.
    pub project: bool,
    /// Hosts, by scheme, name or address, and port.
    pub hosts: Vec<String>,
}

impl GrantConfig {
    fn set(&mut self, key: &str, value: &Value) {
        match (key, value) {
            ("clocks", Value::Flag(flag)) => self.clocks = *flag,
            ("project", Value::Flag(flag)) => self.project = *flag,
            ("environment", Value::Texts(names)) => self.environment.clone_from(names),
            ("hosts", Value::Texts(hosts)) => self.hosts.clone_from(hosts),
            ("directories", Value::Texts(folders)) => self.directories.clone_from(folders),
            ("random", Value::Text(word)) => self.random = Some(word.clone()),
            ("random_seed", Value::Integer(seed)) => self.random_seed = seed.unsigned_abs(),
            _ => {}
        }
    }
}

/// The enabled pattern plugins, and their sensitivity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    /// Their names; `None` for all.
    pub enabled: Option<Vec<String>>,
    /// The sensitivity of patterns without their own; `None` leaves it to each.
    pub sensitivity: Option<String>,
}

/// The cache of shell readings in long-lived commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// True if it is enabled.
    pub enabled: bool,
    /// The lifetime of an entry, in minutes.
    pub ttl_minutes: u64,
    /// The most entries.
    pub max_size: u64,
}

/// The settings of checkpoints of files before actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// True if they are enabled.
    pub enabled: bool,
    /// True if ignored files and build output are kept in every checkpoint of a whole project, not
    /// only if they are deleted.
    pub ignored: bool,
    /// The time that an action waits for a checkpoint.
    pub budget: Duration,
    /// The size limit of a file, in bytes.
    pub max_file: u64,
    /// The size limit of all checkpoints together, in bytes.
    pub max_total: u64,
    /// The retention.
    pub kept: Duration,
}

/// The retention of stopped sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incidents {
    /// Days after which they are forgotten; 0 keeps them.
    pub kept_days: u32,
    /// True if aborting a session also quarantines the files that the agent created.
    pub auto_cleanup: bool,
}

/// The settings of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Days after which a record is removed; 0 keeps all.
    pub retention_days: u32,
    /// Files to which the journal's head is written.
    pub anchors: Vec<PathBuf>,
    /// The default exporter.
    pub export_format: String,
}

impl Config {
    /// Loads the configuration in force in these places. `home` knows which project files a person
    /// trusted.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if it contains an unknown key, a wrong type or an
    /// impossible value.
    pub fn load(places: &Paths, home: Option<&Home>) -> Result<Self> {
        Self::with_rules(&settle(places, home, None)?, places, home)
    }

    /// Loads the configuration of one file alone.
    ///
    /// # Errors
    /// Fails like `load`; a missing file is an error here.
    pub fn read_file(path: &Path, places: &Paths) -> Result<Self> {
        let settled = settle_file(path, places)?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::with_rules(&settled, &Paths { config: folder, project: None, ..places.clone() }, None)
    }

    fn with_rules(settled: &MergedSettings, places: &Paths, home: Option<&Home>) -> Result<Self> {
        let config = Self::of(settled, places);
        let disabled = EffectiveValues(settled).texts("rules.disabled");
        Ok(Self {
            rules: rules::read(
                &EffectiveValues(settled).texts("rules.files"),
                disabled,
                places,
                home,
                settled,
            )?,
            ..config
        })
    }

    /// Returns the configuration without any file.
    #[must_use]
    pub fn plain(places: &Paths) -> Self {
        Self::of(&MergedSettings::default(), places)
    }

    /// Returns a notice for the person at the start of a session, if values of the project's file
    /// do not count.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let named: Vec<String> = self
            .untrusted
            .iter()
            .take(5)
            .map(|ignored| format!("`{}`", one_line(&ignored.path, 64)))
            .collect();
        let more = match self.untrusted.len().checked_sub(named.len()) {
            None | Some(0) => String::new(),
            Some(more) => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "Portcullis ignores {}{more} of this project's `{PROJECT_FILE}`: that file is not trusted. `portcullis trust` shows what it wants.",
                named.join(", ")
            )
        })
    }

    fn of(settled: &MergedSettings, places: &Paths) -> Self {
        let holds = EffectiveValues(settled);
        Self {
            policy: holds.policy(),
            durability: if holds.text("durability") == "full" {
                Durability::Full
            } else {
                Durability::Process
            },
            plugins_dir: holds.plugins_dir(places),
            plugins: holds.plugins(),
            patterns: holds.patterns(),
            breaker: holds.breaker(),
            cache: Cache {
                enabled: holds.flag("cache.enabled"),
                ttl_minutes: holds.number("cache.ttl_minutes"),
                max_size: holds.number("cache.max_size"),
            },
            checkpoints: holds.checkpoints(),
            incidents: Incidents {
                kept_days: holds.days("incidents.kept_days"),
                auto_cleanup: holds.flag("incidents.auto_cleanup"),
            },
            quarantine_days: holds.days("quarantine.kept_days"),
            messages_days: holds.days("notifications.kept_days"),
            channels: holds.channels(),
            running: holds.running(),
            max_review_time_ms: holds.number("performance.max_review_time_ms"),
            rules: rules::Rules::default(),
            audit: Audit {
                retention_days: holds.days("audit.retention_days"),
                anchors: holds
                    .texts("audit.anchors")
                    .iter()
                    .map(|path| at_home(path, &places.person))
                    .collect(),
                export_format: holds.text("audit.export_format"),
            },
            untrusted: settled
                .ignored
                .iter()
                .filter(|ignored| ignored.why == IgnoreReason::Untrusted)
                .cloned()
                .collect(),
        }
    }
}

/// Returns the values in force in these places, with their origins. `pipeline` replaces the
/// matching one.
///
/// # Errors
/// Fails like `Config::load`.
pub fn settle(
    places: &Paths,
    home: Option<&Home>,
    pipeline: Option<&str>,
) -> Result<MergedSettings, BadConfiguration> {
    let files = read(places)?;
    let project = files.iter().find(|file| file.layer == Layer::Project);
    let trusted = match (project, home, &places.project) {
        (Some(file), Some(home), Some(folder)) => trust::holds(home, folder, &file.digest),
        _ => false,
    };
    Ok(settled(places, &files, trusted, pipeline))
}

/// Returns the values of one file alone.
///
/// # Errors
/// Fails like [`one`].
pub fn settle_file(path: &Path, places: &Paths) -> Result<MergedSettings, BadConfiguration> {
    let scene =
        LayerContext { person: &places.person, project: None, trusted: false, pipeline: None };
    Ok(layers::merge_layers(&[one(path)?], &scene))
}

/// Returns the custom rules as written in their files, including their mistakes.
///
/// # Errors
/// Fails like `Config::load`, except for mistakes in the rules files.
pub fn rules_as_written(places: &Paths, home: &Home) -> Result<rules::Rules, BadConfiguration> {
    let settled = settle(places, Some(home), None)?;
    let holds = EffectiveValues(&settled);
    let files = holds.texts("rules.files");
    rules::gather(&files, holds.texts("rules.disabled"), places, &settled)
}

/// Returns the values in force by these files, with the project's file trusted or not.
pub fn settled(
    places: &Paths,
    files: &[LayerFile],
    trusted: bool,
    pipeline: Option<&str>,
) -> MergedSettings {
    layers::merge_layers(
        files,
        &LayerContext {
            person: &places.person,
            project: places.project.as_deref(),
            trusted,
            pipeline,
        },
    )
}

/// Reads the existing files.
///
/// # Errors
/// Fails with the problems of any of them.
pub fn read(places: &Paths) -> Result<Vec<LayerFile>, BadConfiguration> {
    let own = places.config.join(FILE);
    let mut texts = vec![
        (Layer::Managed, places.managed.clone(), file::read_managed(&places.managed)),
        (Layer::User, own.clone(), file::read(&own)),
    ];
    if let Some(project) = &places.project {
        texts.push((
            Layer::Project,
            project.join(PROJECT_FILE),
            file::read_in_project(project, PROJECT_FILE),
        ));
    }
    let (mut files, mut bad) = (Vec::new(), Vec::new());
    for (layer, path, text) in texts {
        match text.and_then(|text| text.map(|text| parsed(layer, &path, &text)).transpose()) {
            Ok(file) => files.extend(file),
            Err(problems) => bad.push(problems),
        }
    }
    if bad.is_empty() { Ok(files) } else { Err(BadConfiguration(bad)) }
}

/// Reads one file, as if it were the person's.
///
/// # Errors
/// Fails with its problems; the file has to exist.
pub fn one(path: &Path) -> Result<LayerFile, BadConfiguration> {
    let text = file::read(path)
        .and_then(|text| text.ok_or_else(|| Problems::whole(path, "there is no such file".into())));
    text.and_then(|text| parsed(Layer::User, path, &text))
        .map_err(|problems| BadConfiguration(vec![problems]))
}

fn parsed(layer: Layer, path: &Path, text: &str) -> Result<LayerFile, Problems> {
    let (mut document, mut problems, more) = parse::parse(text);
    problems.extend(plugins::wrong_settings(document.all()));
    problems.extend(plugins::wrong_interventions(document.all()));
    problems.extend(ladders::find_wrong_ladders(document.all()));
    problems.extend(order::out_of_order(&document));
    problems.extend(rules::merge_rules(&mut document, layer, path));
    if problems.is_empty() {
        return Ok(LayerFile {
            layer,
            path: path.to_owned(),
            document,
            digest: blake3::hash(text.as_bytes()),
        });
    }
    problems.sort();
    let over = problems.len().saturating_sub(problem::MOST);
    problems.truncate(problem::MOST);
    Err(Problems { file: path.to_owned(), problems, more: more + over })
}

/// The values in force, in the types of their users. Every value was checked when it was read; for
/// a key missing from the table its type's zero would be used, which a test rules out.
struct EffectiveValues<'a>(&'a MergedSettings);

impl EffectiveValues<'_> {
    fn policy(&self) -> Policy {
        let millis = |path: &str| self.number(path).saturating_mul(1000);
        let word = |path: &str| self.text(path);
        let mode = if self.flag("reviewer.enabled") {
            word("mode")
        } else {
            Mode::Off.as_str().to_owned()
        };
        let strategy = word("interventions.strategy");
        let personal = self.texts("mask.personal");
        let default = Policy::default();
        Policy {
            mode: Mode::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == mode)
                .unwrap_or(default.mode),
            decision: self.decision(),
            async_threshold: self.score("performance.async_threshold"),
            detail: Detail::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == word("audit.level"))
                .unwrap_or(default.detail),
            scope: ScopePolicy {
                folders: self.texts("scope.folders"),
                paths: self.texts("scope.paths"),
                scratch: self.texts("scope.scratch"),
            },
            limits: LimitPolicy {
                file_operations: self.number("limits.file_operations"),
                memory_mb: self.number("limits.memory_mb"),
                execution_time_seconds: self.number("limits.execution_time_seconds"),
                token_usage: self.number("limits.token_usage"),
            },
            interventions: InterventionPolicy {
                strategy: Strategy::ALL
                    .iter()
                    .copied()
                    .find(|known| known.as_str() == strategy)
                    .unwrap_or(default.interventions.strategy),
                disabled: self.disabled(),
                most: u32::try_from(self.number("interventions.most")).unwrap_or(u32::MAX),
                cooldown_ms: millis("interventions.cooldown_seconds"),
                escalation_delay_ms: millis("interventions.escalation_delay_seconds"),
                escalation_delay_steps: self.number("interventions.escalation_delay_steps"),
                ladders: self.ladders(default.interventions.ladders),
                templates: self.named_texts("interventions.templates.*"),
                plugins: self.named_texts("interventions.plugins.*"),
                decider: Some(self.text("interventions.decider")).filter(|name| !name.is_empty()),
                most_retries: u32::try_from(self.number("interventions.most_retries"))
                    .unwrap_or(u32::MAX),
                auto_rollback: self.flag("interventions.auto_rollback"),
            },
            on_failure: OnFailure::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == word("checkpoints.on_failure"))
                .unwrap_or(default.on_failure),
            guarded: default.guarded,
            clients: portcullis_agents::PROFILES,
            personal_data: personal
                .iter()
                .filter_map(|kind| serde_json::from_value(kind.as_str().into()).ok())
                .collect(),
            mask_results: self.flag("mask.results"),
            hold_settings: self.flag("hold_settings"),
        }
    }

    fn breaker(&self) -> BreakerPolicy {
        let count = |path: &str| u32::try_from(self.number(path)).unwrap_or(u32::MAX);
        BreakerPolicy {
            faults: count("breaker.faults"),
            back_off_ms: self.number("breaker.back_off_seconds").saturating_mul(1000),
            quarantine_after: count("breaker.quarantine_after"),
        }
    }

    fn checkpoints(&self) -> Checkpoints {
        let bytes = |path: &str| self.number(path).saturating_mul(1 << 20);
        Checkpoints {
            enabled: self.flag("checkpoints.enabled"),
            ignored: self.text("checkpoints.ignored") == "keep",
            budget: Duration::from_millis(self.number("checkpoints.budget_ms")),
            max_file: bytes("checkpoints.max_file_mb"),
            max_total: bytes("checkpoints.max_total_mb"),
            kept: Duration::from_secs(self.number("checkpoints.kept_minutes").saturating_mul(60)),
        }
    }

    fn channels(&self) -> BTreeMap<String, BTreeMap<String, Value>> {
        let mut channels: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for KeyValue { key, name, value, .. } in self.0.entries.values().map(|entry| &entry.said) {
            if let Some(last) = key.path.strip_prefix(CHANNEL) {
                channels.entry(name.clone()).or_default().insert(last.to_owned(), value.clone());
            }
        }
        channels
    }

    fn decision(&self) -> DecisionPolicy {
        DecisionPolicy {
            risk: RiskThresholds {
                negligible: self.score("risk.negligible"),
                medium: self.score("risk.medium"),
                high: self.score("risk.high"),
                critical: self.score("risk.critical"),
                named: self.score("risk.named"),
            },
            rationality: RationalityThresholds {
                high: self.score("rationality.high"),
                medium: self.score("rationality.medium"),
                low: self.score("rationality.low"),
            },
            first_time: self.flag("reviewer.first_time"),
        }
    }

    /// Returns the names of the disabled interventions.
    fn disabled(&self) -> Vec<String> {
        let names = Intervention::ALL.iter().map(|kind| kind.as_str());
        names
            .filter(|name| !self.flag(&format!("interventions.{name}")))
            .map(str::to_owned)
            .collect()
    }

    fn patterns(&self) -> Patterns {
        let enabled = self.texts("patterns.enabled");
        let said = self.0.entries.contains_key("patterns.sensitivity");
        Patterns {
            enabled: (!enabled.iter().any(|name| name == "all")).then_some(enabled),
            sensitivity: said.then(|| self.text("patterns.sensitivity")),
        }
    }

    fn plugins_dir(&self, places: &Paths) -> PathBuf {
        let folder = self.text("plugins_dir");
        let project = places.project.as_ref().map(|project| project.join(PROJECT_FILE));
        let base = match self.0.entries.get("plugins_dir").map(|entry| entry.origin.layer) {
            Some(Layer::Managed) => places.managed.parent(),
            Some(Layer::Project) => project.as_deref().and_then(Path::parent),
            Some(Layer::User) | None => Some(places.config.as_path()),
        };
        base.unwrap_or(&places.config).join(at_home(&folder, &places.person))
    }

    /// Returns the texts of a key whose last part is any name, by that name.
    fn named_texts(&self, path: &'static str) -> BTreeMap<String, String> {
        self.of_key(path)
            .filter_map(|entry| Some((entry.said.name.clone(), text_of(&entry.said.value)?)))
            .collect()
    }

    /// Returns the ladders: the default ones, with those that are configured in their place.
    fn ladders(&self, mut ladders: BTreeMap<String, Ladder>) -> BTreeMap<String, Ladder> {
        ladders.extend(self.of_key("interventions.ladders.*").filter_map(|entry| {
            let ladder = ladders::ladder_of(&entry.said.value)?;
            Some((entry.said.name.clone(), ladder))
        }));
        ladders
    }

    fn plugins(&self) -> BTreeMap<String, PluginConfig> {
        let mut plugins: BTreeMap<String, PluginConfig> = BTreeMap::new();
        for entry in self.0.entries.values().filter(|entry| entry.said.path.starts_with("plugins."))
        {
            let (said, value) = (&entry.said, &entry.said.value);
            let plugin = plugins.entry(said.name.clone()).or_default();
            match (said.key.path, value) {
                ("plugins.*.enabled", Value::Flag(flag)) => plugin.enabled = Some(*flag),
                ("plugins.*.shadow", Value::Flag(flag)) => plugin.shadow = *flag,
                ("plugins.*.on_fault", Value::Text(word)) => {
                    plugin.on_fault =
                        OnFault::ALL.iter().copied().find(|known| known.as_str() == word);
                }
                (path, value) if path.starts_with("plugins.*.grants.") => {
                    plugin.grants.set(path.rsplit('.').next().unwrap_or_default(), value);
                }
                _ => plugin
                    .settings
                    .push(Setting { key: said.setting.clone(), value: value.clone() }),
            }
        }
        for entry in self.0.entries.values() {
            if let Some(setting) = rules::setting(&entry.said) {
                plugins.entry("rules".to_owned()).or_default().settings.push(setting);
            }
        }
        // Their order has no meaning, so it must not distinguish prepared settings either.
        plugins.values_mut().for_each(|plugin| plugin.settings.sort_by(|a, b| a.key.cmp(&b.key)));
        plugins
    }

    fn of_key(&self, path: &'static str) -> impl Iterator<Item = &EffectiveValue> {
        self.0.entries.values().filter(move |entry| entry.said.key.path == path)
    }

    fn value(&self, path: &str) -> Option<Value> {
        self.0.value(keys::named(path)?)
    }

    fn text(&self, path: &str) -> String {
        self.value(path).and_then(|value| text_of(&value)).unwrap_or_default()
    }

    fn texts(&self, path: &str) -> Vec<String> {
        match self.value(path) {
            Some(Value::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }

    fn flag(&self, path: &str) -> bool {
        self.value(path) == Some(Value::Flag(true))
    }

    /// Returns a score in whole thousandths, as all scores are.
    fn score(&self, path: &str) -> Score {
        match self.value(path) {
            // It was checked to be from 0 to 1 when it was read.
            Some(Value::Decimal(number)) => Score::new((number * 1000.0).round() as u16),
            _ => Score::ZERO,
        }
    }

    fn days(&self, path: &str) -> u32 {
        u32::try_from(self.number(path)).unwrap_or(u32::MAX)
    }

    fn number(&self, path: &str) -> u64 {
        match self.value(path) {
            Some(Value::Integer(number)) => u64::try_from(number).unwrap_or_default(),
            _ => 0,
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    if let Value::Text(text) = value { Some(text.clone()) } else { None }
}

/// Resolves a path that may begin with `~/`.
pub fn at_home(path: &str, person: &str) -> PathBuf {
    match path.strip_prefix("~/").filter(|_| !person.is_empty()) {
        Some(below) => Path::new(person).join(below),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
