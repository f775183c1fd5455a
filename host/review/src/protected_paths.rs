//! The files that the guard depends on, on this machine: our own, and those of the client that
//! decide which hooks it calls.
//!
//! Guarded are:
//!
//! - our configuration with its plugins, our state (journal, key, credentials, cache, pause, trust), our two
//!   programs, the organisation's configuration, the project's `.portcullis/config.toml` and
//!   `portcullis.lock`, and the files of custom rules and of templates;
//! - of every client, whichever runs: the person's settings file, plugins that bring hooks, managed
//!   settings, and any project's settings files, wherever it is located: a client that is started
//!   there later would run without hooks.
//!
//! Not guarded are `.portcullis/quarantine`, which receives the agent's own deletions, the rest of
//! a client's folders (commands, agents, skills, memory, scripts of other hooks): none of it
//! disables the hooks. The client's own program, which updates
//! itself, is not guarded either.

mod kept;

pub(crate) use kept::KeptList;

use crate::bundles::locks::LOCK_FILE;
use crate::folder_locations::{FolderLocations, Location, MOST_PARTS};
use portcullis_agents::SMALL_HOOK;
use portcullis_agents::settings::{Folders, SettingsLayout, SettingsScope};
use portcullis_config::Config;
use portcullis_config::boundary::{self, BOUNDARY_FILE, BOUNDARY_SOCKET, user_of_state};
use portcullis_config::paths::{PROJECT_FILE, Paths, SECOND_PROGRAM, own_program, unit_files};
use portcullis_core::facts::normalise_path;
use portcullis_core::policy::GuardedPath;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const CONFIGURATION: &str = "the configuration of Portcullis";
const STATE: &str = "the journal and state of Portcullis";
const KEY: &str = "the key of Portcullis";
const KEYS: &str = "the encryption keys of Portcullis";
const CREDENTIALS: &str = "the credentials of Portcullis";
const PROGRAM: &str = "the program of Portcullis";
const ORGANISATION: &str = "the organisation's configuration of Portcullis";
const OF_PROJECT: &str = "the project's configuration of Portcullis";
const LOCK: &str = "the project's lock of Portcullis, which names the bundles that review it";
const RULES: &str = "the rules of Portcullis";
const PROMPTS: &str = "the templates of Portcullis, which are its words to the agent";
const SETTINGS: &str = "the client's settings, which name its hooks";
const SWITCHES: &str = "the client's settings, which can switch hooks off";
const PLUGINS: &str = "the client's plugins, which bring hooks";
const MANAGED: &str = "the client's managed settings, which name its hooks";

/// Returns the guarded paths for an event in `cwd`, as they are on the disk now.
#[must_use]
pub fn list_protected(places: &Paths, config: &Config, cwd: &str) -> Vec<GuardedPath> {
    let basis = ListBasis::of(places, config, cwd);
    list_with(Locator::Disk(FolderLocations::default()), &basis).0
}

/// Returns the guarded paths for an event in `cwd`, located by somebody who sees the disk.
#[must_use]
pub(crate) fn list_located(
    places: &Paths,
    config: &Config,
    cwd: &str,
    locate: impl FnOnce(Vec<PathBuf>) -> Vec<Location>,
) -> Vec<GuardedPath> {
    let basis = ListBasis::of(places, config, cwd);
    let wanted = match list_with(Locator::Collects(BTreeSet::new()), &basis).1 {
        Locator::Collects(paths) => paths,
        _ => BTreeSet::new(),
    };
    let located = locate(wanted.iter().cloned().collect());
    let known = wanted.into_iter().zip(located).collect();
    list_with(Locator::Known(known), &basis).0
}

/// Locates paths on the disk as it is now.
#[must_use]
pub(crate) fn locate_paths(paths: &[PathBuf]) -> Vec<Location> {
    let mut folders = FolderLocations::default();
    paths.iter().map(|path| folders.locate(path.as_os_str(), MOST_PARTS)).collect()
}

/// All that the guarded paths depend on besides the disk.
#[derive(PartialEq, Eq)]
struct ListBasis {
    person: PathBuf,
    cwd: PathBuf,
    config: PathBuf,
    state: PathBuf,
    managed: PathBuf,
    plugins: PathBuf,
    /// The project whose configuration counts.
    project: Option<PathBuf>,
    program: Option<PathBuf>,
    units: [PathBuf; 2],
    /// The folders of each client in the environment of the hook.
    clients: Vec<Folders>,
    /// Files that the configuration names, and whether they belong to the project.
    named: Vec<(PathBuf, bool, &'static str)>,
}

impl ListBasis {
    fn of(places: &Paths, config: &Config, cwd: &str) -> Self {
        let client_project = places.environment.project().unwrap_or_else(|| PathBuf::from(cwd));
        let person = PathBuf::from(&places.person);
        let folders = |layout: &'static SettingsLayout| {
            layout.folders_in_environment(&places.environment, &person, &client_project)
        };
        let rules = config.rules.files.iter();
        let rules = rules.map(|file| (file.path.clone(), file.of_project, RULES));
        let prompts = config.prompts.iter();
        let prompts = prompts.map(|file| (file.path.clone(), file.of_project, PROMPTS));
        Self {
            cwd: PathBuf::from(cwd),
            config: places.config.clone(),
            state: places.state.clone(),
            managed: places.managed.clone(),
            plugins: config.plugins_dir.clone(),
            project: places.project.clone(),
            program: own_program().ok(),
            units: unit_files(places),
            clients: layouts().map(folders).collect(),
            named: rules.chain(prompts).collect(),
            person,
        }
    }
}

