//! `portcullis install AGENT`: adds the hooks to a settings file of the client, and prepares
//! everything they need, so that no hook pays for it.
//!
//! Nothing is written until everything that can be checked has been checked, and the change is
//! rolled back if the client does not load it.

mod changes;
mod edit;
pub mod prepare;
pub mod report;
pub mod resident;
mod surroundings;
pub mod trust;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use edit::FileEdit;
use portcullis_agents::file::{self, SettingsFile};
use portcullis_agents::listing::DisabledReason;
use portcullis_agents::settings::{Folders, SettingsScope};
use portcullis_agents::{Agent, Invocation};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::{Paths, own_program, small_hook};
use portcullis_core::record::{Record, RecordKind};
use portcullis_review::stored_records::to_store;
use portcullis_store::{Durability, Home, Store};
use report::InstallReport;
use resident::ResidentUnits;
use serde_json::json;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The agent; those that are installed here without it
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crate::agent_names()))]
    agent: Option<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Show the change of the settings line by line
    #[arg(long)]
    diff: bool,
    /// Record decisions without enforcing them, unless a configuration says otherwise (recommended
    /// at first)
    #[arg(long)]
    observe: bool,
    /// Run managed hooks only: no hooks of users, plugins or projects
    #[arg(long, requires = "managed")]
    only_managed_hooks: bool,
    /// Set the path by which the hooks start Portcullis, for example a link that survives updates
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Let the hooks ask the resident service (`portcullis serve`), which reviews faster, and let
    /// your systemd start it
    #[arg(long, conflicts_with = "program")]
    service: bool,
    /// Do not ask before writing
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The scope of the settings.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct ScopeArguments {
    /// Use your own settings, for all your sessions (default)
    #[arg(long)]
    user: bool,
    /// Use the shared settings of the project in this folder
    #[arg(long)]
    project: bool,
    /// Use your own settings for the project in this folder
    #[arg(long)]
    local: bool,
    /// Use the machine's settings, which no session can switch off (root only)
    #[arg(long)]
    managed: bool,
}

impl ScopeArguments {
    /// Returns the selected scope.
    pub const fn scope(&self) -> SettingsScope {
        match (self.project, self.local, self.managed) {
            (true, ..) => SettingsScope::Project,
            (_, true, _) => SettingsScope::Local,
            (.., true) => SettingsScope::Managed,
            _ => SettingsScope::User,
        }
    }
}

/// The exit code if the hooks are in the settings but do not run.
const NOT_ACTIVE: CommandExit = CommandExit::Failure;

/// The subject of an installation.
pub struct Site {
    /// The client.
    pub agent: &'static dyn Agent,
    /// The scope of the settings.
    pub scope: SettingsScope,
    /// The folders of Portcullis.
    pub places: Paths,
    /// The folders of the client.
    pub folders: Folders,
    /// The command that its hooks start.
    pub wanted: Invocation,
}

impl Site {
    /// Reads the environment, for a client that is started in the current folder.
    ///
    /// # Errors
    /// Fails if the environment does not give the folders, or if this user may not change the
    /// scope.
    pub fn new(
        agent: &'static dyn Agent,
        scope: SettingsScope,
        program: Option<&Path>,
        writes: bool,
    ) -> Result<Self> {
        if scope == SettingsScope::Managed && writes && !rustix::process::geteuid().is_root() {
            return Err(Error::refused("the machine's settings are for the superuser")
                .with_hint("run it with sudo, or leave --managed out"));
        }
        if scope == SettingsScope::Managed && !agent.hook_settings().has_managed_file() {
            return Err(Error::refused(format!(
                "Portcullis cannot edit the machine's settings of {} yet",
                agent.display_name()
            ))
            .with_hint("the page on agents in the book has the lines to add by hand"));
        }
        // The configuration of one project says nothing about an installation.
        let places = Paths::from_environment()?.without_project();
        let current = std::env::current_dir().context("cannot determine the current folder")?;
        let program = program_path(program)?;
        // Settings shared with others must not name one person's folders.
        let own = matches!(scope, SettingsScope::User | SettingsScope::Local);
        let pinned = own.then(|| (places.config.clone(), places.state.clone()));
        let layout = agent.hook_settings().layout();
        let folders =
            layout.folders_in_environment(&places.environment, Path::new(&places.person), &current);
        let wanted = Invocation { agent: agent.name(), program, pinned };
        Ok(Self { agent, scope, places, folders, wanted })
    }

