//! The locations of the person's home, our configuration, our state and the project.
//!
//! The command line can pin the folders of an installation. The hooks that `install` writes do so,
//! since an agent can change the environment of the hooks through its client's settings. This
//! module only determines the names of folders; `config` reads the files.

use crate::handed::HandedFiles;
use anyhow::{Result, bail};
use portcullis_agents::HookEnvironment;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The organisation's configuration, which belongs to root.
#[cfg(target_os = "macos")]
pub(crate) const MANAGED: &str = "/Library/Application Support/Portcullis/config.toml";
/// The organisation's configuration, which belongs to root.
#[cfg(not(target_os = "macos"))]
pub(crate) const MANAGED: &str = "/etc/portcullis/config.toml";

/// A project's configuration, below the project's folder.
pub const PROJECT_FILE: &str = ".portcullis/config.toml";
/// The name of the program that `plugin new` and `plugin build` run in.
pub const SECOND_PROGRAM: &str = "portcullis-plugin";
/// A folder that holds this is the root of a project.
const ROOT_MARK: &str = ".git";
/// The most parent folders that are searched for a project.
const MOST_LEVELS: usize = 64;

/// The mark that Linux puts behind the path of a running program whose file is gone.
const GONE: &[u8] = b" (deleted)";

/// Returns the path of the running program. When its file was replaced since the start, as an
/// upgrade does, that is the path of the file that came after it: it is what has to be guarded, what
/// hooks name, and what is started next.
///
/// # Errors
/// Fails if the place of the running program is unknown.
pub fn own_program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    Ok(match without_mark(&path) {
        // Anybody who can write beside the program can make a file with the mark.
        Some(unmarked) if unmarked.exists() || !is_running(&path) => unmarked,
        _ => path,
    })
}

/// Returns true if a path leads to the file that this process was started from.
fn is_running(path: &Path) -> bool {
    let (found, own) = (identity(path), identity(Path::new("/proc/self/exe")));
    found.is_some() && found == own
}

/// Returns a path without the mark of a file that is gone; `None` if it has none.
fn without_mark(path: &Path) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_bytes().strip_suffix(GONE)?;
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Returns where the second program is: beside the running one. The search path is not trusted,
/// since an agent could put a program of that name into a folder of it.
///
/// # Errors
/// Fails if the place of the running program is unknown.
pub fn second_program() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(SECOND_PROGRAM))
}

/// Returns where the program of the hub is: beside the running one, as the second program.
///
/// # Errors
/// Fails if the place of the running program is unknown.
pub fn hub_program() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(portcullis_fleet::hub_command::NAME))
}

/// Returns where the small hook is: beside the running program.
///
/// # Errors
/// Fails if the place of the running program is unknown.
pub fn small_hook() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(portcullis_agents::SMALL_HOOK))
}

/// Returns where the units are with which a user's systemd starts the resident service: that of the
/// service and that of its socket.
#[must_use]
pub fn unit_files(paths: &Paths) -> [PathBuf; 2] {
    let folder = configuration_above(paths);
    ["portcullis.service", "portcullis.socket"].map(|name| folder.join("systemd/user").join(name))
}

/// Returns the usual folder of a person's configuration, wherever these paths have it.
#[must_use]
pub fn config_folder(paths: &Paths) -> PathBuf {
    configuration_above(paths).join("portcullis")
}

/// Returns the folder in which a person's programs keep their configuration.
fn configuration_above(paths: &Paths) -> PathBuf {
    let configuration = paths.environment.folder("XDG_CONFIG_HOME");
    configuration.unwrap_or_else(|| Path::new(&paths.person).join(".config"))
}

/// The folders that the command line pins, for every command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathOverrides {
    /// The folder of your configuration, in place of the one that the environment names
    pub config: Option<PathBuf>,
    /// The folder of journal, key and compiled plugins, in place of the one that the environment
    /// names
    pub state: Option<PathBuf>,
    /// The organisation's configuration, in place of the system's
    pub managed: Option<PathBuf>,
}

static PINS: OnceLock<PathOverrides> = OnceLock::new();

/// The folders that this process works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The person's home folder; empty if the environment does not contain it.
    pub person: String,
    /// The folder of `config.toml` and `plugins/`.
    pub config: PathBuf,
    /// The folder of journal, key and compiled code.
    pub state: PathBuf,
    /// The organisation's configuration, which need not exist.
    pub managed: PathBuf,
    /// The current project's folder: the nearest one, upwards, with a `.portcullis/config.toml` or
    /// a `.git`.
    pub project: Option<PathBuf>,
    /// The environment that the folders come from.
    pub environment: HookEnvironment,
    /// The project's files of configuration, if a hook handed them over; else they are read.
    pub handed: Option<Arc<HandedFiles>>,
}

