//! The reviewer that every reviewing command shares: configuration, home, plugins and masker, set
//! up once.

mod earlier;
mod observer;

pub(crate) use earlier::{EarlierReviewer, lock_earlier};
pub use observer::PluginObserver;

use crate::bundles::receipt::PluginPin;
use crate::compiler::Processes;
use crate::config_check;
use crate::names::NameService;
use crate::plugin_specs::{COMPONENT, GrantScope, KeptSpecs, reader_spec};
use crate::protected_paths::{self, KeptList};
use crate::step_detail::PastSteps;
use crate::user_view::UserView;
use crate::workspace::{self, described::DescribedDisk, reported::ReportedDisk};
use anyhow::{Context, Result};
use portcullis_agents::HookEnvironment;
use portcullis_config::paths::Paths;
use portcullis_config::problem::KeyProblem;
use portcullis_config::{Cache, Config};
use portcullis_core::action::StepDetail;
use portcullis_core::event::{Event, EventKind};
use portcullis_core::exceptions::Exception;
use portcullis_core::facts;
use portcullis_core::mask::Masker;
use portcullis_core::observe::{Observations, Query};
use portcullis_core::pipeline::{self, MissedCall, Ports, ReviewOutcome, Settings};
use portcullis_core::plugins::Plugins;
use portcullis_core::run_files::ShellPlace;
use portcullis_core::session::{Measured, State};
use portcullis_core::undo::{NoUndo, Undo};
use portcullis_engine::{
    CodeCache, Engine, Hold, Kind, PluginSet, PluginSpec, ReviewClock, ShellCache,
    ShellCacheConfig, Source, Web,
};
use portcullis_store::Home;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The key under which secrets are masked if the answer must not depend on the installation.
pub const REPLAY_KEY: [u8; 32] = *b"portcullis replay: a fixed key  ";

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
    /// Everything that its plugins were made of.
    origin: Arc<PluginOrigin>,
    /// Plugins that review beside its own.
    earlier: Option<EarlierReviewer>,
    /// The past steps that it parsed; `None` in a process that ends after one review.
    past_steps: Option<Arc<PastSteps>>,
    /// The guarded paths of its last event; `None` in a process that ends after one review.
    guard: Option<KeptList>,
}

/// Everything that a reviewer's plugins are made of. Plugins of the same origin answer the same.
pub(crate) struct PluginOrigin {
    config: Arc<Config>,
    specs: Arc<[PluginSpec]>,
    /// The stamps of the plugins' files, in the order of `specs`; `None` for a builtin one.
    files: Vec<Option<FileStamp>>,
    mask_key: [u8; 32],
    person: String,
    observes: bool,
}

impl PartialEq for PluginOrigin {
    /// Compares a configuration and specifications with themselves at no cost: a service keeps both,
    /// and compares them for each event.
    fn eq(&self, other: &Self) -> bool {
        let Self { config, specs, files, mask_key, person, observes } = self;
        let is_same_config = Arc::ptr_eq(config, &other.config) || *config == other.config;
        let is_same_specs = Arc::ptr_eq(specs, &other.specs) || *specs == other.specs;
        is_same_config
            && is_same_specs
            && (files, mask_key, person, observes)
                == (&other.files, &other.mask_key, &other.person, &other.observes)
    }
}

impl PluginOrigin {
    /// Returns the key under which its reviewers mask secrets, which differs between homes.
    pub(crate) const fn mask_key(&self) -> &[u8; 32] {
        &self.mask_key
    }

    /// Returns true if only the code of plugins is another one: the same plugins, with the same
    /// configuration.
    pub(crate) fn differs_in_code_alone(&self, other: &Self) -> bool {
        let same_entry = |(one, two): (&PluginSpec, &PluginSpec)| {
            *one == PluginSpec { source: one.source.clone(), ..two.clone() }
        };
        let same_specs = self.specs.len() == other.specs.len()
            && self.specs.iter().zip(other.specs.iter()).all(same_entry);
        let all_but_code = (&self.config, &self.mask_key, &self.person, self.observes);
        same_specs
            && all_but_code == (&other.config, &other.mask_key, &other.person, other.observes)
    }
}

/// The settings of a reviewer.
pub struct Setup<'a> {
    /// The configuration.
    pub config: Arc<Config>,
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
    /// The sandbox that runs the plugins.
    pub engine: Engine,
    /// The person's home folder.
    pub person: String,
    /// The project's folder, for plugins that may read it.
    pub project: Option<PathBuf>,
    /// The folders of the installation; `None` if its parts count by their usual names.
    pub places: Option<Paths>,
}

