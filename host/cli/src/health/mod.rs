//! Whether the guard is whole: each check says what it saw and what to do about it.
//!
//! Looking changes nothing that counts: no key, no journal and no configuration is made or mended here.
//! Only what can be made again is written (compiled plugins), and what the canary's own reviews record.
//! Judging is apart from looking wherever that is possible.

mod access;
mod answer;
mod bundles;
mod canary;
mod client;
mod finding;
mod grants;
mod guard;
mod handlers;
mod journal;
mod machine;
mod notify;
mod program;
mod settings;
mod start;
mod stops;
mod undo;
mod upkeep;

pub use canary::SESSION as CANARY;
pub use finding::{Check, Finding, Group, Level, worst};
pub use start::{Glance, Journal, glance, unwhole};

use crate::client::claude::find;
use crate::client::claude::handlers::Invocation;
use crate::client::claude::settings::{Folders, Scope};
use crate::config::Config;
use crate::places::Places;
use crate::runtime::Reviewer;
use handlers::Handler;
use portcullis_core::policy::Mode;
use portcullis_store::{Durability, Home, Store};
use settings::File;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What is looked at.
pub struct Scene {
    /// Our folders.
    pub places: Places,
    /// The folder in which the client would be started.
    pub project: PathBuf,
    /// Milliseconds since 1970.
    pub now: u64,
    /// Leave out what starts programs, compiles plugins or reads the whole journal.
    pub quick: bool,
}

/// What the checks of one part found, and what later parts build on.
struct Guard {
    home: Option<Home>,
    config: Option<Config>,
    observing: bool,
}

impl Scene {
    /// Looks at everything; `progress` is told what comes next.
    pub fn examine(&self, mut progress: impl FnMut(&str)) -> Vec<Finding> {
        let mut findings = Vec::new();
        progress("folders and configuration");
        let guard = self.guard(&mut findings);
        progress("plugins");
        self.plugins(&guard, &mut findings);
        progress("the journal");
        self.journal(&guard, &mut findings);
        self.machine(&mut findings);
        progress("the client's settings");
        let (files, handlers) = self.registration(&mut findings);
        if !self.quick {
            progress("the hooks as they are installed");
            self.started(&guard, &files, &handlers, &mut findings, &mut progress);
        }
        // A stable order: by what is looked at, the worst first.
        findings.sort_by_key(|finding| (finding.check, std::cmp::Reverse(finding.level)));
        findings
    }

    fn guard(&self, findings: &mut Vec<Finding>) -> Guard {
        let (state, config) = (self.places.state.as_path(), self.places.config.as_path());
        let home = Home::open_existing(state);
        let loaded = Config::load(&self.places, home.as_ref().ok().and_then(Option::as_ref)).map_err(|error| format!("{error:#}"));
        let plugins = loaded.as_ref().map_or_else(|_| config.join("plugins"), |config| config.plugins_dir.clone());
        let access = access::check(state, config, &plugins);
        let told = worst(&access) == Level::Problem;
        findings.extend(access);
        if let Err(error) = &home
            && !told
        {
            findings.push(Finding::problem(Check::Access, error.to_string(), "mend what it names"));
        }
        findings.extend(guard::configuration(&loaded));
        let (home, config) = (home.ok().flatten(), loaded.ok());
        let mut observing = false;
        if let (Some(home), Some(config)) = (&home, &config) {
            let mode = guard::mode(home, config, self.now);
            observing = matches!(config.policy.mode, Mode::Observe | Mode::Off) || mode.level == Level::Warning;
            findings.push(mode);
        }
        Guard { home, config, observing }
    }

    fn plugins(&self, guard: &Guard, findings: &mut Vec<Finding>) {
        let (Some(home), Some(config)) = (&guard.home, &guard.config) else { return };
        let bundles = bundles::check(&self.places, self.now);
        let told = worst(&bundles) == Level::Problem;
        findings.extend(bundles);
        if told {
            // Without them no plugin is loaded; that is told.
            return;
        }
        let mut reviewer = match Reviewer::installed(&self.places, home, config.clone(), &[], self.now) {
            Ok(reviewer) => reviewer,
            Err(error) => return findings.push(Finding::problem(Check::Plugins, format!("{error:#}"), "mend what it names")),
        };
        let descriptions = reviewer.plugins.describe();
        // A journal that cannot be read is told of by its own check.
        let known = Store::open_existing(home, Durability::Process).and_then(|store| store.breakers()).unwrap_or_default();
        findings.extend(guard::held(&known, &mut reviewer, self.now));
        let uncompiled = guard::uncompiled(&descriptions, &home.cache());
        if self.quick {
            findings.extend(guard::described(&descriptions));
        } else {
            findings.extend(guard::plugins(&mut reviewer, &descriptions));
        }
        // What is not compiled yet would be now, and that takes seconds.
        if !self.quick || uncompiled.is_empty() {
            findings.push(guard::judgement(&mut reviewer, &known, self.now));
        }
        findings.extend(guard::code(&uncompiled, &reviewer, !self.quick));
    }

