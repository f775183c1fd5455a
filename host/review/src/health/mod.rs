//! Checks that the protection is complete: each check reports its observation and advice.
//!
//! The checks change nothing important: they neither create nor repair a key, a journal or a
//! configuration. They only write data that can be recreated (compiled plugins), and the records of
//! the canary's own reviews. Observation and judgement are separate if possible.

mod access;
mod bundles;
mod canary;
mod client;
mod credentials;
mod encryption;
mod exports;
mod finding;
mod fleet;
mod grants;
mod guard;
mod handlers;
mod journal;
mod limits;
mod machine;
mod notify;
mod program;
mod service;
mod settings;
mod start;
mod stops;
mod templates;
mod undo;
mod upkeep;

pub use finding::{Check, FindingGroup, HealthFinding, Level, worst_level};
pub use limits::LimitMeasurement;
pub use machine::has_room;
pub use start::{HookStatus, Journal, find_weaknesses, inspect_hooks};

use crate::credentials::HomeCredentials;
use crate::installed;
use handlers::Handler;
use portcullis_agents::settings::{Folders, SettingsScope};
use portcullis_agents::{Agent, Invocation, backup};
use portcullis_config::Config;
use portcullis_config::paths::{Paths, own_program};
use portcullis_core::policy::Mode;
use portcullis_store::{Durability, Home, Store};
use settings::ClientFile;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The installation to check.
pub struct HealthInput {
    /// The clients.
    pub agents: Vec<&'static dyn Agent>,
    /// Our folders.
    pub places: Paths,
    /// The folder in which a client would be started.
    pub project: PathBuf,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// Skips checks that start programs, compile plugins or read the whole journal.
    pub quick: bool,
}

/// The results of one part's checks, for later parts.
struct Guard {
    home: Option<Home>,
    config: Option<Config>,
    observing: bool,
}

impl HealthInput {
    /// Runs all checks; `progress` is called with the name of each next one. Returns the
    /// configuration that was checked, too, if it can be used.
    pub fn examine_all(
        &self,
        mut progress: impl FnMut(&str),
    ) -> (Vec<HealthFinding>, Option<Config>) {
        let mut findings = Vec::new();
        progress("folders and configuration");
        let guard = self.guard(&mut findings);
        progress("plugins");
        self.plugins(&guard, &mut findings);
        progress("the journal");
        self.journal(&guard, &mut findings);
        findings.extend(service::ask_service(&self.places.state));
        findings.extend(service::ask_boundary());
        self.machine(&mut findings);
        for agent in &self.agents {
            let of_client = self.client(*agent, &guard, &mut progress);
            let named = of_client.into_iter().map(|finding| HealthFinding {
                client: (self.agents.len() > 1 && finding.check.group() == FindingGroup::Client)
                    .then(|| agent.name()),
                ..finding
            });
            findings.extend(named);
        }
        // A stable order: by subject, the worst first. Clients stay in their order.
        findings.sort_by_key(|finding| (finding.check, std::cmp::Reverse(finding.level)));
        findings.dedup();
        (findings, guard.config)
    }

    fn client(
        &self,
        agent: &'static dyn Agent,
        guard: &Guard,
        progress: &mut impl FnMut(&str),
    ) -> Vec<HealthFinding> {
        let mut findings = Vec::new();
        progress(&format!("the settings of {}", agent.display_name()));
        let (files, handlers) = self.registration(agent, &mut findings);
        findings.extend(limits::check(agent, &files, guard.config.as_ref()));
        if !self.quick {
            progress("the hooks as they are installed");
            self.started(agent, guard, &files, &handlers, &mut findings, progress);
        }
        findings
    }

    /// Returns all limits of a prompt, and which of them are measured for the first client under a
    /// configuration.
    pub fn list_limits(&self, config: Option<&Config>) -> Vec<LimitMeasurement> {
        let Some(agent) = self.agents.first() else { return Vec::new() };
        let registration = Registration::read(*agent, &self.places, &self.project);
        limits::list(*agent, &registration.files, config)
    }