impl Reviewer {
    /// Creates a reviewer with the plugins of a configuration, builtin ones first; nothing is
    /// compiled yet.
    ///
    /// # Errors
    /// Fails if the plugin folder cannot be read, or if two plugins have the same name.
    pub fn new(setup: Setup<'_>) -> Result<Self> {
        PreparedSetup::new(setup)?.into_reviewer()
    }

    /// Returns true if a setup would make the same reviewer, but for the folders that it looks at.
    pub(crate) fn is_made_of(&self, setup: &PreparedSetup) -> bool {
        *self.origin == setup.origin
    }

    /// Returns everything that its plugins were made of.
    pub(crate) fn origin(&self) -> Arc<PluginOrigin> {
        Arc::clone(&self.origin)
    }

    /// Makes it look at the folders of another event.
    pub(crate) fn move_to(&mut self, places: &Paths) {
        self.places = Some(places.clone());
    }

    /// Caches how command lines were read, if the configuration enables it: for commands that
    /// review more than one action.
    pub fn enable_shell_cache(&mut self) {
        self.plugins.use_shell_cache(new_shell_cache(self.config.cache));
    }

    /// Keeps past steps that it parsed and the guarded paths, for a process that reviews many events,
    /// and shares a cache of parsed command lines.
    pub(crate) fn keep_between_events(&mut self, readings: Option<ShellCache>) {
        self.past_steps.get_or_insert_default();
        self.guard.get_or_insert_default();
        self.plugins.use_shell_cache(readings);
    }

    /// Returns the past steps that it keeps.
    pub(crate) fn past_steps(&self) -> Option<Arc<PastSteps>> {
        self.past_steps.clone()
    }

    /// Returns its configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns a text without secrets, for a record.
    pub fn mask_text(&self, text: &str) -> String {
        self.masker.build_mask(&[text]).apply_to(text)
    }

    /// Reviews one event.
    pub fn review_event(
        &mut self,
        event: &Event,
        state: State,
        now: u64,
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
    ) -> ReviewOutcome {
        match self.earlier.clone() {
            None => self.review_with_observer(event, state, now, around, details, None),
            Some(earlier) => self.review_with_earlier(&earlier, event, state, now, around, details),
        }
    }

    /// Reviews one event, and passes the plugins' answers to an observer.
    pub fn review_with_observer(
        &mut self,
        event: &Event,
        state: State,
        now: u64,
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
        observer: Option<&mut dyn PluginObserver>,
    ) -> ReviewOutcome {
        self.plugins.begin_review(now);
        // This comes after `begin_review`, which forgets what was held.
        self.plugins.hold_plugins(around.held.to_vec());
        let home = around.home.unwrap_or(&self.person);
        let before = matches!(event.kind, EventKind::BeforeTool(_));
        self.read_ahead(event, &state, home);
        let earlier = std::mem::take(&mut self.config.policy.guarded);
        if let Some(guard) = &mut self.guard {
            guard.take_back(earlier);
        }
        self.config.policy.guarded = match &self.places {
            // Only the review before an action uses the list, and making it reads the disk.
            _ if !before => Vec::new(),
            Some(places) => match (around.view, &mut self.guard) {
                (None, None) => protected_paths::list_protected(places, &self.config, &event.cwd),
                (None, Some(guard)) => guard.lend(places, &self.config, &event.cwd),
                (Some(view), _) => {
                    let locate = |paths| view.locate(paths);
                    protected_paths::list_located(places, &self.config, &event.cwd, locate)
                }
            },
            None => protected_paths::by_name(home, &event.cwd),
        };
        let (observes, policy) = (self.observes, &self.config.policy);
        let mut observe = |queries: &[Query]| match around.disk {
            Disk::Recorded(seen) => seen.clone(),
            Disk::Described(disk) => disk.observe(queries),
            Disk::Now => workspace::observe(queries, &policy.guarded),
            Disk::Default if let Some(view) = around.view => view.observe(queries, &policy.guarded),
            Disk::Default | Disk::Reported(_) if observes => {
                workspace::observe(queries, &policy.guarded)
            }
            Disk::Reported(disk) => disk.observe(queries),
            Disk::Default => Observations::new(),
        };
        let settings = Settings {
            policy,
            masker: &self.masker,
            home,
            exceptions: around.exceptions,
            unwhole: around.unwhole,
            measured: around.measured,
        };
        let undo = around.undo.unwrap_or(&NoUndo);
        let mut observed;
        let plugins: &mut dyn Plugins = match observer {
            None => &mut self.plugins,
            Some(observer) => {
                observed = observer::ObservedPlugins { plugins: &mut self.plugins, observer };
                &mut observed
            }
        };
        let mut ports = Ports { plugins, observe: &mut observe, details, undo };
        let reviewed = pipeline::run_pipeline(event, state, now, &settings, &mut ports);
        if around.missed.is_empty() {
            return reviewed;
        }
        pipeline::missed_calls(event, reviewed, around.missed, now, &settings, &mut ports)
    }
}

