//! `portcullis install AGENT`: adds the hooks to a settings file of the client, and prepares
//! everything they need, so that no hook pays for it.
//!
//! Nothing is written until everything that can be checked has been checked, and the change is
//! rolled back if the client does not load it.

mod changes;
pub mod prepare;
pub mod report;
mod surroundings;
pub mod trust;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::{self, SettingsFile};
use portcullis_agents::json::JsonDocument;
use portcullis_agents::listing::DisabledReason;
use portcullis_agents::settings::{Folders, SettingsScope};
use portcullis_agents::{Agent, Invocation};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_review::reviewer::to_store;
use portcullis_store::{Durability, Home, Store};
use report::InstallReport;
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
        let folders = layout.folders_from_environment(Path::new(&places.person), &current);
        let wanted = Invocation { agent: agent.name(), program, pinned };
        Ok(Self { agent, scope, places, folders, wanted })
    }

    /// Reads the settings file.
    ///
    /// # Errors
    /// Fails if it cannot be read or edited.
    pub fn settings(&self) -> Result<SettingsFile> {
        let path = self.folders.settings_file(self.scope);
        let found = file::read_settings(&path, self.agent.hook_settings().most_bytes())?;
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
    let site = Site::new(agent, scope, arguments.program.as_deref(), !arguments.dry_run)?;
    let client = agent.find_program(Path::new(&site.places.person));
    let mut report = InstallReport::new(arguments.json, scope, &site.folders.settings_file(scope));
    check_version(agent, client.as_deref(), &mut report)?;
    let found = site.settings()?;
    let document = readable(agent, &found, &mut report)?;
    let edited = edited(&document, &site, arguments.only_managed_hooks)?;
    trust::check_record(&site)?;
    surroundings::warn_of_surroundings(&site, &found, &mut report);
    let changes = found.bytes.as_deref() != Some(edited.bytes().as_slice());
    if changes {
        found.check_writable()?;
        report.print_changes(
            site.agent.hook_settings(),
            &found,
            &edited.bytes(),
            &site.wanted,
            arguments.diff,
        );
    }
    if arguments.dry_run {
        return Ok(report.finish_with("dry_run", "nothing was written (--dry-run)"));
    }
    if trust::asks_for_trust(&site) && changes {
        report.print_line(&format!(
            "{} runs a hook only after a person has trusted it: installing records your trust in these",
            agent.display_name()
        ));
    }
    if changes && !arguments.yes {
        agree(&found.path)?;
    }
    let home = prepare::prepare(&site, arguments.observe, &mut report)?;
    if changes {
        write(&site, &home, &found, &document, &edited, client.as_deref(), &mut report)?;
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
        && changes
    {
        trust::remove_trust(&site, Some(&home), edited.value(), &mut report)?;
        take_back(&site, &home, &found)?;
        return Err(Error::refused(format!(
            "the client did not load our hooks for {}: `{}` is as it was before",
            events.join(", "),
            found.path.display()
        ))
        .with_hint("`portcullis doctor` shows what switches them off"));
    }
    Ok(finish(&site, &found.path, changes, off, report))
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
        None => std::env::current_exe().context("cannot determine where this program is")?,
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

/// Parses the file as a document that the client accepts as a whole.
fn readable(
    agent: &dyn Agent,
    found: &SettingsFile,
    report: &mut InstallReport,
) -> Result<JsonDocument> {
    let parsed = JsonDocument::parse_document(found.bytes.as_deref().unwrap_or_default());
    let problems = match &parsed {
        Ok(document) => agent.hook_settings().find_problems(document),
        Err(error) => vec![error.clone().into()],
    };
    match parsed {
        Ok(document) if problems.is_empty() => Ok(document),
        _ => {
            report.print_problems(&found.path, &problems);
            Err(Error::invalid(format!(
                "`{}` has {}; one is enough for the client to ignore the whole file, hooks included",
                found.path.display(),
                if problems.len() == 1 {
                    "a mistake".to_owned()
                } else {
                    format!("{} mistakes", problems.len())
                }
            ))
            .with_hint("fix what is named, then install"))
        }
    }
}

fn edited(document: &JsonDocument, site: &Site, only_managed: bool) -> Result<JsonDocument> {
    const ONLY: &str = "allowManagedHooksOnly";
    let edited = site.agent.hook_settings().add_handlers(document, &site.wanted)?;
    let alone = match edited.value().get(ONLY) {
        _ if !only_managed => return Ok(edited),
        Some(value) if value == &json!(true) => return Ok(edited),
        Some(_) => edited.replace_value(&format!("/{ONLY}"), &json!(true)),
        None => edited.add_member("", ONLY, &json!(true)),
    };
    alone.map_err(|error| {
        Error::invalid(format!("`{ONLY}` cannot be set at {}: {}", error.place, error.what))
    })
}

fn agree(path: &Path) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::refused(format!(
            "there is no terminal to confirm the change of `{}`",
            path.display()
        ))
        .with_hint("add --yes, or --dry-run to look at it"));
    }
    anstream::eprint!("Write this to `{}`? [y/N] ", path.display());
    std::io::stderr().flush().context("cannot write to the terminal")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read from the terminal")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Error::refused("nothing was written")),
    }
}

