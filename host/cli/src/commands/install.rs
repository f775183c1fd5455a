//! `portcullis install claude`: puts our hooks into a settings file of the client, and makes ready what they
//! need, so that no hook pays for it.
//!
//! Nothing is written before everything that can be known has been checked, and what the client does not
//! load is taken back.

pub mod prepare;
pub mod report;
mod surroundings;

use crate::client::backup::{self, Receipt};
use crate::client::claude::handlers::Invocation;
use crate::client::claude::listing::{self, Off};
use crate::client::claude::settings::{Folders, Scope};
use crate::client::claude::{edit, find, validate, version};
use crate::client::file::{self, Found};
use crate::client::json::Document;
use crate::commands::hook::now;
use crate::human;
use crate::places::Places;
use crate::runtime::to_store;
use anyhow::{Context, Result, bail};
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Durability, Home, Store};
use report::Report;
use serde_json::json;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The agent
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crate::commands::hook::AGENTS))]
    agent: String,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only record what would be decided, unless a configuration says something else. The way to begin
    #[arg(long)]
    observe: bool,
    /// Let the machine's hooks alone run: nobody's own hooks, of plugins and projects neither
    #[arg(long, requires = "managed")]
    only_managed_hooks: bool,
    /// The path by which the hooks start Portcullis, for example of a link that outlives updates
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Do not ask before writing
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whose settings.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct ScopeArguments {
    /// Your own settings, for all your sessions. The default
    #[arg(long)]
    user: bool,
    /// The settings of the project in this folder, which everyone shares who has it
    #[arg(long)]
    project: bool,
    /// Your own settings for the project in this folder
    #[arg(long)]
    local: bool,
    /// The machine's settings, which no session can switch off; for the superuser
    #[arg(long)]
    managed: bool,
}

impl ScopeArguments {
    /// The scope that was named.
    pub const fn scope(&self) -> Scope {
        match (self.project, self.local, self.managed) {
            (true, ..) => Scope::Project,
            (_, true, _) => Scope::Local,
            (.., true) => Scope::Managed,
            _ => Scope::User,
        }
    }
}

/// The exit code where the hooks are in the settings and do not run.
const NOT_ACTIVE: u8 = 1;

/// What an installation works on.
pub struct Site {
    /// The scope.
    pub scope: Scope,
    /// Our own folders.
    pub places: Places,
    /// The client's.
    pub folders: Folders,
    /// What its hooks are to start.
    pub wanted: Invocation,
}

impl Site {
    /// From the environment, for a client that is started in the current folder.
    ///
    /// # Errors
    /// The environment does not say where things are, or the scope is not this user's to change.
    pub fn new(scope: Scope, program: Option<&Path>, writes: bool) -> Result<Self> {
        if scope == Scope::Managed && writes && !rustix::process::geteuid().is_root() {
            bail!("the machine's settings are for the superuser: run it with sudo, or leave --managed out");
        }
        // What one project configures says nothing about an installation.
        let places = Places::from_environment()?.without_project();
        let current = std::env::current_dir().context("cannot tell the current folder")?;
        let program = program_path(program)?;
        // What others use as well must not name one person's folders.
        let own = matches!(scope, Scope::User | Scope::Local);
        let pinned = own.then(|| (places.config.clone(), places.state.clone()));
        let folders = Folders::from_environment(Path::new(&places.person), &current);
        Ok(Self { scope, places, folders, wanted: Invocation { program, pinned } })
    }

    /// The settings file and what is in it.
    ///
    /// # Errors
    /// It cannot be read or edited.
    pub fn settings(&self) -> Result<Found> {
        let path = self.folders.file(self.scope);
        let found = file::look(&path, validate::MOST_BYTES)?;
        let project = self.folders.project.canonicalize().unwrap_or_else(|_| self.folders.project.clone());
        let shared = matches!(self.scope, Scope::Project | Scope::Local);
        // A repository must not lead us to a file of its choice.
        let folder = found.real.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_default();
        if shared && !folder.starts_with(&project) {
            bail!("`{}` leads out of the project, to `{}`: put a file of its own there", path.display(), found.real.display());
        }
        Ok(found)
    }
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let scope = arguments.scope.scope();
    let site = Site::new(scope, arguments.program.as_deref(), !arguments.dry_run)?;
    let client = find::client(Path::new(&site.places.person));
    let mut report = Report::new(arguments.json, scope, &site.folders.file(scope));
    check_version(client.as_deref(), &mut report)?;
    let found = site.settings()?;
    let document = readable(&found, &mut report)?;
    let edited = edited(&document, &site, arguments.only_managed_hooks)?;
    surroundings::warn(&site, &found, &mut report);
    let changes = found.bytes.as_deref() != Some(edited.bytes().as_slice());
    if changes {
        found.check_writable()?;
        report.diff(&found, &edited.bytes());
    }
    if arguments.dry_run {
        return Ok(report.end("dry_run", "nothing was written (--dry-run)"));
    }
    if changes && !arguments.yes {
        agree(&found.path)?;
    }
    let home = prepare::prepare(&site, arguments.observe, &mut report)?;
    if changes {
        write(&site, &home, &found, &document, &edited, client.as_deref(), &mut report)?;
    }
    let off = client.as_deref().and_then(|client| ask(client, &site, &mut report));
    if let Some(Off::NotLoaded(events)) = &off
        && changes
    {
        take_back(&home, &found, scope)?;
        bail!("the client did not load our hooks for {}: `{}` is as it was before", events.join(", "), found.path.display());
    }
    Ok(finish(&site, &found.path, changes, off, report))
}

