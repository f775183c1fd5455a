//! The settings files that a client reads, by scope, from the client's layout.

use crate::environment::HookEnvironment;
use std::path::{Path, PathBuf};

/// The name of a file with variables.
const ENV_FILE: &str = ".env";

/// The scope of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingsScope {
    /// All sessions of a person.
    User,
    /// A project, for everyone who has it.
    Project,
    /// A project, for this person.
    Local,
    /// The machine; only the superuser can write it.
    Managed,
}

impl SettingsScope {
    /// Returns the mode of a new file.
    #[must_use]
    pub const fn file_mode(self) -> u32 {
        match self {
            Self::User | Self::Local => 0o600,
            Self::Project | Self::Managed => 0o644,
        }
    }
}

/// Returns the machine's folder of a client that has another one on macOS.
pub(crate) const fn managed_folder(elsewhere: &'static str, macos: &'static str) -> &'static str {
    if cfg!(target_os = "macos") { macos } else { elsewhere }
}

/// The places of a client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsLayout {
    /// The person's folder, below the home folder.
    pub person: &'static str,
    /// The variable that names another folder for the person's settings.
    pub person_variable: Option<&'static str>,
    /// The client's folder below the one that this variable names; empty if it is that folder.
    pub below_variable: &'static str,
    /// The variable with which the client tells its hooks the project's folder.
    pub project_variable: Option<&'static str>,
    /// The machine's folder, absolute.
    pub managed: &'static str,
    /// The person's file, below the person's folder.
    pub user_file: &'static str,
    /// The project's file, below the folder in which the client is started.
    pub project_file: &'static str,
    /// Further files beside the person's and the project's file that hold our hooks too, each for
    /// other events.
    pub further_files: &'static [&'static str],
    /// One person's file for the project, below the same folder. A client without one has the
    /// project's file for both scopes.
    pub local_file: Option<&'static str>,
    /// The machine's file, below the machine's folder.
    pub managed_file: &'static str,
    /// The folder of further files of the machine, below the machine's folder; they are read after
    /// its file, in the order of their names.
    pub drop_ins: Option<&'static str>,
    /// The name of our file in that folder.
    pub own_drop_in: &'static str,
    /// Folders below the person's folder that bring hooks.
    pub plugins: &'static [&'static str],
    /// Other files below the person's folder that can switch hooks off.
    pub switch_files: &'static [&'static str],
    /// Such files of a project, below the folder in which the client is started.
    pub project_switch_files: &'static [&'static str],
    /// Other settings that can switch hooks off, each below its scope's folder. They are read like
    /// the client's files, before them, and never edited.
    pub switch_settings: &'static [(SettingsScope, &'static str)],
    /// The folder of transcripts, below the person's folder.
    pub transcripts: &'static str,
    /// Other files and folders of the client below the home folder, to which it writes.
    pub writes: &'static [&'static str],
}

/// The folders from which a client takes its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The client's layout.
    pub layout: &'static SettingsLayout,
    /// The person's.
    pub person: PathBuf,
    /// The folder in which the client is started. It does not look further up.
    pub project: PathBuf,
    /// The machine's.
    pub managed: PathBuf,
}

impl SettingsLayout {
    /// Returns the settings files of a project that `install` can edit, below its folder.
    pub fn project_files(&self) -> impl Iterator<Item = PathBuf> {
        let files = std::iter::once(self.project_file).chain(self.local_file);
        files.flat_map(|file| {
            let further =
                self.further_files.iter().map(|name| Path::new(file).with_file_name(name));
            std::iter::once(PathBuf::from(file)).chain(further)
        })
    }

    /// Returns the folders of a client that is started in `project` in an environment.
    #[must_use]
    pub fn folders_in_environment(
        &'static self,
        environment: &HookEnvironment,
        home: &Path,
        project: &Path,
    ) -> Folders {
        let named = self.person_variable.and_then(|name| environment.folder(name));
        let named = named.map(|folder| match self.below_variable {
            "" => folder,
            below => folder.join(below),
        });
        let usual = self.usual_folders(home, project);
        Folders { person: named.unwrap_or(usual.person), ..usual }
    }

