//! `portcullis uninstall AGENT`: removes the hooks from a settings file of the client. It restores
//! the original bytes if nothing else has changed since, and otherwise removes only our own
//! handlers.

mod purge;

use super::install::report::InstallReport;
use super::install::resident::ResidentUnits;
use super::install::{ScopeArguments, Site, append_record, remove_empty, trust};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use portcullis_agents::Agent;
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::SettingsFile;
use portcullis_agents::settings::SettingsScope;
use portcullis_agents::settings_problem::SettingsProblem;
use portcullis_config::paths::Paths;
use portcullis_store::Home;
use serde_json::{Value, json};
use std::fs;

#[derive(clap::Args)]
pub struct Arguments {
    /// The agent; with --purge alone: every agent
    #[arg(
        value_parser = clap::builder::PossibleValuesParser::new(crate::agent_names()),
        required_unless_present = "purge"
    )]
    agent: Option<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Remove the units of the resident service too
    #[arg(long)]
    service: bool,
    /// Remove the state too: journal, key, compiled code, backups, and the service's units. Without
    /// an agent, remove the hooks of every agent, your configuration and the cache as well
    #[arg(long)]
    purge: bool,
    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Show the change of the settings line by line
    #[arg(long)]
    diff: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The change to a settings file.
enum FileChange {
    /// The file gets these bytes.
    Bytes(Vec<u8>),
    /// The file is removed: the installation created it.
    Gone,
    /// The file is unchanged: it holds none of our handlers.
    Same,
}

pub fn run_uninstall(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    match &arguments.agent {
        Some(name) => uninstall(crate::agent_of(name)?, arguments),
        // The parser demands the option then.
        None => purge::run_purge(arguments),
    }
}

fn uninstall(agent: &'static dyn Agent, arguments: &Arguments) -> Result<CommandExit> {
    let scope = arguments.scope.scope();
    let site = Site::new(agent, scope, None, !arguments.dry_run)?;
    let mut report = InstallReport::new(arguments.json, scope, &site.folders.settings_file(scope));
    let home = open_home(&site.places)?;
    let removal = ClientRemoval::plan(site, home.as_ref(), &mut report)?;
    for file in &removal.files {
        file.print(&removal.site, arguments.diff, &mut report);
    }
    let site = &removal.site;
    let units = match &home {
        Some(home) => ResidentUnits::plan_removal(&site.places, home, &mut report)?,
        None => ResidentUnits::default(),
    };
    let takes_units = arguments.service || arguments.purge;
    if takes_units {
        units.print(&mut report);
    } else if units.changes() {
        report.print_line("the resident service stays set up: --service removes its units");
    }
    let takes_units = takes_units && units.changes();
    let unchanged = removal.changes_nothing() && !takes_units;
    if arguments.dry_run || (unchanged && !arguments.purge) {
        let outcome = if unchanged { "unchanged" } else { "dry_run" };
        return Ok(report.finish_with(outcome, "nothing was written"));
    }
    let taken = if takes_units { units.name_changed() } else { Vec::new() };
    interactive::confirm_action(&question(&removal, &taken, arguments.purge))?;
    if takes_units && let Some(home) = &home {
        units.remove(&site.places, home, &mut report)?;
    }
    removal.apply(home.as_ref(), &mut report)?;
    if let Some(home) = &home {
        if arguments.purge {
            remove_state(&site.places, home)?;
        } else if !removal.changes_nothing() {
            append_record(
                home,
                "uninstall",
                &format!("a person removed the hooks from {}", removal.changed_names()),
                &mut report,
            );
        }
    }
    report.print_line("running sessions keep their hooks until they are restarted");
    Ok(report.finish_with("uninstalled", "uninstalled"))
}

/// Opens the home, if there is one: a dry run must not create it.
fn open_home(places: &Paths) -> Result<Option<Home>> {
    let exists = places.state.join("key").exists();
    Ok(exists.then(|| Home::open_root(&places.state)).transpose()?)
}

/// The files of a client in one scope, with the changes that remove our hooks.
struct ClientRemoval {
    site: Site,
    files: Vec<FileRemoval>,
}

impl ClientRemoval {
    fn plan(site: Site, home: Option<&Home>, report: &mut InstallReport) -> Result<Self> {
        let mut files = Vec::new();
        for found in site.settings()? {
            let receipt = receipt(home, &found, report);
            let after = after(&site, &found, home, receipt.as_ref(), report)?;
            files.push(FileRemoval { found, receipt, after });
        }
        Ok(Self { site, files })
    }

    fn changes_nothing(&self) -> bool {
        self.files.iter().all(FileRemoval::changes_nothing)
    }

    /// Names the files that change.
    fn changed_names(&self) -> String {
        let changed = self.files.iter().filter(|file| !file.changes_nothing());
        let names: Vec<String> =
            changed.map(|file| format!("`{}`", file.found.path.display())).collect();
        names.join(", ")
    }

    fn apply(&self, home: Option<&Home>, report: &mut InstallReport) -> Result<()> {
        // The folders that the installation made are those of its first file.
        self.files.iter().rev().try_for_each(|file| file.apply(&self.site, home, report))
    }
}

/// A file of the client with the change that removes our hooks.
struct FileRemoval {
    found: SettingsFile,
    receipt: Option<BackupReceipt>,
    after: FileChange,
}

impl FileRemoval {
    fn changes_nothing(&self) -> bool {
        matches!(self.after, FileChange::Same)
    }