fn list_with(locator: Locator, basis: &ListBasis) -> (Vec<GuardedPath>, Locator) {
    let mut list = List { locator, entries: Vec::with_capacity(USUAL_ENTRIES) };
    list.own(&basis.config, &basis.state);
    if user_of_state(&basis.state).is_some() {
        // The service keeps more than this user's state, and hooks know it by its socket.
        list.add(Path::new(boundary::STATE), STATE);
        list.add(Path::new(BOUNDARY_SOCKET).parent().unwrap_or(Path::new(BOUNDARY_SOCKET)), STATE);
    }
    if !basis.plugins.starts_with(&basis.config) {
        list.add(&basis.plugins, CONFIGURATION);
    }
    if let Some(program) = &basis.program {
        list.push(program, |path| GuardedPath { program: true, ..GuardedPath::new(path, PROGRAM) });
        // A person starts the second one through the first, with all that a person may do. The hooks
        // of a client may start the third in place of the first.
        for name in [SECOND_PROGRAM, SMALL_HOOK] {
            list.add(&program.with_file_name(name), PROGRAM);
        }
    }
    for unit in &basis.units {
        list.add(unit, PROGRAM);
    }
    let folder = basis
        .managed
        .parent()
        .filter(|folder| folder.ends_with("portcullis") || folder.ends_with("Portcullis"));
    list.add(folder.unwrap_or(&basis.managed), ORGANISATION);
    for current in &basis.clients {
        // This client uses the folder from the environment, the next one uses the usual folder.
        let usual = current.layout.usual_folders(&basis.person, &basis.cwd);
        list.client(current);
        if *current != usual {
            list.client(&usual);
        }
    }
    if let Some(project) = &basis.project {
        list.in_project(project, PROJECT_FILE, OF_PROJECT);
        list.in_project(project, LOCK_FILE, LOCK);
    }
    for (path, of_project, what) in &basis.named {
        let what = *what;
        match basis
            .project
            .as_ref()
            .and_then(|project| Some((project, path.strip_prefix(project).ok()?)))
        {
            Some((project, name)) if *of_project => list.in_project(project, name, what),
            _ => list.add(path, what),
        }
    }
    list.anywhere();
    (list.entries, list.locator)
}

/// Returns the guarded paths for an event in `cwd` of another machine or another time: by their
/// usual names alone, so that a replay needs no disk.
#[must_use]
pub fn by_name(person: &str, cwd: &str) -> Vec<GuardedPath> {
    let mut list = List { locator: Locator::Nowhere, entries: Vec::with_capacity(USUAL_ENTRIES) };
    let home = Path::new(person);
    if !person.is_empty() {
        list.own(&home.join(".config/portcullis"), &home.join(".local/state/portcullis"));
    }
    for layout in layouts() {
        list.client(&layout.usual_folders(home, Path::new(cwd)));
    }
    list.add(Path::new(BOUNDARY_FILE).parent().unwrap_or(Path::new(BOUNDARY_FILE)), ORGANISATION);
    list.in_project(Path::new(cwd), PROJECT_FILE, OF_PROJECT);
    list.in_project(Path::new(cwd), LOCK_FILE, LOCK);
    list.anywhere();
    list.entries
}

/// Returns the layouts of all clients' settings.
fn layouts() -> impl Iterator<Item = &'static SettingsLayout> {
    portcullis_agents::ALL.iter().map(|agent| agent.hook_settings().layout())
}

/// The list while it is built.
struct List {
    locator: Locator,
    entries: Vec<GuardedPath>,
}

/// What says which files exist, and where links lead.
enum Locator {
    /// The disk.
    Disk(FolderLocations),
    /// The disk; what was found is kept.
    Keeps(FolderLocations, Vec<(PathBuf, Location)>),
    /// Nothing yet: it collects what somebody else has to look at.
    Collects(BTreeSet<PathBuf>),
    /// Somebody else's look.
    Known(BTreeMap<PathBuf, Location>),
    /// Nothing.
    Nowhere,
}