    fn journal(&self, guard: &Guard, findings: &mut Vec<Finding>) {
        let Some(home) = &guard.home else {
            return findings.push(machine::clock(self.now, None, machine::program_made()));
        };
        findings.extend(guard.config.iter().flat_map(|config| undo::check(home.path(), &config.checkpoints)));
        let (database, facts) = journal::database(home);
        findings.extend(database);
        findings.push(machine::clock(self.now, facts.as_ref().and_then(|facts| facts.newest_at), machine::program_made()));
        if facts.is_none() {
            return;
        }
        let Ok(mut store) = Store::open_existing(home, Durability::Process) else { return };
        if !self.quick {
            findings.extend(journal::chain(&mut store, &[]));
            findings.extend(journal::beginning(home, &store));
        }
        findings.extend(journal::faults(&store, self.now));
        findings.push(journal::unreviewed(&store, self.now));
        findings.extend(journal::held(&store, self.now));
        findings.extend(guard.config.iter().flat_map(|config| stops::check(&store, home.path(), config, self.now)));
        findings.extend(guard.config.iter().flat_map(|config| notify::check(config, &self.places.person, &store)));
        findings.extend(upkeep::check(&store, &home.path().join("maintain.lock"), self.now));
    }

    fn machine(&self, findings: &mut Vec<Finding>) {
        let state = &self.places.state;
        findings.push(machine::disk(state, machine::room(state)));
        let cache = state.join("cache");
        // The cache may be a mount or a link of its own.
        if machine::device(&cache).is_some_and(|device| Some(device) != machine::device(state)) {
            findings.push(machine::disk(&cache, machine::room(&cache)));
        }
    }

    fn registration(&self, findings: &mut Vec<Finding>) -> (Vec<File>, Vec<Handler>) {
        let registration = Registration::read(&self.places, &self.project);
        findings.extend(registration.findings(&self.places));
        for path in registration.programs() {
            findings.extend(program::judge(&path, &program::look(&path, !self.quick)));
        }
        (registration.files, registration.handlers)
    }

    fn started(&self, guard: &Guard, files: &[File], handlers: &[Handler], findings: &mut Vec<Finding>, progress: &mut impl FnMut(&str)) {
        let seed = format!("{}-{}", std::process::id(), self.now);
        let scratch = env::temp_dir().join(format!("portcullis-doctor-{seed}"));
        if let Err(error) = fs::create_dir(&scratch) {
            let what = format!("cannot make the folder `{}` for a trial: {error}", scratch.display());
            return findings.push(Finding::warning(Check::Canary, what, "make the temporary folder writable"));
        }
        let stage = canary::Stage { folder: &scratch, person: &self.places.person, project: &self.project, files, seed: &seed };
        let outcome = canary::run(handlers, &stage, guard.observing);
        findings.extend(outcome.findings);
        findings.extend(outcome.unrefused.and_then(|session| recorded(guard, &session)));
        progress("the client");
        let client = find::client(Path::new(&self.places.person));
        let version = client::version(client.as_deref());
        let usable = version.level == Level::Ok;
        findings.push(version);
        if let Some(client) = client.filter(|_| usable) {
            let ours = invocation(&self.places);
            let folder = client::safe_folder(&self.project, &scratch, files, handlers, &ours);
            findings.extend(client::listing(&client, folder, handlers));
        }
        // What stays behind in the temporary folder is an empty folder.
        let _ = fs::remove_dir_all(&scratch);
    }
}

/// In observe mode the known-bad action runs; its review must say what would have been.
fn recorded(guard: &Guard, session: &str) -> Option<Finding> {
    let store = Store::open_existing(guard.home.as_ref()?, Durability::Process).ok()?;
    match journal::recorded(&store, session).as_deref() {
        Some("block") => None,
        Some(other) => Some(Finding::problem(
            Check::Canary,
            format!("the known-bad action was recorded as `{other}`"),
            "run `portcullis explain last`",
        )),
        None => Some(Finding::problem(
            Check::Canary,
            "the hook ran, and the journal that was looked at has no record of it",
            "the hook works with another folder: run `portcullis install claude`",
        )),
    }
}

/// How a client that is started in a folder would start us.
struct Registration {
    project: PathBuf,
    files: Vec<File>,
    handlers: Vec<Handler>,
    wanted: Invocation,
}

impl Registration {
    /// Reads the settings that a client reads that is started in `project`.
    fn read(places: &Places, project: &Path) -> Self {
        let files = settings::read(&Folders::from_environment(Path::new(&places.person), project));
        let wanted = invocation(places);
        let handlers = handlers::find(&files, &wanted);
        Self { project: project.to_owned(), files, handlers, wanted }
    }

    fn findings(&self, places: &Places) -> Vec<Finding> {
        let mut scopes: Vec<Scope> = self.handlers.iter().map(|handler| handler.scope).collect();
        scopes.dedup();
        let pinned = !self.handlers.is_empty() && self.handlers.iter().all(|handler| matches!(handler.pins(), Ok(Some(_))));
        let mut findings = settings::readable(&self.files);
        findings.extend(handlers::check(&self.handlers, places, settings::has_our_plugin(&self.files)));
        findings.extend(settings::switches(&self.files, &scopes, pinned, env::var("CLAUDE_CONFIG_DIR").ok().as_deref()));
        findings.extend(settings::rivals(&self.files, &self.wanted));
        findings
    }

    /// The programs that the handlers start, but for those that a project brings along.
    fn programs(&self) -> Vec<PathBuf> {
        let own = self.handlers.iter().filter(|handler| handler.stranger(&self.project).is_none());
        let named = own.map(|handler| handler.registered.program.as_str());
        let mut programs: Vec<PathBuf> = named.map(|name| program::find(name).unwrap_or_else(|| PathBuf::from(name))).collect();
        programs.sort();
        programs.dedup();
        programs
    }
}

/// What `install` would have the client start.
fn invocation(places: &Places) -> Invocation {
    let program = env::current_exe().unwrap_or_else(|_| PathBuf::from(env!("CARGO_PKG_NAME")));
    Invocation { program, pinned: Some((places.config.clone(), places.state.clone())) }
}