    fn print(&self, site: &Site, full: bool, report: &mut InstallReport) {
        let path = self.found.path.display();
        match &self.after {
            FileChange::Bytes(bytes) => report.print_changes(
                site.agent.hook_settings(),
                &self.found,
                bytes,
                &site.wanted,
                full,
            ),
            FileChange::Gone => {
                report
                    .print_line(&format!("`{path}` will be removed: the installation created it"));
            }
            FileChange::Same => {
                report.print_line(&format!("`{path}` holds no hooks of Portcullis"));
            }
        }
    }

    fn apply(&self, site: &Site, home: Option<&Home>, report: &mut InstallReport) -> Result<()> {
        if !self.changes_nothing()
            && let Some(settings) = readable(site, &self.found)
        {
            trust::remove_trust(site, home, &settings, report)?;
        }
        match &self.after {
            FileChange::Bytes(bytes) => {
                drop(self.found.replace_content(bytes, site.scope.file_mode())?);
            }
            FileChange::Gone => self.found.remove()?,
            FileChange::Same => {}
        }
        if let (Some(home), Some(receipt)) = (home, &self.receipt) {
            remove_empty(&receipt.folders);
            backup::remove_backup(home, receipt)?;
        }
        Ok(())
    }
}

fn readable(site: &Site, found: &SettingsFile) -> Option<Value> {
    let document = site.agent.hook_settings().read_document(found.bytes.as_deref()?).ok()?;
    Some(document.value().clone())
}

fn question(removal: &ClientRemoval, units: &[String], purges: bool) -> String {
    let mut parts = Vec::new();
    let changed = removal.changed_names();
    if !changed.is_empty() {
        parts.push(format!(
            "Portcullis will no longer review {} through {changed}.",
            removal.site.agent.display_name(),
        ));
    }
    if !units.is_empty() {
        parts.push(format!("The resident service will stop, with {}.", units.join(", ")));
    }
    if purges {
        parts.push(format!(
            "Journal, key, compiled code and backups in `{}` will be deleted.",
            removal.site.places.state.display()
        ));
    }
    parts.join("\n")
}

/// Reads the receipt of the installation. Without a usable one, the exact original text cannot be
/// restored, but the hooks can still be removed.
fn receipt(
    home: Option<&Home>,
    found: &SettingsFile,
    report: &mut InstallReport,
) -> Option<BackupReceipt> {
    match home.map(|home| backup::read_receipt(home, &found.path)).transpose() {
        Ok(receipt) => receipt.flatten(),
        Err(error) => {
            report.print_warning(&format!("{error:#}"));
            None
        }
    }
}

fn after(
    site: &Site,
    found: &SettingsFile,
    home: Option<&Home>,
    receipt: Option<&BackupReceipt>,
    report: &mut InstallReport,
) -> Result<FileChange> {
    let Some(bytes) = &found.bytes else { return Ok(FileChange::Same) };
    if let (Some(home), Some(receipt)) =
        (home, receipt.filter(|receipt| receipt.after == backup::hash_content(bytes)))
    {
        match backup::read_before(home, receipt) {
            Ok(Some(before)) => return Ok(FileChange::Bytes(before)),
            Ok(None) => return Ok(FileChange::Gone),
            Err(error) => report.print_warning(&format!("{error:#}")),
        }
    }
    let hooks = site.agent.hook_settings();
    let document = hooks
        .read_document(bytes)
        .map_err(|error| Error::invalid(SettingsProblem::from(error).to_string()))
        .with_context(|| format!("`{}` cannot be edited", found.path.display()))?;
    let kept = receipt.map(|receipt| receipt.kept.clone()).unwrap_or_default();
    let mut without = hooks.remove_handlers(&document, &site.wanted, &kept)?;
    if site.scope == SettingsScope::Managed
        && without.value().get("allowManagedHooksOnly") == Some(&json!(true))
    {
        // Only our own hooks are in this file, and without them the setting would only disable
        // everyone else's.
        without = without
            .remove_value("/allowManagedHooksOnly")
            .map_err(|error| Error::invalid(error.what))?;
    }
    let mixed = hooks.find_handlers(without.value(), &site.wanted);
    for handler in &mixed {
        report.print_warning(&format!(
            "a command of your own at `{}` starts Portcullis: it was left alone",
            handler.pointer
        ));
    }
    let ours_alone = hooks.hooks().has_own_files()
        || receipt.is_some_and(|receipt| receipt.before.is_none())
        || site.scope == SettingsScope::Managed;
    Ok(match without.value() {
        // A file that never held our hooks is somebody's, also if it is empty.
        value if value == document.value() && hooks.hooks().has_own_files() => FileChange::Same,
        value if value == &json!({}) && ours_alone => FileChange::Gone,
        value if value == document.value() => FileChange::Same,
        _ => FileChange::Bytes(hooks.write_document(&without)),
    })
}

/// Deletes everything in the state folder, except a configuration in it.
fn remove_state(places: &Paths, home: &Home) -> Result<()> {
    let root = home.path();
    let failed = || format!("cannot remove the state in `{}`", root.display());
    // `PORTCULLIS_HOME` names one folder for both.
    let shared = places.config == places.state;
    for entry in fs::read_dir(root).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if shared
            && (entry.file_name() == portcullis_config::FILE || entry.file_name() == "plugins")
        {
            continue;
        }
        let folder = entry.file_type().with_context(failed)?.is_dir();
        let removed =
            if folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        removed.with_context(|| format!("cannot remove `{}`", entry.path().display()))?;
    }
    if !shared && fs::remove_dir(root).is_err() {
        return Err(Error::io(format!("`{}` could not be removed", root.display())));
    }
    Ok(())
}
