//! The folders of one run: a project under git, a home, our state. Nothing else is written to.
//!
//! They must not lie below the temporary folder, which the reviewer holds to be in scope.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// The events that our hooks listen to.
const EVENTS: [&str; 11] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "ConfigChange",
];

/// Whose settings hold our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Installed {
    /// Nobody's.
    Nowhere,
    /// The project's.
    Project,
    /// The person's.
    User,
    /// The machine's.
    Managed,
}

/// The folders of one run.
#[derive(Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes the folders anew.
    pub(crate) fn create(parent: &Path, name: &str) -> Result<Self> {
        let root = parent.join(name);
        if root.exists() {
            fs::remove_dir_all(&root).with_context(|| format!("cannot clear `{}`", root.display()))?;
        }
        let scratch = Self { root };
        for folder in [scratch.project(), scratch.home(), scratch.temporary()] {
            fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        Ok(scratch)
    }

    /// Holds all the others.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The agent's working folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// What `~` is for the client, its tools and our hooks.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where our hooks keep what they keep; not made here.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Temporary files of the client and its tools.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Puts the folders in place of their names.
    pub(crate) fn fill(&self, text: &str) -> String {
        let folders = [
            ("@project@", self.project()),
            ("@home@", self.home()),
            ("@state@", self.state()),
            ("@root@", self.root.clone()),
            ("@test@", std::env::current_exe().unwrap_or_default()),
        ];
        folders.iter().fold(text.to_owned(), |text, (name, folder)| text.replace(name, &folder.to_string_lossy()))
    }

    /// Sets up what a run starts from: files that are committed, and files that are not.
    pub(crate) fn furnish(&self, committed: &BTreeMap<PathBuf, String>, files: &BTreeMap<PathBuf, String>) -> Result<()> {
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        for (path, text) in committed {
            write(path, text)?;
        }
        self.git(&["add", "--all"])?;
        self.git(&["-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "--quiet", "--allow-empty", "--message=start"])?;
        for (path, text) in files {
            write(path, text)?;
        }
        if self.state().exists() {
            fs::set_permissions(self.state(), Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Puts our hooks into the client's settings.
    pub(crate) fn install(&self, binary: &Path, installed: Installed) -> Result<()> {
        match self.settings(installed) {
            Some(file) => write(&file, &settings(binary, installed).to_string()),
            None => Ok(()),
        }
    }

    /// The settings that hold our hooks.
    pub(crate) fn settings(&self, installed: Installed) -> Option<PathBuf> {
        match installed {
            Installed::Nowhere => None,
            Installed::Project => Some(self.project().join(".claude/settings.json")),
            Installed::User => Some(self.home().join(".claude/settings.json")),
            Installed::Managed => Some(self.machine().join("claude-code/managed-settings.json")),
        }
    }

    /// What lies in `/etc` for the client alone.
    pub(crate) fn machine(&self) -> PathBuf {
        self.root.join("etc")
    }

    /// Removes the folders.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.root).with_context(|| format!("cannot remove `{}`", self.root.display()))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.project()).args(arguments).env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().context("cannot start `git`: install it")?;
        ensure!(output.status.success(), "`git {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

fn settings(binary: &Path, installed: Installed) -> Value {
    let hook = json!({"type": "command", "command": binary, "args": ["hook", "claude"], "timeout": 30, "onFailure": "block"});
    let hooks: serde_json::Map<_, _> = EVENTS.iter().map(|event| ((*event).to_owned(), json!([{"hooks": [hook]}]))).collect();
    match installed {
        Installed::Managed => json!({"hooks": hooks, "allowManagedHooksOnly": true}),
        _ => json!({"hooks": hooks}),
    }
}
