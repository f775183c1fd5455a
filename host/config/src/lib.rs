//! The configuration: the organisation's, the person's and the project's file, as policy and
//! entries.
//!
//! Without any file everything has its default. An unusable file is an error, no matter who owns
//! it: a guard that runs on half of its configuration does not do what its owner expects. The table
//! of keys is in [`keys`], the reader of a file in [`parse`], the precedence in [`layers`].

pub mod amount;
mod answers;
pub mod boundary;
pub mod clock;
pub mod duration;
pub mod file;
pub mod handed;
pub mod hidden_tools;
mod kept;
pub mod keys;
pub mod kinds;
mod ladders;
pub mod layers;
pub mod listing;
mod named_files;
pub mod names;
mod order;
pub mod order_scope;
pub mod orders;
pub mod parse;
pub mod paths;
pub mod pause;
pub mod plugins;
pub mod problem;
pub mod profiles;
pub mod prompts;
mod reading;
pub mod rules;
pub mod running;
pub mod schema;
pub mod sizes;
pub mod trust;
mod values;

pub use kept::KeptConfigs;
pub use named_files::read_project_file;
pub use reading::{read_files, read_one, settle_file, settle_files, settle_layers};

use crate::boundary::{config_of, user_of_state};
use crate::paths::{PROJECT_FILE, Paths};
use anyhow::Result;
use hidden_tools::HiddenTools;
use layers::{IgnoreReason, IgnoredKey, MergedSettings};
use portcullis_core::breaker::BreakerPolicy;
use portcullis_core::fault::OnFault;
use portcullis_core::policy::Policy;
use portcullis_core::score::RiskLevel;
use portcullis_core::text::one_line;
use portcullis_engine::{Setting, SettingValue as Value};
use portcullis_fleet::orders::Orders;
use portcullis_fleet::protocol::SentDetail;
use portcullis_store::{Durability, Home};
use problem::BadConfiguration;
use reading::settle_tried;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use values::EffectiveValues;

/// The file's name inside the configuration folder.
pub const FILE: &str = "config.toml";

/// The beginning of the path of a channel's key.
pub const CHANNEL: &str = "notifications.channels.*.";

/// The beginning of the path of an export's key.
pub const EXPORT: &str = "exports.*.";

/// The configuration in the types of its users.
#[derive(Clone, Debug, PartialEq)]
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
    /// The questions that wait for a person.
    pub approvals: Approvals,
    /// The settings of each notification channel: by name, by key.
    pub channels: BTreeMap<String, BTreeMap<String, Value>>,
    /// The settings of each export: by name, by key.
    pub exports: BTreeMap<String, BTreeMap<String, Value>>,
    /// The limits that `run` sets for an agent.
    pub running: running::RunDefaults,
    /// Where new versions of this program are announced.
    pub upgrade: UpgradeSource,
    /// The target for the time of a review, in milliseconds.
    pub max_review_time_ms: u64,
    /// The rules from files.
    pub rules: rules::CustomRules,
    /// The tools of MCP servers that no agent sees.
    pub hidden_tools: HiddenTools,
    /// The file of templates, with those that count.
    pub prompts: Option<prompts::PromptsFile>,
    /// The settings of the journal.
    pub audit: Audit,
    /// The detail of the records that a machine in a fleet sends to its hub.
    pub fleet_detail: SentDetail,
    /// True if the approvers of the fleet are asked, too.
    pub fleet_approvals: bool,
    /// The values in the project's file that do not count, because nobody trusted that file.
    pub untrusted: Vec<IgnoredKey>,
}

/// The questions that wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// The longest time that an action waits for an answer, in seconds; 0 asks nobody.
    pub wait_seconds: u64,
    /// The level of risk from which two people have to allow an action; `None` for none.
    pub two_people_from: Option<RiskLevel>,
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