/// Backs up the file, writes it, and records the change.
fn write(
    site: &Site,
    home: &Home,
    found: &SettingsFile,
    document: &JsonDocument,
    edited: &JsonDocument,
    client: Option<&Path>,
    report: &mut InstallReport,
) -> Result<()> {
    let OriginalFile { before, kept, folders: earlier } = original(home, found, document, site)?;
    let bytes = edited.bytes();
    let missing: Vec<PathBuf> = found
        .real
        .ancestors()
        .skip(1)
        .take_while(|above| above.symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect();
    let receipt = BackupReceipt {
        file: found.path.clone(),
        before: before.as_deref().map(backup::hash_content),
        after: backup::hash_content(&bytes),
        folders: if missing.is_empty() { earlier } else { missing.into_iter().rev().collect() },
        kept,
        at: now_ms(),
    };
    let copy = backup::save_backup(home, &receipt, before.as_deref())?;
    found.replace_content(&bytes, site.scope.file_mode())?;
    if before.is_some() {
        report.print_line(&format!("the previous file is kept in `{}`", copy.display()));
    }
    if found.linked() {
        report.print_line(&format!(
            "`{}` is a link: `{}` was written",
            found.path.display(),
            found.real.display()
        ));
    }
    let version = client.map_or_else(
        || "a client that was not found".to_owned(),
        |client| client.display().to_string(),
    );
    append_record(
        home,
        "install",
        &format!(
            "hooks of `{}` written to `{}` for {version}",
            site.wanted.program.display(),
            found.path.display()
        ),
        report,
    );
    Ok(())
}

/// The state before the installation.
struct OriginalFile {
    /// The file's text, if it existed.
    before: Option<Vec<u8>>,
    /// Containers in it that were empty, and are kept.
    kept: Vec<String>,
    /// Folders that were created for it.
    folders: Vec<PathBuf>,
}

/// Returns the state that `uninstall` restores: an earlier installation's original if nothing else
/// has changed since, else the current file without the hooks.
fn original(
    home: &Home,
    found: &SettingsFile,
    document: &JsonDocument,
    site: &Site,
) -> Result<OriginalFile> {
    let earlier = backup::read_receipt(home, &found.path)?.filter(|earlier| {
        found.bytes.as_deref().map(backup::hash_content).as_ref() == Some(&earlier.after)
    });
    if let Some(earlier) = earlier {
        return Ok(OriginalFile {
            before: backup::read_before(home, &earlier)?,
            kept: earlier.kept,
            folders: earlier.folders,
        });
    }
    let hooks = site.agent.hook_settings();
    let kept = hooks.empty_containers(document.value());
    let without = hooks.remove_handlers(document, &site.wanted, &kept)?;
    let before = match (&found.bytes, without.value() == document.value()) {
        (Some(bytes), true) => Some(bytes.clone()),
        (Some(_), false) => Some(without.bytes()),
        (None, _) => None,
    };
    Ok(OriginalFile { before, kept, folders: Vec::new() })
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

fn take_back(site: &Site, home: &Home, found: &SettingsFile) -> Result<()> {
    let Some(receipt) = backup::read_receipt(home, &found.path)? else { return Ok(()) };
    let written = file::read_settings(&found.path, site.agent.hook_settings().most_bytes())?;
    match &found.bytes {
        Some(bytes) => drop(written.replace_content(bytes, site.scope.file_mode())?),
        None => written.remove()?,
    }
    remove_empty(&receipt.folders);
    Ok(backup::remove_backup(home, &receipt)?)
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
    path: &Path,
    changed: bool,
    off: Option<DisabledReason>,
    mut report: InstallReport,
) -> CommandExit {
    let (outcome, done) =
        if changed { ("installed", "installed in") } else { ("unchanged", "already installed in") };
    let done = format!("{done} `{}`", path.display());
    if let Some(off) = off {
        report.print_warning(&format!("the hooks do NOT run: {off}"));
        report.set_value("active", json!(false));
        report.finish_with(outcome, &done);
        return NOT_ACTIVE;
    }
    if report.observes() {
        report.print_line(&format!(
            "observe mode, nothing is blocked: `portcullis audit show` lists what would have been decided, `portcullis replay --{}` does so for past sessions",
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
