//! A service whose socket systemd has bound, and the units that it prints.

use super::running::{Running, ask, reviewed};
use crate::common::process;
use crate::common::site::{LIMIT, Site};
use anyhow::{Result, ensure};
use rustix::process::Signal;
use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Command;

/// Passes on its standard input as the first descriptor of a manager's.
const PASS: &str = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$@\"";

/// Returns a command that starts a service as systemd does, with a socket that is bound.
fn activated(site: &Site, listener: &UnixListener) -> Result<Command> {
    let usual = site.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", PASS, "sh"]).arg(site.binary()).args(["serve", "--json"]);
    command.current_dir(site.project()).env_clear().env("PATH", "/usr/bin:/bin");
    for (name, value) in usual.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.stdin(OwnedFd::from(listener.try_clone()?));
    Ok(command)
}

fn bind(path: &Path) -> Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub fn inherited() -> Result<()> {
    let site = Site::new("activated")?;
    let socket = site.state().join("service.sock");
    let listener = bind(&socket)?;
    let manager = site.root().join("notify");
    let notified = UnixDatagram::bind(&manager)?;
    notified.set_read_timeout(Some(LIMIT))?;
    // An event from before the service waits in the socket. The second service takes over the
    // socket that the first has left.
    for id in ["c1", "c2"] {
        let mut command = activated(&site, &listener)?;
        command.env("NOTIFY_SOCKET", &manager);
        let mut running = Running::start_command(command)?;
        let mut word = [0; 64];
        let length = notified.recv(&mut word)?;
        ensure!(&word[..length] == b"READY=1", "it said {:?}", &word[..length]);
        let refused = ask(&site, site.calls("on").bash(id, "rm -rf /").to_string().as_bytes())?;
        ensure!(refused.code == Some(2), "{}", refused.all());
        ensure!(reviewed(&site)? == 1, "the service did not review");
        running.signal(Signal::TERM)?;
        ensure!(running.ended()? == Some(0), "it failed");
        ensure!(socket.exists(), "it removed the socket of the manager");
    }
    let records = site.records()?;
    let by_service = records.iter().all(|record| !record.to_string().contains("without_service"));
    ensure!(by_service, "a hook has reviewed by itself: {records:?}");
    Ok(())
}

pub fn bound_elsewhere() -> Result<()> {
    let site = Site::new("activated-elsewhere")?;
    let listener = bind(&site.root().join("other.sock"))?;
    let ended = process::run_with_its_input(activated(&site, &listener)?, LIMIT)?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    ensure!(ended.stderr.contains("bound already is not"), "{}", ended.all());
    Ok(())
}
