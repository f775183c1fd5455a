//! The reviewer that every reviewing command shares: configuration, home, plugins and masker, set
//! up once.

mod bundled;
mod observer;

pub use bundled::{OURS, in_place_of};
pub use observer::PluginObserver;

use crate::bundles::receipt::PluginPin;
use crate::bundles::verify;
use crate::compiler::Processes;
use crate::config_check;
use crate::names::NameService;
use crate::protected_paths;
use crate::rules;
use crate::workspace;
use anyhow::{Context, Result};
use portcullis_builtin::{Builtin, CHOICE};
use portcullis_config::paths::Paths;
use portcullis_config::problem::KeyProblem;
use portcullis_config::{Config, GrantConfig, PluginConfig, at_home, plugins};
use portcullis_core::action::StepDetail;
use portcullis_core::event::{Event, EventKind};
use portcullis_core::exceptions::Exception;
use portcullis_core::fault::OnFault;
use portcullis_core::mask::Masker;
use portcullis_core::observe::{Observations, Query};
use portcullis_core::pipeline::{self, MissedCall, Ports, ReviewOutcome, Settings};
use portcullis_core::plugins::Plugins;
use portcullis_core::policy::Mode;
use portcullis_core::record::Record;
use portcullis_core::session::State;
use portcullis_core::undo::{NoUndo, Undo};
use portcullis_engine::{
    CodeCache, Engine, Folder, Grants, Hold, Host, Kind, Limits, MOST_VARIABLES, PluginSet,
    PluginSpec, Random, ReviewClock, Setting, SettingValue, ShellCacheConfig, Source, Web,
};
use portcullis_store::{Home, NewRecord};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The key under which secrets are masked if the answer must not depend on the installation.
pub const REPLAY_KEY: [u8; 32] = *b"portcullis replay: a fixed key  ";

/// The file extension of third-party components.
pub const COMPONENT: &str = "wasm";

/// Reviews events.
pub struct Reviewer {
    /// The plugins.
    pub plugins: PluginSet,
    config: Config,
    masker: Masker,
    person: String,
    /// True if the workspace is observed; off in replays of events from elsewhere.
    observes: bool,
    /// The folders of the installation; `None` if its parts count by their usual names.
    places: Option<Paths>,
}

/// The settings of a reviewer.
pub struct Setup<'a> {
    /// The configuration.
    pub config: Config,
    /// Components to load in addition to those of the configuration.
    pub extra: &'a [PathBuf],
    /// Verified plugins of bundles.
    pub bundled: &'a [PluginPin],
    /// The wall clock that backs up the fuel limit; off for replays.
    pub clock: ReviewClock,
    /// True if the workspace is observed.
    pub observes: bool,
    /// The key under which secrets are masked.
    pub mask_key: [u8; 32],
    /// The cache of compiled code; without one, everything is recompiled.
    pub cache: Option<CodeCache>,
    /// The person's home folder.
    pub person: String,
    /// The project's folder, for plugins that may read it.
    pub project: Option<PathBuf>,
}

