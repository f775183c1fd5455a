//! The configuration: the organisation's, the person's and the project's file, as policy and entries.
//!
//! Without any file everything has its default. A file that cannot be used is an error, whosever it is:
//! a guard that runs on half of its configuration is not doing what its owner thinks. The table of keys
//! stands in [`keys`], what a file says in [`parse`], who goes before whom in [`layers`].

pub mod file;
pub mod keys;
pub mod kinds;
pub mod layers;
mod order;
pub mod parse;
pub mod plugins;
pub mod problem;
pub mod rules;
pub mod running;
pub mod schema;
pub mod trust;

use crate::places::{PROJECT_FILE, Places};
use anyhow::Result;
use layers::{Entry, Ignored, Layer, Read, Scene, Settled, Why};
use parse::Said;
use portcullis_core::breaker::BreakerPolicy;
use portcullis_core::fault::OnFault;
use portcullis_core::intervene::Kind as Intervention;
use portcullis_core::policy::{
    DecisionPolicy, Detail, InterventionPolicy, LimitPolicy, Mode, Policy, RationalityThresholds, RiskThresholds, ScopePolicy, Strategy,
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

/// How the path of a key of a channel begins.
pub const CHANNEL: &str = "notifications.channels.*.";

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
    /// Which patterns look, and how closely.
    pub patterns: Patterns,
    /// When a plugin that keeps failing is held.
    pub breaker: BreakerPolicy,
    /// What long-lived commands remember.
    pub cache: Cache,
    /// What is kept of files before actions.
    pub checkpoints: Checkpoints,
    /// What is kept of stopped sessions.
    pub incidents: Incidents,
    /// Days after which what was moved into a quarantine is deleted; 0 keeps it.
    pub quarantine_days: u32,
    /// Days after which messages that were given up are deleted; 0 keeps them.
    pub messages_days: u32,
    /// What is said of each channel of notifications: by name, by key.
    pub channels: BTreeMap<String, BTreeMap<String, Value>>,
    /// What `run` holds an agent to.
    pub running: running::Running,
    /// The target for the time of a review, in milliseconds.
    pub max_review_time_ms: u64,
    /// The rules that files hold.
    pub rules: rules::Rules,
    /// How the journal is kept.
    pub audit: Audit,
    /// What the project's file says and what does not count, because nobody trusted that file.
    pub untrusted: Vec<Ignored>,
}

/// What is said of one plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginConfig {
    /// It is loaded.
    pub enabled: Option<bool>,
    /// What its faults mean.
    pub on_fault: Option<OnFault>,
    /// What it may have of the machine.
    pub grants: GrantConfig,
    /// It looks on, and does not count.
    pub shadow: bool,
    /// Its own settings, flattened, by name.
    pub settings: Vec<Setting>,
}

/// What is granted to one plugin, as it was written: variables by name, folders by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantConfig {
    /// Real clocks.
    pub clocks: bool,
    /// Where random bytes come from: one of the key's words, none for its default.
    pub random: Option<String>,
    /// The seed, where they come from one.
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

/// Which pattern plugins look at the history, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    /// Their names; none for all.
    pub enabled: Option<Vec<String>>,
    /// The sensitivity of those that do not have one of their own; none leaves it to each.
    pub sensitivity: Option<String>,
}

/// What long-lived commands remember of what they read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// They do.
    pub enabled: bool,
    /// For how many minutes.
    pub ttl_minutes: u64,
    /// How many readings.
    pub max_size: u64,
}

/// What is kept of files before actions, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// Anything is.
    pub enabled: bool,
    /// What git ignores and builds make is kept wherever a whole project is, not only where it is deleted.
    pub ignored: bool,
    /// How long an action waits for it.
    pub budget: Duration,
    /// Bytes of the largest file.
    pub max_file: u64,
    /// Bytes of everything together.
    pub max_total: u64,
    /// How long it is kept.
    pub kept: Duration,
}