    /// Returns the folders of a client that is started in `project` with an empty environment.
    #[must_use]
    pub fn usual_folders(&'static self, home: &Path, project: &Path) -> Folders {
        Folders {
            layout: self,
            person: home.join(self.person),
            project: project.to_owned(),
            managed: self.managed.into(),
        }
    }
}

impl Folders {
    /// Returns the first file that `install` edits for a scope, or the only one.
    #[must_use]
    pub fn settings_file(&self, scope: SettingsScope) -> PathBuf {
        let layout = self.layout;
        match scope {
            SettingsScope::User => self.person.join(layout.user_file),
            SettingsScope::Project => self.project.join(layout.project_file),
            SettingsScope::Local => {
                self.project.join(layout.local_file.unwrap_or(layout.project_file))
            }
            SettingsScope::Managed => match layout.drop_ins {
                Some(folder) => self.managed.join(folder).join(layout.own_drop_in),
                None => self.managed.join(layout.managed_file),
            },
        }
    }

    /// Returns every file that `install` edits for a scope.
    #[must_use]
    pub fn settings_files(&self, scope: SettingsScope) -> Vec<PathBuf> {
        let first = self.settings_file(scope);
        let others = match scope {
            SettingsScope::Managed => &[],
            _ => self.layout.further_files,
        };
        let others: Vec<PathBuf> = others.iter().map(|name| first.with_file_name(name)).collect();
        std::iter::once(first).chain(others).collect()
    }

    /// Returns every folder from which such a client takes hooks or plugins.
    #[must_use]
    pub fn hook_folders(&self) -> Vec<PathBuf> {
        let own = self.layout.plugins.iter().map(|folder| self.person.join(folder));
        let named = self.layout.project_switch_files.iter();
        own.chain(named.map(|folder| self.project.join(folder))).collect()
    }

    /// Returns the files from which such a client takes variables, if it does: in the folder in which
    /// it is started and those above it, and the person's.
    #[must_use]
    pub fn env_files(&self) -> Vec<PathBuf> {
        if !self.layout.switch_files.contains(&ENV_FILE) {
            return Vec::new();
        }
        let above = self.project.ancestors();
        let home = self.person.parent();
        let folders = above.chain(home).flat_map(|folder| {
            [folder.join(self.layout.person).join(ENV_FILE), folder.join(ENV_FILE)]
        });
        let mut files: Vec<PathBuf> =
            folders.chain(std::iter::once(self.person.join(ENV_FILE))).collect();
        files.sort();
        files.dedup();
        files
    }

    fn switch_settings(&self) -> impl Iterator<Item = (SettingsScope, PathBuf)> {
        self.layout.switch_settings.iter().map(|(scope, file)| {
            let folder = match scope {
                SettingsScope::User => &self.person,
                SettingsScope::Project | SettingsScope::Local => &self.project,
                SettingsScope::Managed => &self.managed,
            };
            (*scope, folder.join(file))
        })
    }

    /// Returns every file that such a client reads, even if it does not exist. Where the last file
    /// with a value counts, that is the last one here.
    #[must_use]
    pub fn files(&self) -> Vec<(SettingsScope, PathBuf)> {
        let of_scope =
            |scope| self.settings_files(scope).into_iter().map(move |path| (scope, path));
        let own = [SettingsScope::User, SettingsScope::Project, SettingsScope::Local];
        let mut files: Vec<_> = self.switch_settings().collect();
        files.extend(own.into_iter().flat_map(of_scope));
        files.push((SettingsScope::Managed, self.managed.join(self.layout.managed_file)));
        let dropped = self.layout.drop_ins.map(|folder| self.managed.join(folder));
        let entries = dropped.and_then(|folder| std::fs::read_dir(folder).ok());
        let mut dropped: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        dropped.sort();
        files.extend(dropped.into_iter().map(|path| (SettingsScope::Managed, path)));
        // In the home folder, project and person may share a file.
        let mut seen = Vec::new();
        files.retain(|(_, path)| {
            let first = !seen.contains(path);
            seen.push(path.clone());
            first
        });
        files
    }
}
