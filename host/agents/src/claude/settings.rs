//! The settings files that the client reads, by scope.

use std::env;
use std::path::{Path, PathBuf};

/// The scope of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All sessions of a person.
    User,
    /// A project, for everyone who has it.
    Project,
    /// A project, for this person.
    Local,
    /// The machine; only the superuser can write it.
    Managed,
}

impl Scope {
    /// Returns the name in the client's own listings.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::User => "userSettings",
            Self::Project => "projectSettings",
            Self::Local => "localSettings",
            Self::Managed => "policySettings",
        }
    }

    /// Returns the mode of a new file.
    #[must_use]
    pub const fn mode(self) -> u32 {
        match self {
            Self::User | Self::Local => 0o600,
            Self::Project | Self::Managed => 0o644,
        }
    }
}

/// The client's folder of the machine's settings.
#[cfg(target_os = "macos")]
pub const MANAGED_FOLDER: &str = "/Library/Application Support/ClaudeCode";
/// The client's folder of the machine's settings.
#[cfg(not(target_os = "macos"))]
pub const MANAGED_FOLDER: &str = "/etc/claude-code";

/// Our file among the machine's settings: read after `managed-settings.json`, and no one else edits it.
const DROP_IN: &str = "managed-settings.d/50-portcullis.json";

/// The folders from which the client takes its settings.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The person's: `~/.claude`, or `CLAUDE_CONFIG_DIR`.
    pub person: PathBuf,
    /// The folder in which the client is started. It does not look further up.
    pub project: PathBuf,
    /// The machine's.
    pub managed: PathBuf,
}

impl Folders {
    /// Returns the folders of a client that is started in `project` with this process's
    /// environment.
    #[must_use]
    pub fn from_environment(home: &Path, project: &Path) -> Self {
        let named =
            env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            person: named.unwrap_or_else(|| home.join(".claude")),
            project: project.to_owned(),
            managed: MANAGED_FOLDER.into(),
        }
    }

    /// Returns the file that `install` edits for a scope.
    #[must_use]
    pub fn file(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::User => self.person.join("settings.json"),
            Scope::Project => self.project.join(".claude/settings.json"),
            Scope::Local => self.project.join(".claude/settings.local.json"),
            Scope::Managed => self.managed.join(DROP_IN),
        }
    }

    /// Returns every file that such a client reads, even if it does not exist.
    #[must_use]
    pub fn files(&self) -> Vec<(Scope, PathBuf)> {
        let own =
            [Scope::User, Scope::Project, Scope::Local].map(|scope| (scope, self.file(scope)));
        let mut files = Vec::from(own);
        files.push((Scope::Managed, self.managed.join("managed-settings.json")));
        let entries = std::fs::read_dir(self.managed.join("managed-settings.d"))
            .into_iter()
            .flatten()
            .flatten();
        let mut dropped: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        dropped.sort();
        files.extend(dropped.into_iter().map(|path| (Scope::Managed, path)));
        // In the home folder, project and person may share one file.
        files.dedup_by(|a, b| a.1 == b.1);
        files
    }
}
