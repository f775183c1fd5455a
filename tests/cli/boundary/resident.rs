//! The units that an installation writes for a user's own service: a real systemd runs them.

use super::machine::wait_for;
use crate::common::calls::Calls;
use crate::common::process::{self, Ended};
use crate::common::site::LIMIT;
use crate::common::{Ground, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_tests::compiled::copy_state;
use portcullis_tests::terminal::{Answer, converse, script};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const UNITS: [&str; 2] = ["portcullis.service", "portcullis.socket"];
/// A folder that says that the machine runs systemd, which a user's refuses to start without.
const BOOTED: &str = "/run/systemd/system";
const RUNTIME: &str = "/run/user/0";

/// A test's name and what it does for a person.
type Row = (&'static str, fn(&Person) -> Result<()>);

pub fn trials() -> Vec<Trial> {
    let rows: [Row; 6] = [
        ("an installation sets the service up, and takes it back", sets_up),
        ("what was there before comes back", restores),
        ("what was changed since stays", leaves_changed),
        ("a service that does not start changes nothing", takes_back),
        ("a unit that cannot be written changes nothing", keeps_all),
        ("without systemd only the hooks are installed", without_manager),
    ];
    let trials = rows
        .into_iter()
        .map(|(name, test)| trial(format!("units: {name}"), move || test(&Person::new()?)));
    trials.collect()
}

/// A person whose systemd runs, with programs of their own.
struct Person {
    folder: PathBuf,
    manager: Child,
}

impl Person {
    fn new() -> Result<Self> {
        let ground = Ground::get()?;
        let folder = PathBuf::from("/home/person");
        for old in [Path::new("/etc/portcullis"), Path::new(RUNTIME), &folder] {
            let _absent = fs::remove_dir_all(old);
        }
        for made in [BOOTED.as_ref(), RUNTIME.as_ref(), folder.join("project").as_path()] {
            fs::create_dir_all(made)?;
        }
        fs::set_permissions(RUNTIME, Permissions::from_mode(0o700))?;
        fs::create_dir(folder.join("bin"))?;
        for program in ["portcullis", "portcullis-hook"] {
            fs::copy(ground.root.join(program), folder.join("bin").join(program))?;
        }
        copy_state(&ground.warm, &folder.join("state"))?;
        let mut manager = Command::new("/lib/systemd/systemd");
        manager.args(["--user", "--log-target=console"]).env_clear().env("HOME", &folder);
        manager.env("XDG_RUNTIME_DIR", RUNTIME).env("PATH", "/usr/bin:/bin");
        manager.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let manager = manager.spawn().context("cannot start a user's systemd")?;
        let person = Self { folder, manager };
        wait_for("systemd does not answer", || {
            Ok(person.systemctl(&["is-system-running"])?.text().trim() == "running")
        })?;
        Ok(person)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.join("project")).env_clear();
        command.env("HOME", &self.folder).env("PORTCULLIS_HOME", self.folder.join("state"));
        command.env("XDG_RUNTIME_DIR", RUNTIME).env("PATH", "/usr/bin:/bin");
        command
    }

    fn program(&self, name: &str) -> String {
        self.folder.join("bin").join(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Result<Ended> {
        process::run(self.command(&self.program("portcullis"), arguments), b"", LIMIT)
    }

    fn install(&self) -> Result<Ended> {
        self.run(&["install", "claude", "--service", "--yes"])
    }

    /// Uninstalls as a person who types the word.
    fn uninstall(&self) -> Result<String> {
        let program = self.program("portcullis");
        let words = [&program, "uninstall", "claude", "--service"].map(str::to_owned);
        let usual = self.command(&program, &[]);
        let mut script = script(&words);
        script.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.env("TERM", "dumb").env("SHELL", "/bin/sh");
        script.current_dir(self.folder.join("project"));
        let shown = converse(script, Answer::Word)?;
        shown.ended(0, &["uninstalled"])?;
        Ok(shown.text)
    }

    fn systemctl(&self, arguments: &[&str]) -> Result<Ended> {
        let words = [&["--user"][..], arguments].concat();
        process::run(self.command("systemctl", &words), b"", LIMIT)
    }

    fn is_active(&self, unit: &str) -> Result<bool> {
        Ok(self.systemctl(&["is-active", unit])?.text().trim() == "active")
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.folder.join(".config/systemd/user").join(name)
    }

    /// Lets the agent try a grave action through its hook; returns the number of events that the
    /// service has reviewed.
    fn try_grave_action(&self, id: &str) -> Result<u64> {
        let hook = self.command(&self.program("portcullis-hook"), &["hook", "claude"]);
        let event = Calls::new("of-person", &self.folder.join("project")).bash(id, "rm -rf /");
        let ended = process::run(hook, event.to_string().as_bytes(), LIMIT)?;
        ensure!(ended.code == Some(2), "`rm -rf /` was not refused: {}", ended.all());
        let status: serde_json::Value =
            serde_json::from_str(&self.run(&["serve", "--status", "--json"])?.text())?;
        status["reviewed"].as_u64().context("no count")
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // It ends its services first.
        let _ended = self.systemctl(&["exit"]);
        let _ended = wait_for("systemd does not end", || Ok(self.manager.try_wait()?.is_some()));
        let _ended = self.manager.kill();
        let _ended = self.manager.wait();
    }
}

fn says(ended: &Ended, words: &str) -> Result<()> {
    let all = ended.all();
    ensure!(ended.code == Some(0) && all.contains(words), "it does not say `{words}`: {all}");
    Ok(())
}

fn sets_up(person: &Person) -> Result<()> {
    let shown = person.run(&["install", "claude", "--service", "--dry-run"])?;
    says(&shown, "+ExecStart=")?;
    ensure!(!person.folder.join(".config").exists(), "a dry run has written");
    says(&person.install()?, "systemd runs the resident service now")?;
    for unit in UNITS {
        ensure!(person.is_active(unit)?, "{unit} does not run");
    }
    ensure!(person.try_grave_action("c1")? == 1, "the service did not review");
    // The socket stays, and starts the service again.
    person.systemctl(&["stop", "portcullis.service"])?;
    ensure!(!person.is_active("portcullis.service")?, "it was not stopped");
    ensure!(person.try_grave_action("c2")? == 1, "the service was not started");
    says(&person.install()?, "already installed")?;
    ensure!(person.try_grave_action("c3")? == 2, "another service runs");
    let shown = person.run(&["uninstall", "claude", "--dry-run"])?;
    says(&shown, "--service removes its units")?;
    person.uninstall()?;
    for unit in UNITS {
        ensure!(!person.is_active(unit)?, "{unit} still runs");
    }
    ensure!(!person.folder.join(".config").exists(), "the installation has left something");
    ensure!(!person.folder.join(".claude/settings.json").exists(), "the hooks are still there");
    Ok(())
}

fn restores(person: &Person) -> Result<()> {
    let own = "[Unit]\nDescription=mine\n\n[Service]\nExecStart=/bin/true\n";
    let unit = person.unit("portcullis.service");
    fs::create_dir_all(unit.parent().context("no folder")?)?;
    fs::write(&unit, own)?;
    says(&person.install()?, "the previous file is kept")?;
    ensure!(fs::read_to_string(&unit)?.contains("Type=notify"), "it was not written");
    person.uninstall()?;
    ensure!(fs::read_to_string(&unit)? == own, "it is another text than before");
    ensure!(!person.unit("portcullis.socket").exists(), "the socket's unit is still there");
    Ok(())
}

fn leaves_changed(person: &Person) -> Result<()> {
    says(&person.install()?, "systemd runs")?;
    let unit = person.unit("portcullis.service");
    let changed = format!("{}# mine\n", fs::read_to_string(&unit)?);
    fs::write(&unit, &changed)?;
    let shown = person.uninstall()?;
    ensure!(shown.contains("was changed since the installation"), "{shown}");
    ensure!(fs::read_to_string(&unit)? == changed, "it has changed");
    Ok(())
}

fn takes_back(person: &Person) -> Result<()> {
    // Somebody else holds the socket's place.
    fs::create_dir(person.folder.join("state/service.sock"))?;
    let failed = person.install()?;
    ensure!(failed.code == Some(1), "it did not fail: {}", failed.all());
    ensure!(failed.stderr.contains("systemctl --user"), "{}", failed.all());
    for unit in UNITS {
        ensure!(!person.unit(unit).exists(), "{unit} is still there");
    }
    ensure!(!person.folder.join(".claude/settings.json").exists(), "the hooks were installed");
    Ok(())
}

fn keeps_all(person: &Person) -> Result<()> {
    let (service, socket) = (person.unit("portcullis.service"), person.unit("portcullis.socket"));
    fs::create_dir_all(socket.parent().context("no folder")?)?;
    fs::write(&socket, "[Socket]\n")?;
    fs::set_permissions(&socket, Permissions::from_mode(0o444))?;
    let failed = person.install()?;
    ensure!(failed.code == Some(1), "it did not fail: {}", failed.all());
    ensure!(failed.stderr.contains("is read-only"), "{}", failed.all());
    ensure!(!service.exists(), "the first unit is still there");
    ensure!(fs::read_to_string(&socket)? == "[Socket]\n", "the second has changed");
    ensure!(!person.folder.join(".claude/settings.json").exists(), "the hooks were installed");
    Ok(())
}

fn without_manager(person: &Person) -> Result<()> {
    let mut command =
        person.command(&person.program("portcullis"), &["install", "claude", "--service", "--yes"]);
    command.env("XDG_RUNTIME_DIR", "/run/nobody");
    says(&process::run(command, b"", LIMIT)?, "start `portcullis serve` yourself")?;
    ensure!(!person.folder.join(".config").exists(), "it wrote units");
    ensure!(person.folder.join(".claude/settings.json").exists(), "the hooks are missing");
    Ok(())
}