impl Reviewer {
    /// Creates a reviewer with the plugins of a configuration, builtin ones first; nothing is
    /// compiled yet.
    ///
    /// # Errors
    /// Fails if the plugin folder cannot be read, or if two plugins have the same name.
    pub fn new(setup: Setup<'_>) -> Result<Self> {
        let engine = Engine::new(setup.cache)
            .context("cannot set up the sandbox")?
            .with_compiler(Arc::new(Processes::patient()));
        let engine = engine.with_web(Web::new(Arc::new(NameService)));
        let mut entries: Vec<PluginSpec> = portcullis_builtin::ALL
            .iter()
            .filter(|builtin| enabled(&setup.config, builtin.name) && builtin.name != rules::PLUGIN)
            .map(|builtin| {
                bundled::in_place_of(builtin_entry(builtin, &setup.config), setup.bundled)
            })
            .collect();
        if enabled(&setup.config, rules::PLUGIN) {
            entries.extend(rules::entries(&setup.config, setup.bundled));
        }
        // A replay must not depend on the machine, so nothing is granted there; plugins that need
        // hosts are still loaded.
        let granted = |said: &GrantConfig| {
            let hosts = hosts(said);
            Arc::new(if setup.observes {
                Grants { hosts, ..grants(said, &setup.person, setup.project.as_deref()) }
            } else {
                Grants { hosts, offline: true, ..Grants::default() }
            })
        };
        let files = components(&setup.config.plugins_dir)?;
        let files =
            files.iter().chain(setup.extra).map(|path| (file_entry(path, &setup.config), None));
        let pinned = bundled::third_party(setup.bundled)
            .map(|pinned| (bundled::entry(pinned, &setup.config), Some(pinned)));
        let is_on = |entry: &PluginSpec, pinned: Option<&PluginPin>| {
            pinned.is_some_and(|one| one.organisation) || enabled(&setup.config, &entry.name)
        };
        for (mut entry, pinned) in
            files.chain(pinned).filter(|(entry, pinned)| is_on(entry, *pinned))
        {
            if let Some(said) = setup.config.plugins.get(&entry.name) {
                entry.grants = match pinned {
                    Some(pinned) => granted(&bundled::at_most(pinned, &said.grants)),
                    None => granted(&said.grants),
                };
            }
            entries.push(entry);
        }
        unknown_plugins(&setup.config, |name| entries.iter().any(|entry| entry.name == name))?;
        let patterns = setup.config.patterns.enabled.clone();
        let reader = PluginSpec {
            limits: Limits::shell_reader(),
            ..builtin_entry(&portcullis_builtin::SHELL_READER, &setup.config)
        };
        let mut plugins = PluginSet::new(engine, reader, entries, setup.clock)
            .context("cannot set up the plugins")?;
        only_what_judges_looks_on(&mut plugins, &setup.config)?;
        interventions_are_there(&mut plugins, &setup.config)?;
        if let Some(names) = patterns {
            plugins.ask_patterns(names);
        }
        let masker = Masker::new(setup.mask_key, &setup.config.policy.personal_data);
        Ok(Self {
            plugins,
            config: setup.config,
            masker,
            person: setup.person,
            observes: setup.observes,
            places: None,
        })
    }

    /// Creates the reviewer of an installation, with its home's key and cache.
    ///
    /// # Errors
    /// Fails like `new`.
    pub fn installed(
        places: &Paths,
        home: &Home,
        config: Config,
        extra: &[PathBuf],
        now: u64,
    ) -> Result<Self> {
        Self::with(places, home, home, config, extra, now, verify::ReceiptPolicy::None)
    }

    /// Creates the same reviewer with the compiled code of another home.
    ///
    /// # Errors
    /// Fails like `new`.
    pub fn with_code_of(
        code: &Home,
        places: &Paths,
        home: &Home,
        config: Config,
        now: u64,
    ) -> Result<Self> {
        Self::with(places, home, code, config, &[], now, verify::ReceiptPolicy::None)
    }

    /// Creates the reviewer of a hook: its verification is remembered for the next one.
    ///
    /// # Errors
    /// Fails like `new`.
    pub fn of_hook(places: &Paths, home: &Home, config: Config, now: u64) -> Result<Self> {
        Self::with(places, home, home, config, &[], now, verify::ReceiptPolicy::Kept)
    }

