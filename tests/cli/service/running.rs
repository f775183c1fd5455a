//! A running service, and who may use it.

use crate::common::process::{self, Ended};
use crate::common::site::{LIMIT, NOBODY, Site};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A service that ends with the test.
pub struct Running {
    pub child: Child,
}

impl Running {
    /// Starts a service for a site, and waits until it answers.
    pub fn start(site: &Site) -> Result<Self> {
        let mut command = site.command(&["serve", "--json"]);
        command.stdin(Stdio::null());
        Self::start_command(command)
    }

    /// Starts a service by a command, and waits until it answers.
    pub fn start_command(mut command: Command) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the service")?;
        let stdout = child.stdout.take().ok_or_else(|| anyhow!("it has no output"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let mut running = Self { child };
        if !line.contains("service.sock") {
            // It may have ended with an error, which says more than the missing line.
            running.child.kill()?;
            let mut error = String::new();
            running.child.stderr.take().context("no stderr")?.read_to_string(&mut error)?;
            bail!("it did not say where it answers: {line:?} {error}");
        }
        Ok(running)
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = i32::try_from(self.child.id())?;
        kill_process(Pid::from_raw(id).ok_or_else(|| anyhow!("no process"))?, signal)?;
        Ok(())
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> Result<Option<i32>> {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            ensure!(Instant::now() < deadline, "the service did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the small hook with these arguments, in the environment of the site's other commands.
pub fn small_hook(site: &Site, arguments: &[&str]) -> Command {
    let usual = site.command(arguments);
    let mut command = Command::new(site.binary().with_file_name("portcullis-hook"));
    command.args(arguments).current_dir(site.project()).env_clear();
    for (name, value) in usual.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    site.as_its_user(&mut command);
    command
}

/// Sends an event to the small hook of Claude Code.
pub fn ask(site: &Site, input: &[u8]) -> Result<Ended> {
    process::run(small_hook(site, &["hook", "claude"]), input, LIMIT)
}

/// The number of events that the service reviewed, by its own account.
pub fn reviewed(site: &Site) -> Result<u64> {
    let status: serde_json::Value =
        serde_json::from_str(&site.output(&["serve", "--status", "--json"])?)?;
    status["reviewed"].as_u64().ok_or_else(|| anyhow!("no count in {status}"))
}

pub fn one_for_a_home() -> Result<()> {
    let site = Site::new("one-service")?;
    let none = site.run(&["serve", "--status"])?;
    ensure!(none.code == Some(1) && none.stderr.contains("no service runs"), "{}", none.all());
    let _running = Running::start(&site)?;
    let second = site.run(&["serve"])?;
    ensure!(second.code == Some(1), "{}", second.all());
    ensure!(second.stderr.contains("another service runs"), "{}", second.all());
    ensure!(reviewed(&site)? == 0, "it has reviewed something");
    // The refused one must not have taken the socket away.
    ask(&site, site.calls("one").bash("c1", "ls").to_string().as_bytes())?;
    ensure!(reviewed(&site)? == 1, "the service did not review");
    Ok(())
}

/// `doctor` says nothing of a service that is not set up, tells one that answers, and warns of one
/// that does not and of the reviews that were made without it.
pub fn seen_by_doctor() -> Result<()> {
    let site = Site::new("service-doctor")?;
    let call = |id: &str| site.calls("doctor").bash(id, "ls").to_string();
    ask(&site, call("c1").as_bytes())?;
    let finding = || -> Result<Vec<(String, String)>> {
        let report: serde_json::Value =
            serde_json::from_str(&site.run(&["doctor", "--json"])?.text())?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let of_service = findings.into_iter().filter(|finding| finding["check"] == "service");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Ok(of_service.map(|finding| (text(&finding["level"]), finding.to_string())).collect())
    };
    ensure!(finding()?.is_empty(), "{:?}", finding()?);
    let mut running = Running::start(&site)?;
    ask(&site, call("c2").as_bytes())?;
    let found = finding()?;
    ensure!(found.len() == 1 && found[0].0 == "ok", "{found:?}");
    ensure!(found[0].1.contains("1 event reviewed"), "{found:?}");
    running.child.kill()?;
    running.child.wait()?;
    ask(&site, call("c3").as_bytes())?;
    let found = finding()?;
    ensure!(found.len() == 2 && found.iter().all(|(level, _)| level == "warning"), "{found:?}");
    for part in ["nobody serves", "1 review of the last day", "cannot connect"] {
        ensure!(found.iter().any(|(_, text)| text.contains(part)), "no {part:?}: {found:?}");
    }
    Ok(())
}

pub fn ends() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT] {
        let site = Site::new(&format!("ends-{}", signal.as_raw()))?;
        let mut running = Running::start(&site)?;
        let socket = site.state().join("service.sock");
        let event = site.calls("ends").bash("c1", "rm -rf /").to_string();
        let before = ask(&site, event.as_bytes())?;
        running.signal(signal)?;
        ensure!(running.ended()? == Some(0), "it failed");
        ensure!(!socket.exists(), "it left its socket");
        let after = ask(&site, event.as_bytes())?;
        ensure!(before.code == Some(2) && after.code == Some(2), "{}", after.all());
        let mut again = Running::start(&site)?;
        // Whoever removes the state does not keep the service from ending.
        remove_in_use(&site.state())?;
        again.signal(signal)?;
        ensure!(again.ended()? == Some(0), "it failed without its state");
    }
    Ok(())
}

/// Removes a folder that somebody may still write to.
fn remove_in_use(folder: &Path) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                ensure!(Instant::now() < deadline, "it is written to again and again");
            }
            ended => return Ok(ended?),
        }
    }
}

pub fn other_users() -> Result<()> {
    let site = Site::new("other-users")?.held_back()?;
    if rustix::process::getuid().as_raw() != 0 {
        // Only the superuser can get past the folder of somebody else's socket.
        return Ok(());
    }
    let _running = Running::start(&site)?;
    let mut stream = UnixStream::connect(site.state().join("service.sock"))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut answer = Vec::new();
    // The service may close the connection before our bytes arrive, or with our bytes unread.
    let _ = stream.write_all(b"PCH\x01\x01\0\0\0s");
    let _ = stream.read_to_end(&mut answer);
    ensure!(answer.is_empty(), "user 0 got {answer:?} from a service of user {NOBODY}");
    let own = ask(&site, site.calls("own").bash("c1", "ls").to_string().as_bytes())?;
    ensure!(own.code == Some(0), "{}", own.all());
    ensure!(reviewed(&site)? == 1, "its own user was not served");
    Ok(())
}