impl PathOverrides {
    /// Parses pins without the argument parser, for the hook, which cannot wait for it; returns
    /// `None` if there are any other arguments.
    pub fn read_arguments(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut pins = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let pin = match argument.to_str()? {
                "--config" => &mut pins.config,
                "--state" => &mut pins.state,
                "--managed-config" => &mut pins.managed,
                _ => return None,
            };
            if pin.is_some() {
                return None;
            }
            *pin = Some(PathBuf::from(arguments.next()?));
        }
        Some(pins)
    }

    /// Returns the process's pins.
    #[must_use]
    pub fn held() -> Self {
        PINS.get().cloned().unwrap_or_default()
    }

    /// Makes these the process's pins. Only the first call counts.
    pub fn hold_overrides(self) {
        let _first = PINS.set(self);
    }

    /// Returns configuration and state folder, if both are pinned.
    #[must_use]
    pub fn folders(&self) -> Option<(PathBuf, PathBuf)> {
        Some((self.config.clone()?, self.state.clone()?))
    }

    /// Returns the pins as arguments, for a process that has to work with the same folders.
    #[must_use]
    pub fn held_arguments() -> Vec<OsString> {
        Self::held().as_arguments()
    }

    /// Returns these pins as arguments.
    #[must_use]
    pub fn as_arguments(&self) -> Vec<OsString> {
        let pins = self.clone();
        let named = [
            ("--config", pins.config),
            ("--state", pins.state),
            ("--managed-config", pins.managed),
        ];
        named
            .into_iter()
            .filter_map(|(name, pin)| Some([OsString::from(name), pin?.into_os_string()]))
            .flatten()
            .collect()
    }
}

impl Paths {
    /// Uses the command line's pins, else the environment: `PORTCULLIS_HOME` for configuration and
    /// state, else the XDG folders. The project is that of a client's variable, else of the current
    /// folder.
    ///
    /// # Errors
    /// Fails if a pin is not absolute, or if nothing determines the state and configuration
    /// folders.
    pub fn from_environment() -> Result<Self> {
        let start = env::current_dir().unwrap_or_default();
        Self::for_event(&start.to_string_lossy())
    }

    /// Returns the places of an event in `cwd`: without a client's variable the project is that of
    /// `cwd`.
    ///
    /// # Errors
    /// Fails like `from_environment`.
    pub fn for_event(cwd: &str) -> Result<Self> {
        Self::in_environment(cwd, HookEnvironment::of_process(), PathOverrides::held())
    }

    /// Returns the places of an event in `cwd` for a hook's environment and pins.
    ///
    /// # Errors
    /// Fails like `from_environment`.
    pub fn in_environment(
        cwd: &str,
        environment: HookEnvironment,
        pins: PathOverrides,
    ) -> Result<Self> {
        let named = environment.project();
        let places = Self::find(pins, environment)?;
        Ok(places.in_project_of(&named.unwrap_or_else(|| PathBuf::from(cwd))))
    }

    /// Replaces the project by the one that contains `folder`.
    #[must_use]
    pub fn in_project_of(self, folder: &Path) -> Self {
        Self { project: project_of(folder, &self.person), ..self }
    }

    /// Returns the project's folder for a comparison of paths: a hook that handed its files over
    /// says which folder it really is.
    #[must_use]
    pub fn real_project(&self) -> Option<&Path> {
        let handed = self.handed.as_ref().and_then(|handed| handed.real_project.as_deref());
        handed.or(self.project.as_deref())
    }

    /// Removes the project, so that only global values remain.
    #[must_use]
    pub fn without_project(self) -> Self {
        Self { project: None, ..self }
    }

    fn find(pins: PathOverrides, environment: HookEnvironment) -> Result<Self> {
        let pinned = [
            ("--config", &pins.config),
            ("--state", &pins.state),
            ("--managed-config", &pins.managed),
        ];
        if let Some((name, path)) = pinned
            .iter()
            .find_map(|(name, pin)| Some((name, pin.as_ref()?)))
            .filter(|(_, path)| path.is_relative())
        {
            bail!("{name} is `{}`: it must be an absolute path", path.display());
        }
        let person =
            environment.text("HOME").filter(|home| home.starts_with('/')).unwrap_or_default();
        let (config, state) = match (pins.config, pins.state) {
            (Some(config), Some(state)) => (config, state),
            (config, state) => {
                let named = folders(&environment, &person)?;
                (config.unwrap_or(named.0), state.unwrap_or(named.1))
            }
        };
        Ok(Self {
            person,
            config,
            state,
            managed: pins.managed.unwrap_or_else(|| MANAGED.into()),
            project: None,
            environment,
            handed: None,
        })
    }
}

/// Returns the folder for data that can be recreated: `~/.cache/portcullis`, unless
/// `XDG_CACHE_HOME` is set; `None` without a home.
pub fn cache_folder() -> Option<PathBuf> {
    let environment = HookEnvironment::of_process();
    let folder = environment
        .folder("XDG_CACHE_HOME")
        .or_else(|| Some(environment.folder("HOME")?.join(".cache")))?;
    Some(folder.join("portcullis"))
}