    fn with(
        places: &Paths,
        home: &Home,
        code: &Home,
        config: Config,
        extra: &[PathBuf],
        now: u64,
        memory: verify::ReceiptPolicy,
    ) -> Result<Self> {
        rules::check_examples(&config, home)?;
        // Signatures expire by the real clock, even if the reviewed events are past.
        let bundled = verify::plugins(places, home, portcullis_config::clock::now(), memory)?;
        let mut config = config;
        if config.policy.mode == Mode::Async {
            // The client takes one answer to a request: it is given when the review is done.
            config.policy.mode = Mode::Blocking;
        }
        let reviewer = Self::new(Setup {
            config,
            extra,
            bundled: &bundled,
            clock: ReviewClock { now_ms: now, backstop: Some(ReviewClock::BACKSTOP) },
            observes: true,
            mask_key: home.derive_key("portcullis 2026 masking"),
            cache: Some(code_cache(code)),
            person: places.person.clone(),
            project: places.project.clone(),
        })?;
        Ok(Self { places: Some(places.clone()), ..reviewer })
    }

    /// Caches how command lines were read, if the configuration enables it: for commands that
    /// review more than one action.
    pub fn enable_shell_cache(&mut self) {
        let cache = self.config.cache;
        let size = usize::try_from(cache.max_size).ok().and_then(NonZeroUsize::new);
        if let (true, Some(size)) = (cache.enabled, size) {
            self.plugins.enable_shell_cache(ShellCacheConfig {
                size,
                ttl: Duration::from_secs(cache.ttl_minutes.saturating_mul(60)),
            });
        }
    }

    /// Returns its configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns a text without secrets, for a record.
    pub fn masked(&self, text: &str) -> String {
        self.masker.mask(&[text]).apply(text)
    }

    /// Reviews one event.
    pub fn review(
        &mut self,
        event: &Event,
        state: State,
        now: u64,
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
    ) -> ReviewOutcome {
        self.review_overheard(event, state, now, around, details, None)
    }

    /// Reviews one event, and passes the plugins' answers to an observer.
    pub fn review_overheard(
        &mut self,
        event: &Event,
        state: State,
        now: u64,
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
        ear: Option<&mut dyn PluginObserver>,
    ) -> ReviewOutcome {
        self.plugins.begin(now);
        self.plugins.hold(around.held.to_vec());
        let home = around.home.unwrap_or(&self.person);
        let before = matches!(event.kind, EventKind::BeforeTool(_));
        self.config.policy.guarded = match &self.places {
            _ if !before => Vec::new(),
            Some(places) => protected_paths::installed(
                places,
                &self.config.plugins_dir,
                &self.config.rules.files,
                &event.cwd,
            ),
            None => protected_paths::by_name(home, &event.cwd),
        };
        let (observes, policy) = (self.observes, &self.config.policy);
        let mut observe = |queries: &[Query]| match around.seen {
            Some(seen) => seen.clone(),
            None if observes => workspace::observe(queries, &policy.guarded),
            None => Observations::new(),
        };
        let settings = Settings {
            policy,
            masker: &self.masker,
            home,
            exceptions: around.exceptions,
            unwhole: around.unwhole,
        };
        let undo = around.undo.unwrap_or(&NoUndo);
        let mut overheard;
        let plugins: &mut dyn Plugins = match ear {
            None => &mut self.plugins,
            Some(ear) => {
                overheard = observer::ObservedPlugins { plugins: &mut self.plugins, ear };
                &mut overheard
            }
        };
        let mut ports = Ports { plugins, observe: &mut observe, details, undo };
        let reviewed = pipeline::run(event, state, now, &settings, &mut ports);
        if around.missed.is_empty() {
            return reviewed;
        }
        pipeline::missed_calls(event, reviewed, around.missed, now, &settings, &mut ports)
    }
}

/// The installation's state that a review uses besides the event; it does not apply to trial runs.
#[derive(Clone, Copy, Default)]
pub struct ReviewContext<'a> {
    /// The recorded workspace; if `None`, the workspace is read as it is now.
    pub seen: Option<&'a Observations>,
    /// The person's home folder at that time; if `None`, the reviewer's.
    pub home: Option<&'a str>,
    /// The exceptions that a person granted.
    pub exceptions: &'a [Exception],
    /// Plugin files that are not run because they are held.
    pub held: &'a [Hold],
    /// The weaknesses of the protection, one sentence each.
    pub unwhole: &'a [String],
    /// Calls that appear only in the client's transcript.
    pub missed: &'a [MissedCall],
    /// Takes checkpoints of files before an action; if `None`, nothing is kept.
    pub undo: Option<&'a dyn Undo>,
}

