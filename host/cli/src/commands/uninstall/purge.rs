//! `portcullis uninstall --purge` without an agent: nothing of Portcullis stays in a person's home.
//!
//! First everything that starts Portcullis is taken out: the hooks of every client, the gateway in
//! front of its servers, the units of the service. Then the folders are deleted. What an agent's
//! projects hold stays, quarantined files too: those are the person's.

use super::{Arguments, ClientRemoval, open_home};
use crate::commands::install::report::InstallReport;
use crate::commands::install::resident::ResidentUnits;
use crate::commands::install::{Site, remove_empty};
use crate::commands::maintain::take_lock;
use crate::commands::mcp::wrap::WrappedServers;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use portcullis_agents::Invocation;
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::{SettingsFile, read_settings};
use portcullis_agents::settings::SettingsScope;
use portcullis_config::paths::{Paths, cache_folder, config_folder, own_program, unit_files};
use portcullis_core::text::one_line;
use portcullis_credentials::KeptIn;
use portcullis_fs::destroy_file;
use portcullis_protocol::{StatusError, ask_status};
use portcullis_review::credentials::open_credentials;
use portcullis_review::quarantine::{QuarantineStatus, list_quarantines};
use portcullis_store::{Durability, Home, Store};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The most names of a folder's entries that are shown before it is deleted.
const MOST_NAMES: usize = 8;
/// The most bytes of a settings file of a client that is not known any more.
const MOST_FILE: u64 = 64 << 20;
/// The most tries to delete a folder in which maintenance still writes, and the pause between two.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(100);
/// The folders of a home that hold ours and may have been made for them.
const ABOVE_OURS: [&str; 4] = [".local/state", ".local", ".config", ".cache"];

pub(super) fn run_purge(arguments: &Arguments) -> Result<CommandExit> {
    if arguments.scope.scope() != SettingsScope::User || arguments.service {
        return Err(Error::invalid("without an agent, --purge removes everything of yours")
            .with_hint("name an agent, or leave out the other options"));
    }
    let places = Paths::from_environment()?.without_project();
    let mut report = InstallReport::new(arguments.json, SettingsScope::User, &places.state);
    let home = open_home(&places)?;
    let plan = PurgePlan::find(&places, home.as_ref(), &mut report)?;
    plan.print(arguments.diff, &mut report);
    if plan.is_empty() {
        return Ok(report.finish_with("unchanged", "nothing of Portcullis is here"));
    }
    if arguments.dry_run {
        return Ok(report.finish_with("dry_run", "nothing was written (--dry-run)"));
    }
    interactive::confirm_action(&plan.question())?;
    let left = plan.apply(&places, home.as_ref(), arguments.json, &mut report)?;
    report.print_line("the programs stay: remove them as they were installed");
    report.print_line("running sessions keep their hooks until they are restarted");
    report.set_value("left", json!(left));
    if left.is_empty() {
        return Ok(report.finish_with("purged", "nothing of Portcullis is left in your home"));
    }
    Ok(report.finish_with("purged", &format!("all is removed but {}", left.join(", "))))
}

/// Everything that goes, and what stays.
struct PurgePlan {
    clients: Vec<ClientRemoval>,
    /// Files of installations that no client's settings are known for any more.
    earlier: Vec<EarlierFile>,
    servers: Option<WrappedServers>,
    units: ResidentUnits,
    folders: Vec<PathBuf>,
    /// A folder of configuration that somebody named, and that may hold more than ours.
    named: Option<PathBuf>,
    /// True if a key or a credential is in the kernel's keyring.
    has_keyring: bool,
    kept: Vec<String>,
}

/// A settings file that is as an installation wrote it.
struct EarlierFile {
    found: SettingsFile,
    receipt: BackupReceipt,
    before: Option<Vec<u8>>,
}

