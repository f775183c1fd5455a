//! The folders of one run: a project under git, a home, our state. Nothing else is written to.
//!
//! They must not lie below the temporary folder, which the reviewer holds to be in scope.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::case::Case;

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
        let folders = [("@project@", self.project()), ("@home@", self.home()), ("@state@", self.state())];
        folders.iter().fold(text.to_owned(), |text, (name, folder)| text.replace(name, &folder.to_string_lossy()))
    }

    /// Sets up what the case starts from.
    pub(crate) fn furnish(&self, case: &Case, binary: &Path) -> Result<()> {
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        for (path, text) in &case.committed {
            write(path, text)?;
        }
        self.git(&["add", "--all"])?;
        self.git(&["-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "--quiet", "--allow-empty", "--message=start"])?;
        for (path, text) in &case.files {
            write(path, text)?;
        }
        if self.state().exists() {
            fs::set_permissions(self.state(), Permissions::from_mode(0o700))?;
        }
        write(&self.project().join(".claude/settings.json"), &settings(binary).to_string())
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

fn settings(binary: &Path) -> Value {
    let hook = json!({"type": "command", "command": binary, "args": ["hook", "claude"], "timeout": 30, "onFailure": "block"});
    let hooks: serde_json::Map<_, _> = EVENTS.iter().map(|event| ((*event).to_owned(), json!([{"hooks": [hook]}]))).collect();
    json!({"hooks": hooks})
}