/// What is kept of stopped sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incidents {
    /// Days after which it is forgotten; 0 keeps it.
    pub kept_days: u32,
    /// The end of a session for good puts away what the agent made.
    pub auto_cleanup: bool,
}

/// How the journal is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Days after which a record is removed; 0 keeps all.
    pub retention_days: u32,
    /// Files that get the journal's head.
    pub anchors: Vec<PathBuf>,
    /// The exporter that is taken where nobody names one.
    pub export_format: String,
}

impl Config {
    /// The configuration that holds in these places. `home` tells which project files a person trusted.
    ///
    /// # Errors
    /// A file cannot be read, or something in it is unknown, of a wrong type or impossible.
    pub fn load(places: &Places, home: Option<&Home>) -> Result<Self> {
        Self::with_rules(&settle(places, home, None)?, places, home)
    }

    /// The configuration of one file alone.
    ///
    /// # Errors
    /// As for `load`; a missing file is an error here.
    pub fn read_file(path: &Path, places: &Places) -> Result<Self> {
        let file = one(path)?;
        let scene = Scene { person: &places.person, project: None, trusted: false, pipeline: None };
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::with_rules(&layers::settle(&[file], &scene), &Places { config: folder, project: None, ..places.clone() }, None)
    }

    fn with_rules(settled: &Settled, places: &Places, home: Option<&Home>) -> Result<Self> {
        let config = Self::of(settled, places);
        let disabled = Holds(settled).texts("rules.disabled");
        Ok(Self { rules: rules::read(&Holds(settled).texts("rules.files"), disabled, places, home)?, ..config })
    }

    /// The configuration without any file.
    #[must_use]
    pub fn plain(places: &Places) -> Self {
        Self::of(&Settled::default(), places)
    }

    /// What a person should know at the start of a session: that the project's file says more than counts.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let named: Vec<String> = self.untrusted.iter().take(5).map(|ignored| format!("`{}`", one_line(&ignored.path, 64))).collect();
        let more = match self.untrusted.len().checked_sub(named.len()) {
            None | Some(0) => String::new(),
            Some(more) => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "Portcullis does not count {}{more} of this project's `{PROJECT_FILE}`: nobody trusted that file. `portcullis trust` shows what it wants.",
                named.join(", ")
            )
        })
    }

    fn of(settled: &Settled, places: &Places) -> Self {
        let holds = Holds(settled);
        Self {
            policy: holds.policy(),
            durability: if holds.text("durability") == "full" { Durability::Full } else { Durability::Process },
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
            incidents: Incidents { kept_days: holds.days("incidents.kept_days"), auto_cleanup: holds.flag("incidents.auto_cleanup") },
            quarantine_days: holds.days("quarantine.kept_days"),
            messages_days: holds.days("notifications.kept_days"),
            channels: holds.channels(),
            running: holds.running(),
            max_review_time_ms: holds.number("performance.max_review_time_ms"),
            rules: rules::Rules::default(),
            audit: Audit {
                retention_days: holds.days("audit.retention_days"),
                anchors: holds.texts("audit.anchors").iter().map(|path| at_home(path, &places.person)).collect(),
                export_format: holds.text("audit.export_format"),
            },
            untrusted: settled.ignored.iter().filter(|ignored| ignored.why == Why::Untrusted).cloned().collect(),
        }
    }
}

/// What holds in these places, with its origins. `pipeline` is taken in place of those that match.
///
/// # Errors
/// As for `Config::load`.
pub fn settle(places: &Places, home: Option<&Home>, pipeline: Option<&str>) -> Result<Settled, BadConfiguration> {
    let files = read(places)?;
    let project = files.iter().find(|file| file.layer == Layer::Project);
    let trusted = match (project, home, &places.project) {
        (Some(file), Some(home), Some(folder)) => trust::holds(home, folder, &file.digest),
        _ => false,
    };
    Ok(settled(places, &files, trusted, pipeline))
}