/// Returns a home's cache of compiled code.
#[must_use]
pub fn code_cache(home: &Home) -> CodeCache {
    CodeCache::new(&home.cache(), home.derive_key("portcullis 2026 code cache"))
}

fn enabled(config: &Config, name: &str) -> bool {
    config.plugins.get(name).and_then(|plugin| plugin.enabled) != Some(false)
}

/// Returns a builtin plugin's specification under the configuration.
pub fn builtin_entry(builtin: &'static Builtin, config: &Config) -> PluginSpec {
    let said = config.plugins.get(builtin.name);
    PluginSpec {
        name: builtin.name.to_owned(),
        source: Source::Builtin {
            name: builtin.name,
            kind: kind(builtin.kind),
            waits_for_outcome: builtin.waits_for_outcome,
            descriptor: (!builtin.descriptor.is_empty()).then_some(builtin.descriptor),
            digest: builtin.component.digest,
            bytes: builtin.component.bytes,
        },
        settings: settings(said, builtin, config),
        injected_settings: Vec::new(),
        on_fault: said.and_then(|plugin| plugin.on_fault).unwrap_or(OnFault::Block),
        limits: Limits::builtin(),
        // Builtin plugins ask for no grants.
        grants: Arc::default(),
        shadow: said.is_some_and(|plugin| plugin.shadow),
    }
}

/// Returns the settings for a builtin plugin's `prepare`: its name, if its component holds several
/// plugins; its own settings; and the shared settings that it declares.
fn settings(said: Option<&PluginConfig>, builtin: &Builtin, config: &Config) -> Vec<Setting> {
    let choice = builtin
        .choice()
        .map(|name| Setting { key: CHOICE.into(), value: SettingValue::Text(name.into()) });
    choice.into_iter().chain(own_settings(said, builtin, config)).collect()
}