    /// Reads the settings files of the scope.
    ///
    /// # Errors
    /// Fails if one cannot be read or edited.
    pub fn settings(&self) -> Result<Vec<SettingsFile>> {
        let paths = self.folders.settings_files(self.scope);
        paths.iter().map(|path| self.settings_file(path)).collect()
    }

    fn settings_file(&self, path: &Path) -> Result<SettingsFile> {
        let found = file::read_settings(path, self.agent.hook_settings().most_bytes())?;
        let project =
            self.folders.project.canonicalize().unwrap_or_else(|_| self.folders.project.clone());
        let shared = matches!(self.scope, SettingsScope::Project | SettingsScope::Local);
        // A repository must not redirect the installation to a file of its choice.
        let folder =
            found.real.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
        if shared && !folder.starts_with(&project) {
            return Err(Error::refused(format!(
                "`{}` leads out of the project, to `{}`",
                path.display(),
                found.real.display()
            ))
            .with_hint("put a file of its own there"));
        }
        Ok(found)
    }
}

pub fn run_install(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let agents = match &arguments.agent {
        Some(name) => vec![crate::agent_of(name)?],
        None => find_clients(&Paths::from_environment()?)?,
    };
    let (mut exit, mut failed) = (CommandExit::Success, None);
    for agent in agents {
        // One client that cannot be guarded must not leave the others unguarded.
        match install(agent, arguments) {
            Ok(CommandExit::Success) => {}
            Ok(other) => exit = other,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(exit), Err)
}

/// Returns the clients that are installed here.
fn find_clients(places: &Paths) -> Result<Vec<&'static dyn Agent>> {
    let person = Path::new(&places.person);
    let is_here = |agent: &&'static dyn Agent| agent.find_program(person).is_some();
    let found: Vec<_> = portcullis_agents::ALL.iter().copied().filter(is_here).collect();
    if found.is_empty() {
        let names: Vec<&str> = crate::agent_names().collect();
        return Err(Error::not_found("no client that Portcullis knows is installed here")
            .with_hint(format!("name the one to install for: {}", names.join(", "))));
    }
    Ok(found)
}