impl PurgePlan {
    fn find(places: &Paths, home: Option<&Home>, report: &mut InstallReport) -> Result<Self> {
        let (folders, named) = find_folders(places, home)?;
        let mut clients = Vec::new();
        for agent in portcullis_agents::ALL.iter().copied() {
            let site = Site::new(agent, SettingsScope::User, None, true)?;
            warn_of_managed_hooks(&site, report);
            clients.push(ClientRemoval::plan(site, home, report)?);
        }
        let mut earlier = Vec::new();
        let (mut servers, mut units) = (None, ResidentUnits::default());
        if let Some(home) = home {
            units = ResidentUnits::plan_removal(places, home, report)?;
            servers = Some(WrappedServers::plan_unwrapping(places, home)?);
            let known: BTreeSet<PathBuf> = clients
                .iter()
                .flat_map(|client| client.files.iter().map(|file| file.found.path.clone()))
                .collect();
            for receipt in backup::list_receipts(home)? {
                // Units and records of trust have none: the former are above, and the latter go with
                // the hooks.
                if receipt.program.is_none() || known.contains(&receipt.file) {
                    continue;
                }
                if let Some(site) = find_project_site(places, &receipt.file)? {
                    // A client may have several files there, each with a receipt.
                    if !clients.iter().any(|client| is_same_site(&client.site, &site)) {
                        clients.push(ClientRemoval::plan(site, Some(home), report)?);
                    }
                } else {
                    earlier.extend(EarlierFile::find(home, receipt)?);
                }
            }
            if !units.changes() {
                refuse_running_service(places)?;
            }
        }
        Ok(Self {
            clients,
            earlier,
            servers,
            units,
            folders,
            named,
            has_keyring: home.is_some_and(has_keyring_values),
            kept: home.map(find_quarantines).unwrap_or_default(),
        })
    }

    fn is_empty(&self) -> bool {
        self.folders.is_empty()
            && self.earlier.is_empty()
            && self.clients.iter().all(ClientRemoval::changes_nothing)
    }

    fn print(&self, full: bool, report: &mut InstallReport) {
        for client in self.clients.iter().filter(|client| !client.changes_nothing()) {
            for file in client.files.iter().filter(|file| !file.changes_nothing()) {
                file.print(&client.site, full, report);
            }
        }
        self.units.print(report);
        for file in self.name_others() {
            report.print_line(&format!("{file} will be as before"));
        }
        for folder in &self.folders {
            report.print_line(&format!("{} will be deleted", describe_folder(folder)));
        }
        if self.has_keyring {
            report.print_line("what is kept in the kernel's keyring will be removed");
        }
        for folder in &self.kept {
            report.print_line(&format!(
                "`{folder}` stays: it holds files that were moved instead of deleted"
            ));
        }
        if let Some(folder) = &self.named {
            report.print_line(&format!(
                "`{}` stays: it is not the usual folder, and may hold more than ours",
                show(folder)
            ));
        }
        report.set_value("folders", json!(self.folders));
        report.set_value("kept", json!(self.kept));
    }

    /// Names the files that are no settings of a known client.
    fn name_others(&self) -> Vec<String> {
        let servers = self.servers.iter().flat_map(WrappedServers::name_files);
        let earlier =
            self.earlier.iter().map(|file| one_line(&file.found.path.to_string_lossy(), 400));
        servers.chain(earlier).map(|file| format!("`{file}`")).collect()
    }

    fn question(&self) -> String {
        let mut parts = Vec::new();
        let changed: Vec<&str> = self
            .clients
            .iter()
            .filter(|client| !client.changes_nothing())
            .map(|client| client.site.agent.display_name())
            .collect();
        if !changed.is_empty() {
            parts.push(format!("Portcullis will no longer review {}.", changed.join(", ")));
        }
        if self.units.changes() {
            let units = self.units.name_changed().join(", ");
            parts.push(format!("The resident service will stop, with {units}."));
        }
        let others = self.name_others();
        if !others.is_empty() {
            parts.push(format!("These files will be as before: {}.", others.join(", ")));
        }
        if self.has_keyring {
            parts.push("What is kept in the kernel's keyring will be removed.".to_owned());
        }
        let folders: Vec<String> =
            self.folders.iter().map(|folder| format!("`{}`", show(folder))).collect();
        if !folders.is_empty() {
            parts.push(format!(
                "These folders will be deleted, with journal, keys, checkpoints and configuration: {}.",
                folders.join(", ")
            ));
        }
        parts.join("\n")
    }