/// The custom rules as their files say them, with whatever is wrong in them.
///
/// # Errors
/// As for `Config::load`, but for what the rules files say.
pub fn rules_as_written(places: &Places, home: &Home) -> Result<rules::Rules, BadConfiguration> {
    let settled = settle(places, Some(home), None)?;
    let holds = Holds(&settled);
    rules::gather(&holds.texts("rules.files"), holds.texts("rules.disabled"), places)
}

/// What holds by these files, with the project's trusted or not.
pub fn settled(places: &Places, files: &[Read], trusted: bool, pipeline: Option<&str>) -> Settled {
    layers::settle(files, &Scene { person: &places.person, project: places.project.as_deref(), trusted, pipeline })
}

/// Reads the files that are there.
///
/// # Errors
/// What is wrong with any of them.
pub fn read(places: &Places) -> Result<Vec<Read>, BadConfiguration> {
    let own = places.config.join(FILE);
    let mut texts =
        vec![(Layer::Managed, places.managed.clone(), file::read_managed(&places.managed)), (Layer::User, own.clone(), file::read(&own))];
    if let Some(project) = &places.project {
        texts.push((Layer::Project, project.join(PROJECT_FILE), file::read_in_project(project, PROJECT_FILE)));
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
/// What is wrong with it; it has to be there.
pub fn one(path: &Path) -> Result<Read, BadConfiguration> {
    let text = file::read(path).and_then(|text| text.ok_or_else(|| Problems::whole(path, "there is no such file".into())));
    text.and_then(|text| parsed(Layer::User, path, &text)).map_err(|problems| BadConfiguration(vec![problems]))
}

fn parsed(layer: Layer, path: &Path, text: &str) -> Result<Read, Problems> {
    let (mut document, mut problems, more) = parse::parse(text);
    problems.extend(plugins::wrong_settings(document.all()));
    problems.extend(plugins::wrong_interventions(document.all()));
    problems.extend(order::out_of_order(&document));
    problems.extend(rules::settle(&mut document, layer, path));
    if problems.is_empty() {
        return Ok(Read { layer, path: path.to_owned(), document, digest: blake3::hash(text.as_bytes()) });
    }
    problems.sort();
    let over = problems.len().saturating_sub(problem::MOST);
    problems.truncate(problem::MOST);
    Err(Problems { file: path.to_owned(), problems, more: more + over })
}

/// What holds, in the terms of those who use it. Every value was checked when it was read; where a key
/// were missing in the table its type's zero would stand for it, which a test rules out.
struct Holds<'a>(&'a Settled);

impl Holds<'_> {
    fn policy(&self) -> Policy {
        let millis = |path: &str| self.number(path).saturating_mul(1000);
        let word = |path: &str| self.text(path);
        let mode = if self.flag("reviewer.enabled") { word("mode") } else { Mode::Off.as_str().to_owned() };
        let strategy = word("interventions.strategy");
        let personal = self.texts("mask.personal");
        let default = Policy::default();
        Policy {
            mode: Mode::ALL.iter().copied().find(|known| known.as_str() == mode).unwrap_or(default.mode),
            decision: self.decision(),
            async_threshold: self.score("performance.async_threshold"),
            detail: Detail::ALL.iter().copied().find(|known| known.as_str() == word("audit.level")).unwrap_or(default.detail),
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
                strategy: Strategy::ALL.iter().copied().find(|known| known.as_str() == strategy).unwrap_or(default.interventions.strategy),
                disabled: self.disabled(),
                most: u32::try_from(self.number("interventions.most")).unwrap_or(u32::MAX),
                cooldown_ms: millis("interventions.cooldown_seconds"),
                escalation_delay_ms: millis("interventions.escalation_delay_seconds"),
                escalation_delay_steps: self.number("interventions.escalation_delay_steps"),
                templates: self.named_texts("interventions.templates.*"),
                plugins: self.named_texts("interventions.plugins.*"),
                decider: Some(self.text("interventions.decider")).filter(|name| !name.is_empty()),
                most_retries: u32::try_from(self.number("interventions.most_retries")).unwrap_or(u32::MAX),
                auto_rollback: self.flag("interventions.auto_rollback"),
            },
            on_failure: OnFailure::ALL
                .iter()
                .copied()
                .find(|known| known.as_str() == word("checkpoints.on_failure"))
                .unwrap_or(default.on_failure),
            guarded: default.guarded,
            personal_data: personal.iter().filter_map(|kind| serde_json::from_value(kind.as_str().into()).ok()).collect(),
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
        for Said { key, name, value, .. } in self.0.entries.values().map(|entry| &entry.said) {
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

    /// Names of the interventions that are switched off.
    fn disabled(&self) -> Vec<String> {
        let names = Intervention::ALL.iter().map(|kind| kind.as_str());
        names.filter(|name| !self.flag(&format!("interventions.{name}"))).map(str::to_owned).collect()
    }

    fn patterns(&self) -> Patterns {
        let enabled = self.texts("patterns.enabled");
        let said = self.0.entries.contains_key("patterns.sensitivity");
        Patterns {
            enabled: (!enabled.iter().any(|name| name == "all")).then_some(enabled),
            sensitivity: said.then(|| self.text("patterns.sensitivity")),
        }
    }

    fn plugins_dir(&self, places: &Places) -> PathBuf {
        let folder = self.text("plugins_dir");
        let project = places.project.as_ref().map(|project| project.join(PROJECT_FILE));
        let base = match self.0.entries.get("plugins_dir").map(|entry| entry.origin.layer) {
            Some(Layer::Managed) => places.managed.parent(),
            Some(Layer::Project) => project.as_deref().and_then(Path::parent),
            Some(Layer::User) | None => Some(places.config.as_path()),
        };
        base.unwrap_or(&places.config).join(at_home(&folder, &places.person))
    }

    /// What a key says whose last part is any name, by that name.
    fn named_texts(&self, path: &'static str) -> BTreeMap<String, String> {
        self.of_key(path).filter_map(|entry| Some((entry.said.name.clone(), text_of(&entry.said.value)?))).collect()
    }

    fn plugins(&self) -> BTreeMap<String, PluginConfig> {
        let mut plugins: BTreeMap<String, PluginConfig> = BTreeMap::new();
        for entry in self.0.entries.values().filter(|entry| entry.said.path.starts_with("plugins.")) {
            let (said, value) = (&entry.said, &entry.said.value);
            let plugin = plugins.entry(said.name.clone()).or_default();
            match (said.key.path, value) {
                ("plugins.*.enabled", Value::Flag(flag)) => plugin.enabled = Some(*flag),
                ("plugins.*.shadow", Value::Flag(flag)) => plugin.shadow = *flag,
                ("plugins.*.on_fault", Value::Text(word)) => {
                    plugin.on_fault = OnFault::ALL.iter().copied().find(|known| known.as_str() == word);
                }
                (path, value) if path.starts_with("plugins.*.grants.") => {
                    plugin.grants.set(path.rsplit('.').next().unwrap_or_default(), value);
                }
                _ => plugin.settings.push(Setting { key: said.setting.clone(), value: value.clone() }),
            }
        }
        for entry in self.0.entries.values() {
            if let Some(setting) = rules::setting(&entry.said) {
                plugins.entry("rules".to_owned()).or_default().settings.push(setting);
            }
        }
        // Their order means nothing, so it must not tell prepared settings apart either.
        plugins.values_mut().for_each(|plugin| plugin.settings.sort_by(|a, b| a.key.cmp(&b.key)));
        plugins
    }

    fn of_key(&self, path: &'static str) -> impl Iterator<Item = &Entry> {
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

    /// In whole thousandths, as all scores are.
    fn score(&self, path: &str) -> Score {
        match self.value(path) {
            // Checked to be from 0 to 1 when it was read.
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

/// A path that may begin with the home folder.
pub fn at_home(path: &str, person: &str) -> PathBuf {
    match path.strip_prefix("~/").filter(|_| !person.is_empty()) {
        Some(below) => Path::new(person).join(below),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