fn own_settings(said: Option<&PluginConfig>, builtin: &Builtin, config: &Config) -> Vec<Setting> {
    let mut settings = said.map(|plugin| plugin.settings.clone()).unwrap_or_default();
    let known =
        if builtin.kind == portcullis_builtin::Kind::Pattern { handed(config) } else { Vec::new() };
    if known.is_empty() {
        return settings;
    }
    let declared = plugins::declared(builtin.name).unwrap_or_default();
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
pub const fn kind(kind: portcullis_builtin::Kind) -> Kind {
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
fn file_entry(path: &Path, config: &Config) -> PluginSpec {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    foreign_entry(name, Source::File(path.to_owned()), config)
}

/// Returns a third-party plugin's specification under the configuration, without any grant.
fn foreign_entry(name: String, source: Source, config: &Config) -> PluginSpec {
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
fn grants(said: &GrantConfig, person: &str, project: Option<&Path>) -> Grants {
    let variables = said.environment.iter().take(MOST_VARIABLES);
    let value = |name: &String| {
        Some((name.clone(), std::env::var(name).ok()?.chars().take(VALUE_CHARS).collect()))
    };
    let named = said
        .directories
        .iter()
        .map(|shown| Folder { path: at_home(shown, person), shown: shown.clone() });
    let project = project
        .filter(|_| said.project)
        .map(|path| Folder { path: path.to_owned(), shown: PROJECT.into() });
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
    said.hosts.iter().filter_map(|host| Host::parse(host)).collect()
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

/// Checks that only judging plugins run in shadow mode: an ignored intervention would leave a
/// session without its answer, an ignored exporter without its text.
fn only_what_judges_looks_on(plugins: &mut PluginSet, config: &Config) -> Result<()> {
    let reader = portcullis_builtin::SHELL_READER.name;
    let mut looking_on: Vec<String> = plugins.shadows().collect();
    looking_on
        .extend(config.plugins.get(reader).filter(|said| said.shadow).map(|_| reader.to_owned()));
    if looking_on.is_empty() {
        return Ok(());
    }
    let others =
        [Kind::Intervention, Kind::AuditExporter].into_iter().flat_map(|kind| plugins.names(kind));
    let others: Vec<String> = others.chain([reader.to_owned()]).collect();
    if let Some(name) = looking_on.iter().find(|name| others.contains(name)) {
        let key = format!("plugins.{name}.shadow");
        let what = format!(
            "`{key}` is `true`, but `{name}` judges no actions; only risk-calculators and patterns can run in shadow mode"
        );
        return Err(KeyProblem { key, what }.into());
    }
    Ok(())
}

/// Checks that all interventions have their plugin: without it the intervention would be dropped.
fn interventions_are_there(plugins: &mut PluginSet, config: &Config) -> Result<()> {
    let policy = &config.policy.interventions;
    if let Some(problem) = config_check::decider(config) {
        return Err(problem.into());
    }
    let decider = policy.decider.iter().map(|name| ("interventions.decider".to_owned(), name));
    let named: Vec<_> = policy
        .plugins
        .iter()
        .map(|(kind, name)| (format!("interventions.plugins.{kind}"), name))
        .chain(decider)
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let there = plugins.names(Kind::Intervention);
    match named.iter().find(|(_, name)| !there.contains(name)) {
        Some((key, name)) => {
            let what = format!(
                "`{key}` names `{name}`, but there is no intervention plugin of that name; there are {}",
                there.join(", ")
            );
            Err(KeyProblem { key: key.clone(), what }.into())
        }
        None => Ok(()),
    }
}

/// Rejects a setting for a plugin that does not exist: its owner believes that a check runs.
fn unknown_plugins(config: &Config, loaded: impl Fn(&str) -> bool) -> Result<()> {
    for name in config.patterns.enabled.iter().flatten() {
        let builtin = portcullis_builtin::find(name);
        let key = "patterns.enabled".to_owned();
        if builtin.is_some_and(|builtin| builtin.kind != portcullis_builtin::Kind::Pattern) {
            let what = format!(
                "`{key}` holds `{name}`, which is not a pattern; name pattern plugins, or `all`"
            );
            return Err(KeyProblem { key, what }.into());
        }
        if builtin.is_none() && !loaded(name) {
            let folder = config.plugins_dir.display();
            let what = format!(
                "`{key}` holds `{name}`, but no builtin pattern has that name, no locked bundle holds it, and `{folder}` holds no `{name}.{COMPONENT}`"
            );
            return Err(KeyProblem { key, what }.into());
        }
    }
    for (name, said) in &config.plugins {
        let switched_off = said.enabled == Some(false);
        let known = loaded(name)
            || portcullis_builtin::find(name).is_some()
            || name == portcullis_builtin::SHELL_READER.name;
        if !known && !switched_off {
            let folder = config.plugins_dir.display();
            let what = format!(
                "`plugins.{name}` is configured, but no builtin plugin has that name, no locked bundle holds it, and `{folder}` holds no `{name}.{COMPONENT}`"
            );
            return Err(KeyProblem { key: format!("plugins.{name}"), what }.into());
        }
    }
    Ok(())
}

/// Converts a record for the store.
#[must_use]
pub fn to_store(record: &Record) -> NewRecord {
    NewRecord {
        id: record.id.clone(),
        at: record.at,
        kind: record.kind.as_str().to_owned(),
        step: record.step,
        call_id: record.call.clone(),
        subject: record.subject.clone(),
        verdict: record.verdict().map(|verdict| verdict.as_str().to_owned()),
        document: record.document(),
    }
}