    fn apply(
        self,
        places: &Paths,
        home: Option<&Home>,
        as_json: bool,
        report: &mut InstallReport,
    ) -> Result<Vec<String>> {
        let mut left = Vec::new();
        if let Some(home) = home {
            if self.units.changes() {
                self.units.remove(places, home, report)?;
                // Its manager may not have been there to stop it.
                refuse_running_service(places)?;
            }
            if let Some(servers) = self.servers {
                servers.put_back(places, home, as_json)?;
            }
        }
        for client in &self.clients {
            client.apply(home, report)?;
        }
        for file in &self.earlier {
            file.restore()?;
        }
        // Nothing that a hook has started may write into a folder that is being deleted.
        let _lock = home.map(|home| wait_for_maintenance(home, places)).transpose()?;
        if let Some(home) = home {
            if let Err(error) = remove_keyring_values(home) {
                left.push(format!("what is in the kernel's keyring ({})", error.in_line()));
            }
            destroy_keys(home.path());
        }
        for folder in &self.folders {
            delete_folder(folder)?;
        }
        remove_empty_above(places, &self.folders);
        // A unit that somebody has changed is theirs, and was named.
        let units = unit_files(places);
        let stays = units.iter().chain(&self.named).filter(|path| path.symlink_metadata().is_ok());
        left.extend(stays.map(|path| format!("`{}`", show(path))));
        Ok(left)
    }
}

impl EarlierFile {
    /// Finds what a file was before an installation.
    fn find(home: &Home, receipt: BackupReceipt) -> Result<Option<Self>> {
        let found = read_settings(&receipt.file, MOST_FILE)?;
        let Some(bytes) = &found.bytes else { return Ok(None) };
        if backup::hash_content(bytes) != receipt.after {
            let shown = show(&receipt.file);
            return Err(Error::invalid(format!(
                "`{shown}` was changed since an installation wrote it, and no client here reads it"
            ))
            .with_hint(
                "run `portcullis uninstall AGENT` in the environment of that installation first",
            ));
        }
        let before = backup::read_before(home, &receipt)?;
        Ok(Some(Self { found, receipt, before }))
    }

    fn restore(&self) -> Result<()> {
        match &self.before {
            Some(before) => {
                drop(self.found.replace_content(before, SettingsScope::User.file_mode())?);
            }
            None => self.found.remove()?,
        }
        remove_empty(&self.receipt.folders);
        Ok(())
    }
}

/// Returns the project's site that a settings file belongs to, wherever the project is.
fn find_project_site(places: &Paths, file: &Path) -> Result<Option<Site>> {
    let program = own_program().context("cannot determine where this program is")?;
    for agent in portcullis_agents::ALL.iter().copied() {
        let layout = agent.hook_settings().layout();
        let local = layout.local_file.map(|name| (SettingsScope::Local, name));
        let named = [Some((SettingsScope::Project, layout.project_file)), local];
        for (scope, name) in named.into_iter().flatten() {
            let further =
                layout.further_files.iter().map(|other| Path::new(name).with_file_name(other));
            let mut names = std::iter::once(PathBuf::from(name)).chain(further);
            let Some(name) = names.find(|name| file.ends_with(name)) else { continue };
            let Some(project) = file.ancestors().nth(name.components().count()) else { continue };
            let person = Path::new(&places.person);
            let folders = layout.folders_in_environment(&places.environment, person, project);
            let pinned = Some((places.config.clone(), places.state.clone()));
            let wanted = Invocation { agent: agent.name(), program, pinned };
            return Ok(Some(Site { agent, scope, places: places.clone(), folders, wanted }));
        }
    }
    Ok(None)
}