    fn guard(&self, findings: &mut Vec<HealthFinding>) -> Guard {
        let (state, config) = (self.places.state.as_path(), self.places.config.as_path());
        let home = Home::open_existing(state);
        let loaded = Config::load(&self.places, home.as_ref().ok().and_then(Option::as_ref))
            .map_err(|error| format!("{error:#}"));
        let plugins = loaded
            .as_ref()
            .map_or_else(|_| config.join("plugins"), |config| config.plugins_dir.clone());
        let access = access::check(state, config, &plugins);
        let reported = worst_level(&access) == Level::Problem;
        findings.extend(access);
        // An owner or a mode that is wrong fails both, and its finding above has the better advice.
        if let Err(error) = &home
            && !reported
        {
            findings.push(HealthFinding::problem(
                Check::Access,
                error.to_string(),
                "fix what it names",
            ));
        }
        findings.extend(guard::configuration(&loaded));
        findings
            .extend(loaded.iter().filter_map(|config| guard::plugins_folder(&self.places, config)));
        let (home, config) = (home.ok().flatten(), loaded.ok());
        findings.extend(home.iter().flat_map(|home| fleet::check_orders(home, self.now)));
        let mut observing = false;
        if let (Some(home), Some(config)) = (&home, &config) {
            let mode = guard::mode(home, config, self.now);
            // A pause is a warning there: like those two modes it refuses nothing.
            observing = matches!(config.policy.mode, Mode::Observe | Mode::Off)
                || mode.level == Level::Warning;
            findings.push(mode);
        }
        Guard { home, config, observing }
    }

    fn plugins(&self, guard: &Guard, findings: &mut Vec<HealthFinding>) {
        let (Some(home), Some(config)) = (&guard.home, &guard.config) else {
            let unreadable = findings
                .iter()
                .any(|found| found.check == Check::Access && found.level == Level::Problem);
            if guard.config.is_some() && !unreadable {
                findings.push(HealthFinding::note(
                    Check::Plugins,
                    "not loaded: nothing is installed here yet",
                    "`portcullis install` compiles them",
                ));
            }
            return;
        };
        let bundles = bundles::check(&self.places, home, config, self.now);
        findings.extend(bundles.findings);
        if bundles.refuses {
            // Without them no plugin is loaded; that is reported.
            return;
        }
        let mut reviewer =
            match installed::load_reviewer(&self.places, home, config.clone(), &[], self.now) {
                Ok(reviewer) => reviewer,
                Err(error) => {
                    return findings.push(HealthFinding::problem(
                        Check::Plugins,
                        format!("{error:#}: each action is refused"),
                        "fix what it names; `portcullis config check` names the line",
                    ));
                }
            };
        if !self.quick {
            findings.extend(templates::check(&self.places, home, &mut reviewer, self.now));
        }
        let descriptions = reviewer.plugins.describe_all();
        // An unreadable journal is reported by its own check.
        let known = Store::open_existing(home, Durability::Process)
            .and_then(|store| store.breakers())
            .unwrap_or_default();
        findings.extend(guard::held_plugins(&known, &mut reviewer, self.now));
        let uncompiled = guard::uncompiled(&descriptions, &home.cache());
        if self.quick {
            findings.extend(guard::described(&descriptions));
        } else {
            findings.extend(guard::plugins(&mut reviewer, &descriptions));
        }
        // This would compile uncompiled plugins, which takes seconds.
        if !self.quick || uncompiled.is_empty() {
            findings.push(guard::judgement(&mut reviewer, &known, self.now));
        }
        findings.extend(guard::code(&uncompiled, &reviewer, !self.quick));
    }

