//! Hooks that hold an action, and the terminal of a person who watches.

use crate::common::process;
use crate::common::reply::{self, Reply};
use crate::common::site::{LIMIT, Site, lines, name_of};
use crate::common::terminal::Session;
use anyhow::{Result, anyhow, bail};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A command that is asked about, and is not critical.
pub const DOUBTFUL: &str = "crontab -r";

/// A site with the hooks of a client that does not ask.
pub struct Place {
    pub site: Site,
}

/// A hook that runs.
pub struct HeldHook(JoinHandle<Result<Reply>>);

impl Place {
    pub fn new(name: &str, config: &str) -> Result<Self> {
        let site = Site::new(name)?;
        let usual = "approvals.wait_seconds = 60\n";
        site.write("config.toml", if config.is_empty() { usual } else { config })?;
        Ok(Self { site })
    }

    /// Opens a terminal on which a person watches.
    pub fn watch(&self) -> Result<Session> {
        let mut watch = self.site.open_terminal(&["approvals", "watch"])?;
        watch.await_text("Watching")?;
        Ok(watch)
    }

    /// Starts a hook before a command, whose client leaves time for an answer.
    pub fn hold(&self, session: &str, id: &str, command: &str) -> Result<HeldHook> {
        self.hold_for(300, session, id, command)
    }

    /// Does the same for a client that waits that many seconds for the hook.
    pub fn hold_for(
        &self,
        timeout: u64,
        session: &str,
        id: &str,
        command: &str,
    ) -> Result<HeldHook> {
        let event = self.site.calls(session).bash(id, command);
        let timeout = timeout.to_string();
        let hook = self.site.command(&["hook", "codex", "--timeout", &timeout]);
        Ok(HeldHook(thread::spawn(move || {
            let ended = process::run(hook, event.to_string().as_bytes(), LIMIT * 2)?;
            reply::read(name_of(&event), &ended)
        })))
    }

    /// Sends an event to the hook of an older installation.
    pub fn send(&self, event: &Value) -> Result<Reply> {
        let hook = self.site.command(&["hook", "codex"]);
        self.site.ask(hook, name_of(event), event.to_string().as_bytes())
    }

    /// Returns what the journal says about the questions of a session, in order.
    pub fn answers(&self, session: &str) -> Result<Vec<String>> {
        let records = self.site.shown(&["--session", session, "--kind", "exception"])?;
        let answer = |record: &Value| record["details"]["answer"].as_str().map(str::to_owned);
        Ok(records.iter().filter_map(answer).collect())
    }
}

impl HeldHook {
    /// Waits for the hook's answer.
    pub fn reply(self) -> Result<Reply> {
        self.0.join().map_err(|_| anyhow!("the hook's thread panicked"))?
    }
}

/// Waits until that many actions wait.
pub fn await_waiting(site: &Site, count: usize) -> Result<Vec<Value>> {
    let begun = Instant::now();
    loop {
        let found = lines(&site.output(&["approvals", "list", "--json"])?)?;
        if found.len() == count {
            return Ok(found);
        }
        if begun.elapsed() > LIMIT {
            bail!("{count} should wait, but these do: {found:?}");
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Writes a shell script.
pub fn write_program(path: &Path, text: &str) -> Result<()> {
    fs::write(path, format!("#!/bin/sh\n{text}\n"))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
}

/// Waits for a file, and returns its text.
pub fn await_file(path: &Path) -> Result<String> {
    let begun = Instant::now();
    while !path.exists() {
        if begun.elapsed() > LIMIT {
            bail!("`{}` does not come", path.display());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(fs::read_to_string(path)?)
}