impl List {
    fn own(&mut self, config: &Path, state: &Path) {
        // The key comes first: a folder that holds it is only written to, the key can also be read.
        self.push(&state.join("key"), |path| GuardedPath {
            secret: true,
            ..GuardedPath::new(path, KEY)
        });
        self.push(&state.join("keys"), |path| GuardedPath {
            secret: true,
            ..GuardedPath::new(path, KEYS)
        });
        self.push(&state.join("credentials"), |path| GuardedPath {
            secret: true,
            ..GuardedPath::new(path, CREDENTIALS)
        });
        self.add(config, CONFIGURATION);
        self.add(state, STATE);
        // A search by these names would match them.
        self.push(&config.join("config.toml"), |path| GuardedPath::new(path, CONFIGURATION));
        self.push(&state.join("journal.db"), |path| GuardedPath::new(path, STATE));
    }

    fn client(&mut self, folders: &Folders) {
        for file in folders.settings_files(SettingsScope::User) {
            self.add(&file, SETTINGS);
        }
        for file in folders.layout.switch_files {
            self.add(&join_path(&folders.person, file), SWITCHES);
        }
        for file in folders.layout.project_switch_files {
            self.in_project(&folders.project, file, SWITCHES);
        }
        for plugins in folders.layout.plugins {
            self.add(&join_path(&folders.person, plugins), PLUGINS);
        }
        self.add(&folders.managed, MANAGED);
        for file in folders.layout.project_files() {
            self.in_project(&folders.project, &file, SETTINGS);
        }
    }

    /// Adds a project's file with the folder, ours or the client's, that contains it: removing that
    /// folder counts, but removing the whole project does not, since that removes what is guarded.
    fn in_project(&mut self, project: &Path, file: impl AsRef<OsStr>, what: &'static str) {
        // None, or the root.
        if project.as_os_str().as_bytes().iter().all(|byte| *byte == b'/') {
            return;
        }
        let file = file.as_ref();
        let path = join_path(project, file);
        // A file directly in the project's folder counts alone: the project may be removed.
        let folder = file.as_bytes().iter().rposition(|byte| *byte == b'/');
        let folder = folder.and_then(|end| file.as_bytes().get(..end));
        let top = folder.map(|folder| join_path(project, OsStr::from_bytes(folder)));
        let top = read_text(top.as_ref().unwrap_or(&path)).into_owned();
        let location = self.locate(&path);
        let present = !matches!(self.locator, Locator::Nowhere) && location.exists;
        self.push_at(&path, location, |path| GuardedPath {
            top: top.clone(),
            present,
            ..GuardedPath::new(path, what)
        });
    }

    fn anywhere(&mut self) {
        for layout in layouts() {
            let files = std::iter::once(layout.project_file).chain(layout.local_file);
            for file in files.chain(layout.project_switch_files.iter().copied()) {
                self.entries.push(GuardedPath::new(format!("**/{file}"), SETTINGS));
            }
        }
        self.entries.push(GuardedPath::new(format!("**/{PROJECT_FILE}"), OF_PROJECT));
        self.entries.push(GuardedPath::new(format!("**/{LOCK_FILE}"), LOCK));
    }

    fn add(&mut self, path: &Path, what: &'static str) {
        self.push(path, |path| GuardedPath::new(path, what));
    }

    /// Adds a path under its name, and the target of a link under that name too.
    fn push(&mut self, path: &Path, entry: impl Fn(String) -> GuardedPath) {
        let location = self.locate(path);
        self.push_at(path, location, entry);
    }

    fn push_at(&mut self, path: &Path, location: Location, entry: impl Fn(String) -> GuardedPath) {
        self.push_name(path, &entry);
        if let Some(real) = location.elsewhere {
            self.push_name(&real, &entry);
        }
    }

    fn locate(&mut self, path: &Path) -> Location {
        match &mut self.locator {
            Locator::Disk(folders) => folders.locate(path.as_os_str(), MOST_PARTS),
            Locator::Keeps(folders, kept) => {
                let found = folders.locate(path.as_os_str(), MOST_PARTS);
                kept.push((path.to_owned(), found.clone()));
                found
            }
            Locator::Collects(paths) => {
                paths.insert(path.to_owned());
                Location::HERE
            }
            Locator::Known(known) => known.get(path).cloned().unwrap_or(Location::HERE),
            Locator::Nowhere => Location::HERE,
        }
    }

    fn push_name(&mut self, path: &Path, entry: impl Fn(String) -> GuardedPath) {
        let name = normalise_path(&read_text(path), "/", "/");
        if name != "/" && !self.entries.iter().any(|known| known.path == name) {
            self.entries.push(entry(name));
        }
    }
}

/// The usual number of entries, and some more: the list grows with the clients that are known.
const USUAL_ENTRIES: usize = 192;