impl Reviewer {
    /// Begins to read the command line of an action while its review looks at the disk, as
    /// [`PluginSet::read_ahead`] does.
    fn read_ahead(&self, event: &Event, state: &State, home: &str) {
        let EventKind::BeforeTool(call) = &event.kind else { return };
        let clients = self.config.policy.clients;
        if let Some(text) = facts::command_line(call, &event.client, clients) {
            let (files, mounts) =
                (state.session.files.known_files(), state.session.mounts.list_mounts());
            let place = ShellPlace { cwd: &event.cwd, home, files: &files, mounts: &mounts };
            self.plugins.read_ahead(text, &place);
        }
    }
}

/// The settings of a reviewer with its plugins' specifications. Nothing is compiled yet.
pub(crate) struct PreparedSetup {
    origin: PluginOrigin,
    clock: ReviewClock,
    engine: Engine,
    places: Option<Paths>,
}

impl PreparedSetup {
    /// Lists the plugins of a configuration, builtin ones first.
    ///
    /// # Errors
    /// Fails if the plugin folder cannot be read, or if a setting names a plugin that does not
    /// exist.
    pub(crate) fn new(setup: Setup<'_>) -> Result<Self> {
        Self::with_kept_specs(setup, &KeptSpecs::default())
    }

    /// Does the same, and takes specifications that were made before from those that are kept.
    ///
    /// # Errors
    /// Fails like [`PreparedSetup::new`].
    pub(crate) fn with_kept_specs(setup: Setup<'_>, kept: &KeptSpecs) -> Result<Self> {
        let environment = setup.places.as_ref().map(|places| places.environment.clone());
        let environment = environment.unwrap_or_else(HookEnvironment::of_process);
        let scope = GrantScope {
            environment: &environment,
            granted: setup.observes,
            person: &setup.person,
            project: setup.project.as_deref(),
        };
        let specs = kept.list_specs(&setup.config, setup.extra, setup.bundled, scope, |specs| {
            unknown_plugins(&setup.config, |name| specs.iter().any(|spec| spec.name == name))
        })?;
        let Setup { config, mask_key, person, observes, clock, engine, places, .. } = setup;
        let files = specs.iter().map(|spec| FileStamp::of_plugin(&spec.source)).collect();
        let origin = PluginOrigin { config, specs, files, mask_key, person, observes };
        Ok(Self { origin, clock, engine, places })
    }

    /// Makes the reviewer.
    ///
    /// # Errors
    /// Fails if two plugins have the same name, or if the configuration uses one in a way that its
    /// kind does not have.
    pub(crate) fn into_reviewer(self) -> Result<Reviewer> {
        let Self { origin, clock, engine, places } = self;
        let config = Config::clone(&origin.config);
        let reader = reader_spec(&config);
        let mut plugins = PluginSet::new(engine, reader, origin.specs.to_vec(), clock)
            .context("cannot set up the plugins")?;
        only_what_judges_looks_on(&mut plugins, &config)?;
        interventions_are_there(&mut plugins, &config)?;
        if let Some(names) = config.patterns.enabled.clone() {
            plugins.ask_patterns(names);
        }
        Ok(Reviewer {
            plugins,
            masker: Masker::new(origin.mask_key, &config.policy.mask),
            person: origin.person.clone(),
            observes: origin.observes,
            config,
            places,
            origin: Arc::new(origin),
            earlier: None,
            past_steps: None,
            guard: None,
        })
    }
}