fn install(agent: &'static dyn Agent, arguments: &Arguments) -> Result<CommandExit> {
    let scope = arguments.scope.scope();
    let small = if arguments.service {
        Some(small_hook().context("cannot determine where this program is")?)
    } else {
        None
    };
    let program = small.as_deref().or(arguments.program.as_deref());
    let site = Site::new(agent, scope, program, !arguments.dry_run)?;
    let client = agent.find_program(Path::new(&site.places.person));
    let mut report = InstallReport::new(arguments.json, scope, &site.folders.settings_file(scope));
    check_version(agent, client.as_deref(), &mut report)?;
    if agent.is_untested() {
        report.print_warning(&format!(
            "Portcullis was never run with {}: its hooks follow what the vendor publishes. Let an agent try a command that is refused, such as `rm -rf ~`, in a container before you rely on them",
            agent.display_name()
        ));
    }
    let edits = edit::plan_edits(&site, arguments.only_managed_hooks, &mut report)?;
    trust::check_record(&site)?;
    surroundings::warn_of_surroundings(&site, &edits, &mut report);
    let changed: Vec<&FileEdit> = edits.iter().filter(|edit| edit.changes()).collect();
    for edit in &changed {
        edit.found.check_writable()?;
        report.print_changes(
            site.agent.hook_settings(),
            &edit.found,
            &edit.bytes,
            &site.wanted,
            arguments.diff,
        );
    }
    let units = plan_units(&site, arguments, &mut report)?;
    if let Some(units) = &units {
        units.print(&mut report);
    }
    if arguments.dry_run {
        return Ok(report.finish_with("dry_run", "nothing was written (--dry-run)"));
    }
    if trust::asks_for_trust(&site) && !changed.is_empty() {
        report.print_line(&format!(
            "{} runs a hook only after a person has trusted it: installing records your trust in these",
            agent.display_name()
        ));
    }
    let files = changed.iter().map(|edit| format!("`{}`", edit.found.path.display()));
    let named: Vec<String> =
        files.chain(units.iter().flat_map(ResidentUnits::name_changed)).collect();
    if !named.is_empty() && !arguments.yes {
        agree(&named.join(", "))?;
    }
    let home = prepare::prepare(&site, arguments.observe, &mut report)?;
    // Before the hooks that ask it.
    if let Some(units) = &units {
        units.set_up(&site.places, &home, &mut report)?;
    }
    for edit in &changed {
        edit::write_edit(&site, &home, edit, client.as_deref(), &mut report)?;
    }
    if let Some(client) = client.as_deref() {
        trust::record_trust(&site, &home, client, &question_folder(&site), &mut report)?;
    } else if trust::asks_for_trust(&site) {
        report.print_warning(
            "the client will ask you to trust the hooks when it starts: until you do, it does not run them",
        );
    }
    let off = client.as_deref().and_then(|client| ask(client, &site, &mut report));
    if let Some(DisabledReason::NotLoaded(events)) = &off
        && !changed.is_empty()
    {
        for edit in changed.iter().rev() {
            trust::remove_trust(&site, Some(&home), edit.edited.value(), &mut report)?;
            edit::take_back(&site, &home, &edit.found)?;
        }
        return Err(Error::refused(format!(
            "the client did not load our hooks for {}: {} as before",
            events.join(", "),
            edit::name_files(&changed),
        ))
        .with_hint("`portcullis doctor` shows what switches them off"));
    }
    Ok(finish(&site, &edits, off, report))
}

/// Returns the path that the hooks name. It is absolute, because the client's search path is not
/// trusted.
fn program_path(named: Option<&Path>) -> Result<PathBuf> {
    let program = match named {
        Some(program) if program.is_relative() => {
            return Err(Error::invalid(format!(
                "--program is `{}`: it must be an absolute path",
                program.display()
            )));
        }
        Some(program) => program.to_owned(),
        None => own_program().context("cannot determine where this program is")?,
    };
    let startable = program
        .metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if !startable {
        return Err(Error::not_found(format!(
            "there is no program `{}`, so the client would refuse every action",
            program.display()
        ))
        .with_hint("install it there first"));
    }
    Ok(program)
}

fn check_version(
    agent: &dyn Agent,
    client: Option<&Path>,
    report: &mut InstallReport,
) -> Result<()> {
    let Some(client) = client else {
        report.print_warning(&format!(
            "{} was not found, so its version was not checked and it was not asked whether it loads the hooks",
            agent.display_name()
        ));
        return Ok(());
    };
    let version = agent.query_version(client)?;
    agent.check_version(client, version)?;
    report.set_value("client", json!({ "program": client, "version": version.to_string() }));
    Ok(())
}

/// Plans the units of the resident service. One of a whole machine stands behind a boundary, which
/// an administrator sets up.
fn plan_units(
    site: &Site,
    arguments: &Arguments,
    report: &mut InstallReport,
) -> Result<Option<ResidentUnits>> {
    if !arguments.service || site.scope == SettingsScope::Managed {
        return Ok(None);
    }
    // A dry run must not create a home.
    let exists = site.places.state.join("key").exists();
    let home = exists.then(|| Home::open_root(&site.places.state)).transpose()?;
    ResidentUnits::plan_setup(&site.places, home.as_ref(), report)
}

