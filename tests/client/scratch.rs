//! The folders of one run: a project under git, a home, and our state. Nothing else is written to.
//!
//! They must not be below the temporary folder, which the reviewer considers in scope.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use portcullis_tests::compiled::copy_state;
use serde::Deserialize;

use crate::machine;

/// The scope of the settings with our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Installed {
    /// No settings.
    Nowhere,
    /// The project's settings.
    Project,
    /// The person's settings.
    User,
    /// The machine's settings.
    Managed,
}

/// Returns the state with the compiled plugins, which each run's state begins with.
pub(crate) fn compiled(parent: &Path) -> PathBuf {
    parent.join("compiled")
}

/// The folders of one run.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Creates empty folders, and a state with nothing but the compiled plugins.
    pub(crate) fn create(parent: &Path, name: &str) -> Result<Self> {
        let root = parent.join(name);
        if root.exists() {
            fs::remove_dir_all(&root)
                .with_context(|| format!("cannot clear `{}`", root.display()))?;
        }
        let scratch = Self { root };
        for folder in [scratch.project(), scratch.home(), scratch.temporary()] {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        copy_state(&compiled(parent), &scratch.state())?;
        Ok(scratch)
    }

    /// Returns the parent of all the others.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the agent's working folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns the folder for `~` of the client, its tools and our hooks.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the folder for our hooks' state.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Returns the folder for temporary files of the client and its tools.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Replaces the names of folders by their paths.
    pub(crate) fn fill(&self, text: &str) -> String {
        let folders = [
            ("@project@", self.project()),
            ("@home@", self.home()),
            ("@state@", self.state()),
            ("@root@", self.root.clone()),
            ("@test@", std::env::current_exe().unwrap_or_default()),
        ];
        folders.iter().fold(text.to_owned(), |text, (name, folder)| {
            text.replace(name, &folder.to_string_lossy())
        })
    }

    /// Sets up the initial state of a run: files that are committed, and files that are not.
    pub(crate) fn furnish(
        &self,
        committed: &BTreeMap<PathBuf, String>,
        files: &BTreeMap<PathBuf, String>,
    ) -> Result<()> {
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        for (path, text) in committed {
            write(path, text)?;
        }
        self.git(&["add", "--all"])?;
        self.git(&[
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            "--message=start",
        ])?;
        for (path, text) in files {
            write(path, text)?;
        }
        if self.state().exists() {
            fs::set_permissions(self.state(), Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Makes our own program install its hooks into the settings, with `program` in them. Its state
    /// goes where no case looks, except for a person's own settings, whose hooks name the folders
    /// of the state.
    pub(crate) fn install(
        &self,
        portcullis: &Path,
        program: &Path,
        installed: Installed,
    ) -> Result<()> {
        let (scope, machine) = match installed {
            Installed::Nowhere => return Ok(()),
            Installed::Project => (&["--project"][..], None),
            Installed::User => (&["--user"][..], None),
            Installed::Managed => {
                (&["--managed", "--only-managed-hooks"][..], Some(self.machine()))
            }
        };
        if let Some(machine) = &machine {
            fs::create_dir_all(machine.join("claude-code"))?;
        }
        let state = if installed == Installed::User {
            self.state()
        } else {
            self.root.with_file_name("installer")
        };
        let mut command = machine::program_that_writes(portcullis, machine.as_deref());
        command
            .args(["install", "claude", "--yes", "--program"])
            .arg(program)
            .args(scope)
            .current_dir(self.project());
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PORTCULLIS_HOME", state)
            .env("PATH", "/usr/bin:/bin");
        let output = command.output().context("cannot start `portcullis install`")?;
        ensure!(
            output.status.success(),
            "`portcullis install` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }

    /// Returns the settings file with our hooks.
    pub(crate) fn settings(&self, installed: Installed) -> Option<PathBuf> {
        match installed {
            Installed::Nowhere => None,
            Installed::Project => Some(self.project().join(".claude/settings.json")),
            Installed::User => Some(self.home().join(".claude/settings.json")),
            Installed::Managed => {
                Some(self.machine().join("claude-code/managed-settings.d/50-portcullis.json"))
            }
        }
    }

    /// Returns the folder of files that only the client sees in `/etc`.
    pub(crate) fn machine(&self) -> PathBuf {
        self.root.join("etc")
    }

    /// Removes the folders.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.root)
            .with_context(|| format!("cannot remove `{}`", self.root.display()))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(self.project())
            .args(arguments)
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().context("cannot start `git`: install it")?;
        ensure!(
            output.status.success(),
            "`git {}` failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
