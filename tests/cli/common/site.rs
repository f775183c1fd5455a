//! The folders of one test: a project, a person's home, and the state.

use super::Ground;
use super::calls::Calls;
use super::process::{self, Ended};
use super::reply::{self, Answer, Reply};
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_tests::compiled::copy_state;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The timeout of our own commands.
pub const LIMIT: Duration = Duration::from_secs(120);

/// An unprivileged user who owns nothing else.
pub const NOBODY: u32 = 65_534;

/// One test's folders, which are removed when dropped.
#[derive(Debug)]
pub struct Site {
    root: PathBuf,
    binary: PathBuf,
    user: Option<u32>,
}

impl Site {
    /// Creates folders with a warm home: compiled plugins, no journal.
    pub fn new(name: &str) -> Result<Self> {
        let ground = Ground::get()?;
        let root = ground.root.join(name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        for folder in ["project", "person"] {
            fs::create_dir_all(root.join(folder))
                .with_context(|| format!("cannot make `{}`", root.display()))?;
        }
        let site = Self { root, binary: ground.binary.clone(), user: None };
        copy_state(&ground.warm, &site.state())?;
        Ok(site)
    }

    /// Makes everything belong to, and run as, a user who is restricted by permissions: the current
    /// one, or nobody if it is root.
    pub fn held_back(mut self) -> Result<Self> {
        if fs::metadata(&self.root)?.uid() == 0 {
            give_away(&self.root)?;
            self.user = Some(NOBODY);
        }
        Ok(self)
    }

    /// Returns the folder of state and configuration.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Returns the agent's working folder.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns the folder that contains all of it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder for `~`.
    pub fn person(&self) -> PathBuf {
        self.root.join("person")
    }

    /// Returns the path of the binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Creates calls of a client in this project.
    pub fn calls(&self, session: &str) -> Calls {
        Calls::new(session, &self.project())
    }

    /// Creates a command of our binary in a minimal environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.project()).env_clear();
        command
            .env("HOME", self.person())
            .env("PORTCULLIS_HOME", self.state())
            .env("TMPDIR", &self.root);
        self.as_its_user(&mut command);
        command
    }

    /// Makes a program run as the owner of the site.
    pub fn as_its_user(&self, command: &mut Command) {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
    }

    /// Gives everything this process created in the folders to the owner of the site.
    pub fn give_back(&self) -> Result<()> {
        if self.user.is_some() { give_away(&self.root) } else { Ok(()) }
    }

    /// Gives a test's file to the owner of the site.
    pub fn give(&self, path: &Path) -> Result<()> {
        if self.user.is_some() { give_away(path) } else { Ok(()) }
    }

    /// Runs one of our commands.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended> {
        process::run(self.command(arguments), b"", LIMIT)
    }

    /// Runs one of our commands with this input.
    pub fn feed(&self, arguments: &[&str], input: &[u8]) -> Result<Ended> {
        process::run(self.command(arguments), input, LIMIT)
    }

    /// Runs one of our commands, which must succeed, and returns its standard output.
    pub fn output(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.run(arguments)?;
        ensure!(ended.code == Some(0), "`portcullis {}`: {}", arguments.join(" "), ended.all());
        Ok(ended.text())
    }

    /// Sends an event to the hook and parses the answer as the client would.
    pub fn hook(&self, event: &Value) -> Result<Reply> {
        self.ask(self.command(&["hook", "claude"]), name_of(event), event.to_string().as_bytes())
    }

    /// Sends bytes to a command that is a hook.
    pub fn ask(&self, hook: Command, event: &str, input: &[u8]) -> Result<Reply> {
        let ended = process::run(hook, input, LIMIT)?;
        reply::read(event, &ended)
    }

    /// Performs an ordinary action, to which nothing objects.
    pub fn ordinary(&self, session: &str) -> Result<()> {
        let reply = self.hook(&self.calls(session).bash("ordinary", "ls"))?;
        ensure!(
            reply.answer == Answer::Quiet,
            "the next ordinary action was not let through: {reply:?}"
        );
        Ok(())
    }

    /// Returns all records, oldest first.
    pub fn records(&self) -> Result<Vec<Value>> {
        self.shown(&[])
    }

    /// Returns the records that `audit show` finds with those arguments.
    pub fn shown(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let all = [&["audit", "show", "--json", "--limit", "1000000"], arguments].concat();
        lines(&self.output(&all)?)
    }

    /// Checks the journal's chain.
    pub fn verify(&self) -> Result<()> {
        let text = self.output(&["audit", "verify"])?;
        ensure!(text.contains("the chain holds"), "`audit verify` said `{}`", text.trim());
        Ok(())
    }

    /// Writes a file of the state.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        let path = self.state().join(name);
        let folder = path.parent().ok_or_else(|| anyhow!("`{name}` has no folder"))?;
        fs::create_dir_all(folder)?;
        fs::write(&path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Removes everything of the journal, as if there never had been one.
    pub fn forget_journal(&self) -> Result<()> {
        self.forget(&["journal.db", "journal.db-wal", "journal.db-shm", "journal.mark"])
    }

    /// Removes the database; the home knows that there was one.
    pub fn forget_database(&self) -> Result<()> {
        self.forget(&["journal.db", "journal.db-wal", "journal.db-shm"])
    }

    fn forget(&self, names: &[&str]) -> Result<()> {
        for name in names {
            let path = self.state().join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&path)?,
                Ok(_) => fs::remove_file(&path)?,
                Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A leftover is removed with the shared folder.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Parses JSON Lines.
pub fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON")))
        .collect()
}

/// Returns the event's name.
pub fn name_of(event: &Value) -> &str {
    event.get("hook_event_name").and_then(Value::as_str).unwrap_or_default()
}

fn give_away(path: &Path) -> Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY))
        .with_context(|| format!("cannot give `{}` away", path.display()))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give_away(&entry?.path())?;
        }
    }
    Ok(())
}