    fn journal(&self, guard: &Guard, findings: &mut Vec<HealthFinding>) {
        let Some(home) = &guard.home else {
            return findings.push(machine::clock(self.now, None, machine::program_made()));
        };
        findings
            .extend(guard.config.iter().flat_map(|config| undo::check(home, &config.checkpoints)));
        let (database, facts) = journal::database(home);
        findings.extend(database);
        findings.push(machine::clock(
            self.now,
            facts.as_ref().and_then(|facts| facts.newest_at),
            machine::program_made(),
        ));
        if facts.is_none() {
            return;
        }
        let Ok(mut store) = Store::open_existing(home, Durability::Process) else { return };
        if !self.quick {
            let anchors = guard.config.as_ref().map(|config| config.audit.anchors.clone());
            findings.extend(journal::chain(&mut store, &anchors.unwrap_or_default()));
            findings.extend(journal::beginning(home, &store));
        }
        findings.extend(journal::faults(&store, self.now));
        findings.push(journal::unreviewed(&store, self.now));
        findings.extend(journal::without_service(&store, self.now));
        findings.extend(journal::held_changes(&store, self.now));
        findings.extend(
            guard.config.iter().flat_map(|config| stops::check(&store, home, config, self.now)),
        );
        let (person, credentials) = (&self.places.person, HomeCredentials::of_home(Some(home)));
        findings.extend(encryption::check(home));
        findings.extend(credentials::check(home, guard.config.as_ref(), self.now));
        findings.extend(
            guard
                .config
                .iter()
                .flat_map(|config| notify::check(config, person, &store, &credentials)),
        );
        let config = guard.config.iter();
        findings.extend(
            config
                .flat_map(|config| exports::check(config, person, &store, &credentials, self.now)),
        );
        findings.extend(upkeep::check(&store, &home.path().join("maintain.lock"), self.now));
    }

    fn machine(&self, findings: &mut Vec<HealthFinding>) {
        let state = &self.places.state;
        findings.push(machine::disk(state, machine::room(state)));
        let cache = state.join("cache");
        // The cache may be a separate mount or a link.
        if machine::device(&cache).is_some_and(|device| Some(device) != machine::device(state)) {
            findings.push(machine::disk(&cache, machine::room(&cache)));
        }
    }

    fn registration(
        &self,
        agent: &'static dyn Agent,
        findings: &mut Vec<HealthFinding>,
    ) -> (Vec<ClientFile>, Vec<Handler>) {
        let registration = Registration::read(agent, &self.places, &self.project);
        findings.extend(registration.findings(&self.places));
        for path in registration.programs() {
            findings.extend(program::judge(&path, &program::look(&path, !self.quick)));
        }
        (registration.files, registration.handlers)
    }

    fn started(
        &self,
        agent: &'static dyn Agent,
        guard: &Guard,
        files: &[ClientFile],
        handlers: &[Handler],
        findings: &mut Vec<HealthFinding>,
        progress: &mut impl FnMut(&str),
    ) {
        let seed = format!("{}-{}", std::process::id(), self.now);
        let scratch = env::temp_dir().join(format!("portcullis-doctor-{seed}"));
        if let Err(error) = fs::create_dir(&scratch) {
            let what =
                format!("cannot make the folder `{}` for a trial: {error}", scratch.display());
            return findings.push(HealthFinding::warning(
                Check::Canary,
                what,
                "make the temporary folder writable",
            ));
        }
        let stage = canary::CanarySetup {
            folder: &scratch,
            person: &self.places.person,
            project: &self.project,
            files,
            seed: &seed,
        };
        let outcome = canary::run(handlers, &stage, guard.observing);
        findings.extend(outcome.findings);
        findings.extend(outcome.unrefused.and_then(|session| recorded(agent, guard, &session)));
        progress(agent.display_name());
        let client = agent.find_program(Path::new(&self.places.person));
        let version = client::version(agent, client.as_deref());
        let usable = version.level == Level::Ok;
        findings.push(version);
        if let Some(client) = client.filter(|_| usable) {
            let ours = invocation(agent, &self.places);
            let folder =
                client::safe_folder(agent, &self.project, &scratch, files, handlers, &ours);
            findings.extend(client::listing(agent, &client, folder, handlers));
        }
        // At worst an empty temporary folder remains.
        let _ = fs::remove_dir_all(&scratch);
    }
}