/// The path that the hooks name: absolute, since the client's search path is not ours to trust.
fn program_path(named: Option<&Path>) -> Result<PathBuf> {
    let program = match named {
        Some(program) if program.is_relative() => bail!("--program is `{}`: it must be an absolute path", program.display()),
        Some(program) => program.to_owned(),
        None => std::env::current_exe().context("cannot tell where this program lies")?,
    };
    let startable = program.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if !startable {
        bail!("there is no program `{}`, so the client would refuse every action: install it there first", program.display());
    }
    Ok(program)
}

fn check_version(client: Option<&Path>, report: &mut Report) -> Result<()> {
    let Some(client) = client else {
        report.warn("Claude Code was not found, so its version was not checked and it was not asked whether it loads the hooks");
        return Ok(());
    };
    let version = version::ask(client)?;
    if version < version::LEAST {
        bail!(
            "`{}` is Claude Code {version}: from {} on a hook that dies refuses the action, before that it lets it run; update it first",
            client.display(),
            version::LEAST
        );
    }
    report.set("client", json!({ "program": client, "version": version.to_string() }));
    Ok(())
}

/// The file as a document that the client takes as a whole.
fn readable(found: &Found, report: &mut Report) -> Result<Document> {
    let parsed = Document::parse(found.bytes.as_deref().unwrap_or_default());
    let problems = match &parsed {
        Ok(document) => validate::problems(document),
        Err(error) => vec![error.clone().into()],
    };
    match parsed {
        Ok(document) if problems.is_empty() => Ok(document),
        _ => {
            report.problems(&found.path, &problems);
            bail!(
                "`{}` has {} of which one is enough for the client to drop it with all its hooks: mend what is named, then install",
                found.path.display(),
                if problems.len() == 1 { "a mistake".to_owned() } else { format!("{} mistakes", problems.len()) }
            )
        }
    }
}

fn edited(document: &Document, site: &Site, only_managed: bool) -> Result<Document> {
    const ONLY: &str = "allowManagedHooksOnly";
    let edited = edit::install(document, &site.wanted)?;
    let alone = match edited.value().get(ONLY) {
        _ if !only_managed => return Ok(edited),
        Some(value) if value == &json!(true) => return Ok(edited),
        Some(_) => edited.replace(&format!("/{ONLY}"), &json!(true)),
        None => edited.add_member("", ONLY, &json!(true)),
    };
    alone.map_err(|error| anyhow::anyhow!("`{ONLY}` cannot be set at {}: {}", error.place, error.what))
}

fn agree(path: &Path) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody is here to agree to the change of `{}`: add --yes, or --dry-run to look at it", path.display());
    }
    anstream::eprint!("Write this to `{}`? [y/N] ", path.display());
    std::io::stderr().flush().context("cannot write to the terminal")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read from the terminal")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was written"),
    }
}

/// Backs up, writes, records.
fn write(
    site: &Site,
    home: &Home,
    found: &Found,
    document: &Document,
    edited: &Document,
    client: Option<&Path>,
    report: &mut Report,
) -> Result<()> {
    let Original { before, kept, folders: earlier } = original(home, found, document, site)?;
    let bytes = edited.bytes();
    let missing: Vec<PathBuf> =
        found.real.ancestors().skip(1).take_while(|above| above.symlink_metadata().is_err()).map(Path::to_owned).collect();
    let receipt = Receipt {
        file: found.path.clone(),
        before: before.as_deref().map(backup::digest),
        after: backup::digest(&bytes),
        folders: if missing.is_empty() { earlier } else { missing.into_iter().rev().collect() },
        kept,
        at: now(),
    };
    let copy = backup::keep(home, &receipt, before.as_deref())?;
    found.replace(&bytes, site.scope.mode())?;
    if before.is_some() {
        report.say(&format!("what was there before is kept in `{}`", copy.display()));
    }
    if found.linked() {
        report.say(&format!("`{}` is a link: `{}` was written", found.path.display(), found.real.display()));
    }
    let version = client.map_or_else(|| "a client that was not found".to_owned(), |client| client.display().to_string());
    journal(
        home,
        "install",
        &format!("hooks of `{}` written to `{}` for {version}", site.wanted.program.display(), found.path.display()),
        report,
    );
    Ok(())
}

