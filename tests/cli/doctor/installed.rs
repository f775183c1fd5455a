//! A real installation in a scratch home: created by `install claude`, with some reviewed actions.

use crate::common::Ground;
use crate::common::process::{self, Ended};
use crate::common::reply::{Answer, Reply};
use crate::common::site::Site;
use crate::common::terminal;
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// An installation.
#[derive(Debug)]
pub struct Installed {
    site: Site,
}

impl Installed {
    /// Creates an installation by the program at `bin/portcullis`, and uses it once.
    pub fn new(name: &str) -> Result<Self> {
        let site = Site::new(name)?;
        fs::create_dir_all(site.person().join("bin"))?;
        let program = site.person().join("bin/portcullis");
        place(site.binary(), &program)?;
        let installed = Self { site: site.held_back()? };
        let ended =
            process::run(installed.command(&program, &["install", "claude", "--yes"]), b"", LIMIT)?;
        ensure!(ended.code == Some(0), "`install claude`: {}", ended.all());
        let reply = installed.hook(&installed.site.calls("before").bash("1", "ls"))?;
        ensure!(reply.answer == Answer::Quiet, "`ls` was not let through: {reply:?}");
        Ok(installed)
    }

    /// Returns the folders.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// Returns the program that the hooks start.
    pub fn program(&self) -> PathBuf {
        self.site.person().join("bin/portcullis")
    }

    /// Returns the client's settings file.
    pub fn settings(&self) -> PathBuf {
        self.site.person().join(".claude/settings.json")
    }

    /// Creates a command in the person's environment.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let from = self.site.command(arguments);
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.site.project()).env_clear();
        command.envs(from.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.site.as_its_user(&mut command);
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs our program from a path that no row breaks.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended> {
        process::run(self.command(&Ground::get()?.binary, arguments), b"", LIMIT)
    }

    /// Sends an event to the hook.
    pub fn hook(&self, event: &Value) -> Result<Reply> {
        let hook = self.command(&Ground::get()?.binary, &["hook", "claude"]);
        self.site.ask(
            hook,
            event["hook_event_name"].as_str().unwrap_or_default(),
            event.to_string().as_bytes(),
        )
    }

    /// Changes the settings of the client.
    pub fn edit(&self, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut settings: Value = serde_json::from_slice(&fs::read(self.settings())?)?;
        change(&mut settings);
        self.put(&self.settings(), serde_json::to_string_pretty(&settings)?)
    }

    /// Changes the handler of each event.
    pub fn edit_handlers(&self, mut change: impl FnMut(&mut Value)) -> Result<()> {
        self.edit(|settings| {
            let events = settings["hooks"].as_object_mut().into_iter().flatten();
            events.for_each(|(_, groups)| change(&mut groups[0]["hooks"][0]));
        })
    }

    /// Changes the handler of `PreToolUse`.
    pub fn edit_guard(&self, change: impl FnOnce(&mut Value)) -> Result<()> {
        self.edit(|settings| change(&mut settings["hooks"]["PreToolUse"][0]["hooks"][0]))
    }

    /// Writes a file that belongs to the person.
    pub fn put(&self, path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
        let folder = path.parent().ok_or_else(|| anyhow!("`{}` has no folder", path.display()))?;
        fs::create_dir_all(folder)?;
        fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        self.give_back()
    }

    /// Replaces a program by a script.
    pub fn script(&self, path: &Path, script: &str) -> Result<()> {
        let draft = self.site.root().join("draft");
        fs::write(&draft, format!("#!/bin/sh\n{script}\n"))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if path.exists() {
            fs::remove_file(path)?;
        }
        place(&draft, path)?;
        mode(path, 0o755)?;
        self.give_back()
    }

    /// Removes the journal; the next action starts a new one.
    pub fn begin_anew(&self) -> Result<()> {
        self.site.forget_journal()?;
        self.hook(&self.site.calls("again").bash("1", "ls"))?;
        Ok(())
    }

    /// Makes a person at a terminal run one of our commands, whose output must contain `says`.
    pub fn at_a_terminal(&self, arguments: &[&str], says: &str) -> Result<()> {
        self.site.at_a_terminal(arguments, terminal::Answer::Word, &[])?.ended(0, &[says])
    }

    /// Recovers a damaged journal as a person would.
    pub fn recover(&self) -> Result<()> {
        self.at_a_terminal(&["recover"], "a new journal was begun")
    }

    /// Returns the path of a file in the state.
    pub fn state(&self, name: &str) -> PathBuf {
        self.site.state().join(name)
    }

    /// Gives everything this process created to the person.
    pub fn give_back(&self) -> Result<()> {
        self.site.give_back()
    }
}

/// Copies a program in a separate process: a file that this process had open for writing could not
/// be started while a child forked by another thread still has it open.
fn place(from: &Path, to: &Path) -> Result<()> {
    let ended = Command::new("/bin/cp").arg(from).arg(to).status()?;
    ensure!(ended.success(), "cannot copy `{}`", from.display());
    Ok(())
}

/// Sets a mode.
pub fn mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of `{}`", path.display()))
}