/// Returns the configuration and state folders from an environment.
fn folders(environment: &HookEnvironment, person: &str) -> Result<(PathBuf, PathBuf)> {
    if let Some(home) = environment.variable("PORTCULLIS_HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        if !home.is_absolute() {
            bail!("PORTCULLIS_HOME is `{}`: it must be an absolute path", home.display());
        }
        return Ok((home.clone(), home));
    }
    if person.is_empty() {
        bail!(
            "HOME is not set: set it, or set PORTCULLIS_HOME to a folder for our state and configuration"
        );
    }
    let xdg = |name: &str, default: &str| {
        let named = environment.folder(name);
        named.unwrap_or_else(|| PathBuf::from(person).join(default)).join("portcullis")
    };
    Ok((xdg("XDG_CONFIG_HOME", ".config"), xdg("XDG_STATE_HOME", ".local/state")))
}

/// Returns the first folder from `start` upwards that has a configuration or is a repository's
/// root, else `start` itself. Neither the person's home nor `/` is a project: a file there would
/// affect all projects.
fn project_of(start: &Path, person: &str) -> Option<PathBuf> {
    if !start.is_absolute() {
        return None;
    }
    let home = identity(Path::new(person));
    let foreign = |folder: &Path| {
        folder.parent().is_none()
            || folder == Path::new(person)
            || (home.is_some() && identity(folder) == home)
    };
    let mut folders =
        start.ancestors().take(MOST_LEVELS).take_while(|folder| !foreign(folder)).peekable();
    let first = folders.peek().map(|folder| folder.to_path_buf());
    // Any entry with that name counts, even a pipe or a dead link: reading it is an error later.
    let exists = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    folders
        .find(|folder| exists(folder, PROJECT_FILE) || exists(folder, ROOT_MARK))
        .map(Path::to_path_buf)
        .or(first)
}

/// Returns a folder's identity, independent of how its path is written.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn pins_are_read_as_the_argument_parser_would() {
        let pins =
            |config: Option<&str>, state: Option<&str>, managed: Option<&str>| PathOverrides {
                config: config.map(PathBuf::from),
                state: state.map(PathBuf::from),
                managed: managed.map(PathBuf::from),
            };
        for (arguments, expected) in [
            (&[][..], Some(pins(None, None, None))),
            (&["--config", "/c", "--state", "/s"], Some(pins(Some("/c"), Some("/s"), None))),
            (
                &["--managed-config", "/m", "--config", "/c"],
                Some(pins(Some("/c"), None, Some("/m"))),
            ),
            (&["--config"], None),
            (&["--config", "/a", "--config", "/b"], None),
            (&["--confg", "/c"], None),
            (&["--config=/c"], None),
            (&["stray"], None),
        ] {
            assert_eq!(
                PathOverrides::read_arguments(arguments.iter().map(OsString::from)),
                expected,
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn the_mark_of_a_replaced_program_is_no_part_of_its_path() {
        for (path, without) in [
            ("/usr/bin/portcullis (deleted)", Some("/usr/bin/portcullis")),
            ("/usr/bin/portcullis (deleted) (deleted)", Some("/usr/bin/portcullis (deleted)")),
            ("/usr/bin/portcullis", None),
            ("/usr/bin (deleted)/portcullis", None),
        ] {
            assert_eq!(without_mark(Path::new(path)), without.map(PathBuf::from), "{path}");
        }
        assert!(own_program().unwrap().is_file());
    }

    #[test]
    fn a_project_is_found_upwards_and_never_in_the_home_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let home = root.join("home");
        for folder in [
            "home/.portcullis",
            "home/repo/.git",
            "home/repo/src/deep",
            "home/repo/part/.portcullis",
            "home/repo/part/src",
            "home/plain/x",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(home.join(PROJECT_FILE), "").unwrap();
        symlink("/nowhere", home.join("repo/part").join(PROJECT_FILE)).unwrap();
        symlink(&home, root.join("link")).unwrap();
        for (start, expected) in [
            ("home/repo/src/deep", Some("home/repo")),
            ("home/repo", Some("home/repo")),
            ("home/repo/part/src", Some("home/repo/part")),
            ("home/repo/part/not/there", Some("home/repo/part")),
            ("home/plain/x", Some("home/plain/x")),
            ("home", None),
            ("link", None),
            ("link/plain", Some("link/plain")),
        ] {
            let found = project_of(&root.join(start), &home.to_string_lossy());
            assert_eq!(found, expected.map(|path| root.join(path)), "{start}");
        }
        assert_eq!(project_of(Path::new("relative"), ""), None);
        assert_eq!(project_of(Path::new("/"), ""), None);
    }
}