/// What was there before us.
struct Original {
    /// The file's text, if there was one.
    before: Option<Vec<u8>>,
    /// Containers in it that were empty, and stay.
    kept: Vec<String>,
    /// Folders that were made for it.
    folders: Vec<PathBuf>,
}

/// What `uninstall` is to give back: an earlier installation's original where nothing else has changed
/// since, else what is there now without us.
fn original(home: &Home, found: &Found, document: &Document, site: &Site) -> Result<Original> {
    let earlier =
        backup::receipt(home, &found.path)?.filter(|earlier| found.bytes.as_deref().map(backup::digest).as_ref() == Some(&earlier.after));
    if let Some(earlier) = earlier {
        return Ok(Original { before: backup::before(home, &earlier)?, kept: earlier.kept, folders: earlier.folders });
    }
    let kept = edit::empty_containers(document.value());
    let without = edit::uninstall(document, &site.wanted, &kept)?;
    let before = match (&found.bytes, without.value() == document.value()) {
        (Some(bytes), true) => Some(bytes.clone()),
        (Some(_), false) => Some(without.bytes()),
        (None, _) => None,
    };
    Ok(Original { before, kept, folders: Vec::new() })
}

/// A journal that cannot be written does not undo what was done: it is said.
pub fn journal(home: &Home, subject: &str, summary: &str, report: &mut Report) {
    let seed = std::process::id().to_string();
    let record = Record::apart(RecordKind::Configuration, subject, summary, now(), &seed);
    if let Err(error) = Store::open(home, Durability::Full).and_then(|mut store| store.append(vec![to_store(&record)])) {
        report.warn(&format!("this could not be recorded: {error}"));
    }
}

fn ask(client: &Path, site: &Site, report: &mut Report) -> Option<Off> {
    // Elsewhere than in a project its hooks do not run for this question.
    let shared = matches!(site.scope, Scope::Project | Scope::Local);
    let folder = if shared { site.folders.project.clone() } else { site.places.state.clone() };
    match listing::ask(client, &folder) {
        Ok(listing) => {
            let off = listing.off(site.scope, &site.wanted);
            let loaded = listing.loaded(site.scope, &site.wanted);
            report.set("loaded", json!(loaded));
            if off.is_none() {
                report.say(&format!("the client says that it loads all {loaded} of them"));
            }
            for error in &listing.errors {
                report.warn(&format!("the client says of `{}`, {}: {}", error.file, error.path, error.message));
            }
            off
        }
        Err(error) => {
            report.warn(&format!("whether the client loads the hooks is not known: {error:#}"));
            None
        }
    }
}

fn take_back(home: &Home, found: &Found, scope: Scope) -> Result<()> {
    let Some(receipt) = backup::receipt(home, &found.path)? else { return Ok(()) };
    let written = file::look(&found.path, validate::MOST_BYTES)?;
    match &found.bytes {
        Some(bytes) => drop(written.replace(bytes, scope.mode())?),
        None => written.remove()?,
    }
    remove_empty(&receipt.folders);
    backup::forget(home, &receipt)
}

/// Removes folders that we made, the innermost first, as long as nothing is in them.
pub fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // One that is in use by now stays.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn finish(site: &Site, path: &Path, changed: bool, off: Option<Off>, mut report: Report) -> u8 {
    let (outcome, done) = if changed { ("installed", "installed in") } else { ("unchanged", "already installed in") };
    let done = format!("{done} `{}`", path.display());
    if let Some(off) = off {
        report.warn(&format!("the hooks do NOT run: {off}"));
        report.set("active", json!(false));
        report.end(outcome, &done);
        return NOT_ACTIVE;
    }
    if report.observes() {
        report.say("it only observes: `portcullis audit show` lists what it would have done, `portcullis replay --claude` what it would have made of past sessions");
        report.say(&format!("to let it hold, take `mode` out of `{}`", prepare::mode_file(site).display()));
    }
    if changed {
        if report.keeps_nothing() {
            let file = prepare::mode_file(site);
            report.say(&format!(
                "what a command does to files cannot be put back yet: `enabled = true` below `[checkpoints]` in `{}` has them kept before it",
                file.display()
            ));
        }
        report.say("sessions that run now are not reviewed: start new ones");
    }
    report.end(outcome, &done)
}