fn is_same_site(one: &Site, other: &Site) -> bool {
    let key = |site: &Site| (site.agent.name(), site.scope, site.folders.settings_file(site.scope));
    key(one) == key(other)
}

/// Warns of hooks that only an administrator can remove: they would make a new home.
fn warn_of_managed_hooks(site: &Site, report: &mut InstallReport) {
    let hooks = site.agent.hook_settings();
    if !hooks.has_managed_file() {
        return;
    }
    for file in site.folders.settings_files(SettingsScope::Managed) {
        let bytes = read_settings(&file, hooks.most_bytes()).ok().and_then(|found| found.bytes);
        let document = bytes.and_then(|bytes| hooks.read_document(&bytes).ok());
        let has_ours = document.is_some_and(|document| {
            !hooks.find_handlers(document.value(), &site.wanted).is_empty()
        });
        if has_ours {
            report.print_warning(&format!(
                "the machine's settings in `{}` start Portcullis too, and the next session makes new \
                 state: an administrator removes them with `portcullis uninstall {} --managed`",
                show(&file),
                site.agent.name()
            ));
        }
    }
}

/// Refuses to delete the state that a service works on, or may work on.
fn refuse_running_service(places: &Paths) -> Result<()> {
    let shown = show(&places.state);
    match ask_status(&places.state) {
        // A socket that nobody answers is left over.
        Ok(None) | Err(StatusError::Dead { .. }) => Ok(()),
        Ok(Some(status)) => {
            let what = format!("a service works on `{shown}`, process {}", status.process);
            Err(Error::refused(what).with_hint(format!("stop it first: `kill {}`", status.process)))
        }
        Err(error) => Err(Error::refused(format!(
            "nobody knows whether a service works on `{shown}`: {error}"
        ))
        .with_hint("stop it first, or remove its `service.sock`")),
    }
}

/// Returns our folders that exist, and a folder of configuration that stays because somebody named it.
///
/// # Errors
/// Fails where a folder may not be ours, or not ours alone: nobody can bring back what is deleted.
fn find_folders(places: &Paths, home: Option<&Home>) -> Result<(Vec<PathBuf>, Option<PathBuf>)> {
    if places.person.is_empty() {
        return Err(Error::refused("HOME is not set, so nobody knows which folder is your home")
            .with_hint("set it: nothing is deleted without it"));
    }
    let exists = |folder: &Path| folder.symlink_metadata().is_ok();
    let mut folders = Vec::new();
    if exists(&places.state) {
        let shown = show(&places.state);
        if places.state.is_symlink() {
            return Err(Error::refused(format!(
                "`{shown}` is a link, and what it leads to may hold more than ours"
            ))
            .with_hint("name the folder itself with `--state`"));
        }
        if home.is_none() {
            return Err(Error::refused(format!(
                "`{shown}` has no key of Portcullis, so nobody knows whose folder it is"
            ))
            .with_hint("delete it yourself if nothing in it is yours"));
        }
        folders.push(places.state.clone());
    }
    let mut named = None;
    if exists(&places.config) && places.config != places.state {
        if places.config == config_folder(places) {
            folders.push(places.config.clone());
        } else {
            named = Some(places.config.clone());
        }
    }
    folders.extend(cache_folder().filter(|folder| exists(folder)));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let person = real(Path::new(&places.person));
    match folders.iter().find(|folder| person.starts_with(real(folder))) {
        None => Ok((folders, named)),
        Some(folder) => Err(Error::invalid(format!(
            "`{}` holds your home folder: nothing is deleted",
            show(folder)
        ))
        .with_hint("name our own folders with `--config` and `--state`")),
    }
}

fn describe_folder(folder: &Path) -> String {
    let shown = show(folder);
    if folder.is_symlink() {
        return format!("the link `{shown}` (not what it leads to)");
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| one_line(&entry.file_name().to_string_lossy(), 64)).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("`{shown}` with {}{more}", names.join(", "))
}