/// Where new versions of this program are announced, and who signs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeSource {
    /// The folder or address; `None` if nobody named one.
    pub source: Option<String>,
    /// The files with the public keys.
    pub keys: Vec<PathBuf>,
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
        Self::with_files(&settle_layers(places, home, None)?, places, home)
    }

    /// Loads the configuration that would be in force under orders that the machine only tries.
    ///
    /// # Errors
    /// Fails like `load`, and if the orders hold what is not for orders.
    pub fn load_tried(places: &Paths, home: &Home, orders: &Orders) -> Result<Self> {
        Self::with_files(&settle_tried(places, home, orders)?, places, Some(home))
    }

    /// Loads the configuration of one file alone.
    ///
    /// # Errors
    /// Fails like `load`; a missing file is an error here.
    pub fn read_file(path: &Path, places: &Paths) -> Result<Self> {
        let settled = settle_file(path, places)?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::with_files(&settled, &Paths { config: folder, project: None, ..places.clone() }, None)
    }

    /// Returns the configuration with the content of the files that it names.
    fn with_files(settled: &MergedSettings, places: &Paths, home: Option<&Home>) -> Result<Self> {
        let mut config = Self::of(settled, places);
        let prompts = prompts::read_prompts(settled, places)?;
        let templates = prompts.iter().flat_map(|file| &file.templates);
        let templates = templates.map(|(name, template)| (name.clone(), template.text.clone()));
        config.policy.interventions.templates.extend(templates);
        let disabled = EffectiveValues(settled).texts("rules.disabled");
        Ok(Self {
            rules: rules::read(
                &EffectiveValues(settled).texts("rules.files"),
                disabled,
                places,
                home,
                settled,
            )?,
            prompts,
            ..config
        })
    }

    /// Returns the configuration without any file.
    #[must_use]
    pub fn builtin_only(places: &Paths) -> Self {
        Self::of(&MergedSettings::default(), places)
    }

    /// Returns a notice for the person at the start of a session, if values of the project's file
    /// do not count.
    #[must_use]
    pub fn notice(&self, places: &Paths) -> Option<String> {
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
        // Behind a boundary nobody can trust a file that the agent's user writes.
        let why = match user_of_state(&places.state) {
            None => "that file is not trusted. `portcullis trust` shows what it sets.".to_owned(),
            Some(user) => format!(
                "here that file makes the review only stricter. An administrator sets other values in \
                 `{}/config.toml`.",
                config_of(user).display()
            ),
        };
        (!named.is_empty()).then(|| {
            format!(
                "Portcullis ignores {}{more} of this project's `{PROJECT_FILE}`: {why}",
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
            approvals: Approvals {
                wait_seconds: holds.number("approvals.wait_seconds"),
                two_people_from: holds.risk_level("approvals.two_people"),
            },
            channels: holds.named_tables(CHANNEL),
            exports: holds.named_tables(EXPORT),
            running: holds.running(),
            upgrade: UpgradeSource {
                source: Some(holds.text("upgrade.source")).filter(|source| !source.is_empty()),
                keys: holds
                    .texts("upgrade.keys")
                    .iter()
                    .map(|path| at_home(path, &places.person))
                    .collect(),
            },
            max_review_time_ms: holds.number("performance.max_review_time_ms"),
            rules: rules::CustomRules::default(),
            hidden_tools: HiddenTools::new(holds.texts("mcp.hide")),
            prompts: None,
            audit: Audit {
                retention_days: holds.days("audit.retention_days"),
                anchors: holds
                    .texts("audit.anchors")
                    .iter()
                    .map(|path| at_home(path, &places.person))
                    .collect(),
                export_format: holds.text("audit.export_format"),
            },
            fleet_detail: SentDetail::find_level(&holds.text("fleet.detail")).unwrap_or_default(),
            fleet_approvals: holds.flag("fleet.approvals"),
            untrusted: settled
                .ignored
                .iter()
                .filter(|ignored| ignored.why == IgnoreReason::Untrusted)
                .cloned()
                .collect(),
        }
    }
}

/// Returns the custom rules as written in their files, including their mistakes.
///
/// # Errors
/// Fails like `Config::load`, except for mistakes in the rules files.
pub fn rules_as_written(
    places: &Paths,
    home: &Home,
) -> Result<rules::CustomRules, BadConfiguration> {
    let settled = settle_layers(places, Some(home), None)?;
    let holds = EffectiveValues(&settled);
    let files = holds.texts("rules.files");
    rules::gather(&files, holds.texts("rules.disabled"), places, &settled)
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