/// Joins a relative path to a folder. Each hook joins about a hundred, and `Path::join`, which
/// looks at the parts of both, costs ten times as much.
fn join_path(folder: &Path, file: impl AsRef<OsStr>) -> PathBuf {
    let (folder, file) = (folder.as_os_str(), file.as_ref());
    let mut joined = OsString::with_capacity(folder.len() + 1 + file.len());
    joined.push(folder);
    if !folder.as_bytes().ends_with(b"/") {
        joined.push("/");
    }
    joined.push(file);
    joined.into()
}

/// Returns a path as text, with a substitute for what is not UTF-8.
fn read_text(path: &Path) -> Cow<'_, str> {
    path.to_str().map_or_else(|| path.to_string_lossy(), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_config::paths::{second_program, small_hook};
    use portcullis_config::prompts::PromptsFile;
    use std::fs;
    use std::os::unix::fs::symlink;

    pub(super) fn places(root: &Path) -> Paths {
        Paths {
            person: root.join("home").display().to_string(),
            config: root.join("home/.config/portcullis"),
            state: root.join("home/.local/state/portcullis"),
            managed: root.join("etc/portcullis/config.toml"),
            project: Some(root.join("home/shop")),
            environment: portcullis_agents::HookEnvironment::of_process(),
            handed: None,
        }
    }

    #[test]
    fn every_part_of_the_guard_is_on_the_list() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let places = places(&root);
        let cwd = root.join("home/shop");
        fs::create_dir_all(cwd.join(".claude")).unwrap();
        fs::create_dir_all(root.join("home/.claude")).unwrap();
        fs::create_dir_all(root.join("dotfiles")).unwrap();
        fs::write(root.join("dotfiles/settings.json"), "{}").unwrap();
        symlink(root.join("dotfiles/settings.json"), root.join("home/.claude/settings.json"))
            .unwrap();
        fs::write(cwd.join(".claude/settings.json"), "{}").unwrap();
        let mut config = Config::builtin_only(&places);
        config.plugins_dir = root.join("wasm");
        config.prompts = Some(PromptsFile {
            path: root.join("home/words.toml"),
            of_project: false,
            templates: BTreeMap::new(),
        });
        let list = list_protected(&places, &config, &cwd.display().to_string());
        let find = |path: &str| {
            list.iter().find(|entry| entry.path == root.join(path).display().to_string())
        };
        for path in [
            "home/.config/portcullis",
            "home/.local/state/portcullis",
            "home/.local/state/portcullis/key",
            "home/.config/systemd/user/portcullis.service",
            "home/.config/systemd/user/portcullis.socket",
            "wasm",
            "home/words.toml",
            "etc/portcullis",
            "home/.claude/settings.json",
            "home/.claude/plugins",
            "dotfiles/settings.json",
            "home/shop/.portcullis/config.toml",
            "home/shop/portcullis.lock",
            "home/shop/.claude/settings.json",
            "home/shop/.claude/settings.local.json",
        ] {
            assert!(find(path).is_some(), "{path}: {list:?}");
        }
        let secret: Vec<&str> =
            list.iter().filter(|entry| entry.secret).map(|entry| &*entry.what).collect();
        assert_eq!(secret, [KEY, KEYS, CREDENTIALS]);
        assert_eq!(list.iter().filter(|entry| entry.program).count(), 1);
        for beside in [second_program(), small_hook()] {
            let beside = beside.unwrap().display().to_string();
            assert!(list.iter().any(|entry| entry.path == beside && entry.what == PROGRAM));
        }
        let present = |path: &str| find(path).map(|entry| entry.present);
        assert_eq!(
            (
                present("home/shop/.claude/settings.json"),
                present("home/shop/.claude/settings.local.json")
            ),
            (Some(true), Some(false))
        );
        let top = find("home/shop/.claude/settings.json").map(|entry| entry.top.clone());
        assert_eq!(
            top,
            Some(cwd.join(".claude").display().to_string()),
            "the project may go, its settings alone may not"
        );
        assert!(list.iter().any(|entry| entry.path == "**/.claude/settings.json"));
        assert!(
            list.iter()
                .any(|entry| { layouts().any(|layout| entry.path.starts_with(layout.managed)) })
        );
        let mut names: Vec<&str> = list.iter().map(|entry| entry.path.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len(), "each once");
    }

    #[test]
    fn without_a_disk_the_usual_names_count() {
        let list = by_name("/home/x", "/home/x/shop");
        for path in [
            "/home/x/.config/portcullis",
            "/home/x/.claude/settings.json",
            "/home/x/shop/.claude/settings.json",
            "/etc/claude-code",
        ] {
            assert!(list.iter().any(|entry| entry.path == path), "{path}");
        }
        assert_eq!(by_name("/home/x", "/home/x/shop"), list);
        assert!(by_name("", "").iter().all(|entry| entry.path.len() > 1));
    }
}