/// Returns the folders of projects with quarantined files.
fn find_quarantines(home: &Home) -> Vec<String> {
    // A journal that cannot be read names none, and is no reason to keep it.
    let Ok(store) = Store::open_database(home, Durability::Process) else { return Vec::new() };
    let Ok(known) = list_quarantines(&store, home) else { return Vec::new() };
    let kept = known.entries.iter().filter(|entry| entry.status() == QuarantineStatus::Kept);
    let folders: BTreeSet<String> = kept
        .flat_map(|entry| &entry.moved)
        .filter_map(|moved| Some(show(Path::new(&moved.to).parent()?)))
        .collect();
    folders.into_iter().collect()
}

fn has_keyring_values(home: &Home) -> bool {
    let masters = home.data_keys().masters().list().unwrap_or_default();
    let credentials = open_credentials(home).list_entries().unwrap_or_default();
    masters.iter().any(|entry| entry.kept_in == KeptIn::Keyring)
        || credentials.values().any(|entry| entry.kept_in == KeptIn::Keyring)
}

fn remove_keyring_values(home: &Home) -> Result<()> {
    let masters = home.data_keys().masters();
    for entry in masters.list()? {
        if entry.kept_in == KeptIn::Keyring {
            masters.remove(&entry.id)?;
        }
    }
    let credentials = open_credentials(home);
    let entries = credentials.list_entries().map_err(|error| Error::io(error.to_string()))?;
    for (name, entry) in entries {
        if entry.kept_in == KeptIn::Keyring {
            let removed = credentials.remove_entry(&name);
            removed.map_err(|error| Error::io(format!("cannot remove `{name}`: {error}")))?;
        }
    }
    Ok(())
}

/// Waits for the end of maintenance, and keeps further one from beginning.
fn wait_for_maintenance(home: &Home, places: &Paths) -> Result<File> {
    for _ in 0..TRIES {
        if let Some(lock) = take_lock(home)? {
            return Ok(lock);
        }
        thread::sleep(PAUSE);
    }
    Err(Error::refused(format!(
        "`portcullis maintain` works on `{}`; the hooks are removed, the folders stay",
        show(&places.state)
    ))
    .with_hint("run this again in a while"))
}

/// Overwrites the keys, so that no copy of the rest can be read from the disk's old blocks. No link is
/// followed, and no file with a second name is touched: what is elsewhere is not ours.
fn destroy_keys(state: &Path) {
    let mut open = vec![state.join("keys"), state.join("credentials")];
    open.retain(|folder| folder.symlink_metadata().is_ok_and(|found| found.is_dir()));
    // A key that cannot be overwritten is deleted with the folder.
    let _gone = destroy_file(&state.join("key"));
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() && has_one_name(&entry) => {
                    drop(destroy_file(&entry.path()));
                }
                _ => {}
            }
        }
    }
}

fn has_one_name(entry: &fs::DirEntry) -> bool {
    entry.metadata().is_ok_and(|found| found.nlink() == 1)
}

/// Deletes a folder, or a link to one. Maintenance that a hook started may still write in it.
fn delete_folder(folder: &Path) -> Result<()> {
    let mut tries = 0;
    loop {
        let deleted =
            if folder.is_symlink() { fs::remove_file(folder) } else { fs::remove_dir_all(folder) };
        tries += 1;
        match deleted {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < TRIES => {
                thread::sleep(PAUSE);
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot delete `{}`", show(folder)));
            }
        }
    }
}

/// Removes the folders of the home around ours that are empty now.
fn remove_empty_above(places: &Paths, deleted: &[PathBuf]) {
    for name in ABOVE_OURS {
        let above = Path::new(&places.person).join(name);
        if deleted.iter().any(|folder| folder.starts_with(&above)) {
            // One that is in use stays.
            let _in_use = fs::remove_dir(&above);
        }
    }
}

fn show(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 400)
}