fn agree(named: &str) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::refused(format!(
            "there is no terminal to confirm the change of {named}"
        ))
        .with_hint("add --yes, or --dry-run to look at it"));
    }
    anstream::eprint!("Write this to {named}? [y/N] ");
    std::io::stderr().flush().context("cannot write to the terminal")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read from the terminal")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Error::refused("nothing was written")),
    }
}

/// Records the change in the journal. A journal that cannot be written is reported and does not
/// undo the change.
pub fn append_record(home: &Home, subject: &str, summary: &str, report: &mut InstallReport) {
    let seed = std::process::id().to_string();
    let record =
        Record::outside_session(RecordKind::Configuration, subject, summary, now_ms(), &seed);
    let written = Store::open_database(home, Durability::Full).and_then(|mut store| {
        store.append_records(vec![to_store(&record)])?;
        // The home's mark knows of the journal from its beginning.
        store.checkpoint_log()
    });
    if let Err(error) = written {
        report.print_warning(&format!("this could not be recorded: {error}"));
    }
}

fn ask(client: &Path, site: &Site, report: &mut InstallReport) -> Option<DisabledReason> {
    match site.agent.query_listing(client, &question_folder(site)) {
        Ok(None) => {
            report.print_line(&format!(
                "{} does not tell which hooks it loads: a new session shows it, in `portcullis audit show`",
                site.agent.display_name()
            ));
            None
        }
        Ok(Some(listing)) => {
            let off = listing.disabled_reason(site.scope, &site.wanted);
            let loaded = listing.count_loaded(site.scope, &site.wanted);
            report.set_value("loaded", json!(loaded));
            if off.is_none() {
                report.print_line(&format!("the client confirmed all {loaded} hooks"));
            }
            for error in listing.problems() {
                report.print_warning(&format!(
                    "the client says of `{}`, {}: {}",
                    error.file, error.path, error.message
                ));
            }
            off
        }
        Err(error) => {
            report
                .print_warning(&format!("it is unknown if the client loads the hooks: {error:#}"));
            None
        }
    }
}

/// Returns the folder in which the client is asked for its hooks: outside a project, the project's
/// hooks do not run for that.
fn question_folder(site: &Site) -> PathBuf {
    let shared = matches!(site.scope, SettingsScope::Project | SettingsScope::Local);
    if shared { site.folders.project.clone() } else { site.places.state.clone() }
}

/// Removes folders that the installation created, innermost first, as long as they are empty.
pub fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // A folder that is in use by now is kept.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn finish(
    site: &Site,
    edits: &[FileEdit],
    off: Option<DisabledReason>,
    mut report: InstallReport,
) -> CommandExit {
    let changed = edits.iter().any(FileEdit::changes);
    let files: Vec<String> =
        edits.iter().map(|edit| format!("`{}`", edit.found.path.display())).collect();
    let (outcome, done) =
        if changed { ("installed", "installed in") } else { ("unchanged", "already installed in") };
    let done = format!("{done} {}", files.join(", "));
    if let Some(off) = off {
        report.print_warning(&format!("the hooks do NOT run: {off}"));
        report.set_value("active", json!(false));
        report.finish_with(outcome, &done);
        return NOT_ACTIVE;
    }
    if report.observes() {
        report.print_line(&format!(
            "observe mode, nothing is blocked: `portcullis audit show` lists what would have been \
             decided, `portcullis replay --agent {}` does so for past sessions",
            site.agent.name()
        ));
        report.print_line(&format!(
            "to enforce, remove `mode` from `{}`",
            prepare::mode_file(site).display()
        ));
    }
    if changed {
        if report.keeps_nothing() {
            let file = prepare::mode_file(site);
            report.print_line(&format!(
                "undo is off; to turn it on, remove `enabled` below `[checkpoints]` in `{}`",
                file.display()
            ));
        }
        report.print_line("sessions that run now are not reviewed: start new ones");
    }
    report.finish_with(outcome, &done)
}