/// The values by which a changed file is recognised: no program can set the time of a change.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FileStamp {
    /// Returns the stamp of a plugin's file; `None` for a builtin plugin or a missing file.
    fn of_plugin(source: &Source) -> Option<Self> {
        let (Source::File(path) | Source::Pinned { path, .. }) = source else { return None };
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// The source of what is known of the workspace.
#[derive(Clone, Copy, Default)]
pub enum Disk<'a> {
    /// The disk as it is now if the reviewer was set up to look at it, nothing otherwise.
    #[default]
    Default,
    /// The disk as it is now.
    Now,
    /// The answers that a record kept.
    Recorded(&'a Observations),
    /// A description.
    Described(&'a DescribedDisk),
    /// The files that a recording names as new; the disk as it is now if the reviewer was set up to
    /// look at it.
    Reported(&'a ReportedDisk),
}

/// The installation's state that a review uses besides the event; it does not apply to trial runs.
#[derive(Clone, Copy, Default)]
pub struct ReviewContext<'a> {
    /// The workspace that the action meets.
    pub disk: Disk<'a>,
    /// The eyes of the hook's user, if this process does not see that user's files.
    pub view: Option<&'a UserView>,
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
    /// The agent's measurements for this event.
    pub measured: Option<&'a Measured>,
    /// Takes checkpoints of files before an action; if `None`, nothing is kept.
    pub undo: Option<&'a dyn Undo>,
}

/// Returns an empty cache of parsed command lines, if the configuration enables it.
pub(crate) fn new_shell_cache(cache: Cache) -> Option<ShellCache> {
    let size = usize::try_from(cache.max_size).ok().and_then(NonZeroUsize::new)?;
    let ttl = Duration::from_secs(cache.ttl_minutes.saturating_mul(60));
    cache.enabled.then(|| ShellCache::new(ShellCacheConfig { size, ttl }))
}

/// Returns the sandbox for plugins; without a cache of compiled code, everything is recompiled.
///
/// # Errors
/// Fails if WebAssembly cannot run on this machine.
pub fn new_engine(cache: Option<CodeCache>) -> Result<Engine> {
    let engine = Engine::new(cache).context("cannot set up the sandbox")?;
    let engine = engine.with_compiler(Arc::new(Processes::with_patience()));
    Ok(engine.with_web(Web::new(Arc::new(NameService))))
}

/// Returns a home's cache of compiled code.
#[must_use]
pub fn code_cache(home: &Home) -> CodeCache {
    CodeCache::new(&home.cache(), cache_key(home))
}

/// Returns the key of a home's cache of compiled code.
pub(crate) fn cache_key(home: &Home) -> [u8; 32] {
    home.derive_key("portcullis 2026 code cache")
}

/// Checks that only judging plugins run in shadow mode: an ignored intervention would leave a
/// session without its answer, an ignored exporter without its text.
fn only_what_judges_looks_on(plugins: &mut PluginSet, config: &Config) -> Result<()> {
    let reader = portcullis_builtin::SHELL_READER.name;
    let mut looking_on: Vec<String> = plugins.shadow_plugin_names().collect();
    looking_on
        .extend(config.plugins.get(reader).filter(|said| said.shadow).map(|_| reader.to_owned()));
    if looking_on.is_empty() {
        return Ok(());
    }
    let others = [Kind::Intervention, Kind::AuditExporter]
        .into_iter()
        .flat_map(|kind| plugins.list_names(kind));
    let others: Vec<String> = others.chain([reader.to_owned()]).collect();
    if let Some(name) = looking_on.iter().find(|name| others.contains(name)) {
        let key = format!("plugins.{name}.shadow");
        let what = format!(
            "`{key}` is `true`, but `{name}` judges no actions; only risk-calculators and patterns \
             can run in shadow mode"
        );
        return Err(KeyProblem { key, what }.into());
    }
    Ok(())
}

/// Checks that all interventions have their plugin: without it the intervention would be dropped.
fn interventions_are_there(plugins: &mut PluginSet, config: &Config) -> Result<()> {
    let policy = &config.policy.interventions;
    if let Some(problem) = config_check::check_decider(config) {
        return Err(problem.into());
    }
    let own = policy.ladders.iter().flat_map(|(issue, row)| {
        let plugins = row.answers().iter().filter_map(|answer| answer.plugin.as_ref());
        plugins.map(move |name| (format!("interventions.ladders.{issue}"), name))
    });
    let decider = policy.decider.iter().map(|name| ("interventions.decider".to_owned(), name));
    let named: Vec<_> = policy
        .plugins
        .iter()
        .map(|(kind, name)| (format!("interventions.plugins.{kind}"), name))
        .chain(decider)
        .chain(own)
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let there = plugins.list_names(Kind::Intervention);
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
                "`{key}` holds `{name}`, but no builtin pattern has that name, no locked bundle \
                 holds it, and `{folder}` holds no `{name}.{COMPONENT}`"
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
                "`plugins.{name}` is configured, but no builtin plugin has that name, no locked \
                 bundle holds it, and `{folder}` holds no `{name}.{COMPONENT}`"
            );
            return Err(KeyProblem { key: format!("plugins.{name}"), what }.into());
        }
    }
    Ok(())
}