/// Checks the recorded review in observe mode, in which the known-bad action runs: it must contain
/// the verdict that would have applied.
fn recorded(agent: &dyn Agent, guard: &Guard, session: &str) -> Option<HealthFinding> {
    let store = Store::open_existing(guard.home.as_ref()?, Durability::Process).ok()?;
    match journal::canary_verdict(&store, session).as_deref() {
        Some("block") => None,
        Some(other) => Some(HealthFinding::problem(
            Check::Canary,
            format!("the known-bad action was recorded as `{other}`"),
            "look at it: `portcullis audit show --canary`",
        )),
        None => Some(HealthFinding::problem(
            Check::Canary,
            "the hook ran, and the journal that was looked at has no record of it",
            format!("the hook works with another folder: run `{}`", agent.install_command()),
        )),
    }
}

/// Returns the clients with our hooks in settings that a client started in `project` reads, and
/// those whose hooks were installed there and are gone.
#[must_use]
pub fn find_installed(places: &Paths, project: &Path) -> Vec<&'static dyn Agent> {
    let home = Home::open_existing(&places.state).ok().flatten();
    let was_installed = |path: &Path| {
        // A receipt that cannot be read is one all the same.
        home.as_ref().is_some_and(|home| !matches!(backup::read_receipt(home, path), Ok(None)))
    };
    let has_hooks = |agent: &&'static dyn Agent| {
        let registration = Registration::read(*agent, places, project);
        !registration.handlers.is_empty()
            || registration.files.iter().any(|file| was_installed(&file.path))
    };
    portcullis_agents::ALL.iter().copied().filter(has_hooks).collect()
}

/// The registration that a client started in a folder would use.
struct Registration {
    agent: &'static dyn Agent,
    project: PathBuf,
    files: Vec<ClientFile>,
    folders: Folders,
    handlers: Vec<Handler>,
    wanted: Invocation,
}

impl Registration {
    /// Reads the settings that a client started in `project` reads.
    fn read(agent: &'static dyn Agent, places: &Paths, project: &Path) -> Self {
        let layout = agent.hook_settings().layout();
        let folders =
            layout.folders_in_environment(&places.environment, Path::new(&places.person), project);
        let files = settings::read(agent, &folders);
        let wanted = invocation(agent, places);
        let handlers = handlers::find(agent, &files, &wanted);
        Self { agent, project: project.to_owned(), files, folders, handlers, wanted }
    }

    fn findings(&self, places: &Paths) -> Vec<HealthFinding> {
        let mut scopes: Vec<SettingsScope> =
            self.handlers.iter().map(|handler| handler.scope).collect();
        scopes.dedup();
        let pinned = !self.handlers.is_empty()
            && self.handlers.iter().all(|handler| matches!(handler.pins(), Ok(Some(_))));
        let mut findings = settings::readable(&self.files);
        findings.extend(handlers::check(
            self.agent,
            &self.handlers,
            places,
            settings::has_our_plugin(&self.files),
        ));
        let mut around = settings::check_env_files(self.agent, &self.folders);
        around.extend(settings::check_trust(self.agent, &self.files, &scopes, &self.folders));
        findings.extend(settings::switches(self.agent, &self.files, &scopes, pinned, around));
        findings.extend(settings::rivals(
            self.agent,
            &self.files,
            &self.folders.hook_folders(),
            &self.wanted,
        ));
        findings
    }

    /// Returns the programs that the handlers start, except those that a project brings along.
    fn programs(&self) -> Vec<PathBuf> {
        let own = self.handlers.iter().filter(|handler| handler.stranger(&self.project).is_none());
        let named = own.map(|handler| handler.registered.program.as_str());
        let mut programs: Vec<PathBuf> =
            named.map(|name| program::find(name).unwrap_or_else(|| PathBuf::from(name))).collect();
        programs.sort();
        programs.dedup();
        programs
    }
}

/// Returns the command that `install` would register.
fn invocation(agent: &dyn Agent, places: &Paths) -> Invocation {
    let program = own_program().unwrap_or_else(|_| PathBuf::from(portcullis_agents::PROGRAM));
    let pinned = Some((places.config.clone(), places.state.clone()));
    Invocation { agent: agent.name(), program, pinned }
}
