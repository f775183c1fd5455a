//! What an agent tries with the files, processes and commands that its user has.

use super::machine::{
    BOUNDARY_FILE, Machine, SOCKET, STATE, Test, User, wait_for, write_root_file,
};
use crate::common::process;
use crate::common::site::LIMIT;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const ROWS: &[(&str, Test)] = &[
    ("an agent reads nothing that the service keeps", read_state),
    ("an agent changes nothing that the service keeps", change_state),
    ("an agent gives itself no permission by a command", own_permission),
    ("an agent does not end the service", end_service),
    ("a socket at the place of the user's own service is not asked", own_socket),
    ("an agent puts no socket at the place of the boundary's", boundary_socket),
    ("without the service, hooks refuse", without_service),
    ("where the service is killed, nothing runs unreviewed", killed),
    ("no configuration of the user counts", own_configuration),
    ("a boundary that others could have written refuses", foreign_boundary),
];

/// Runs lines of a shell as the agent, each of which must fail.
fn all_fail(machine: &Machine, lines: &[String]) -> Result<()> {
    for line in lines {
        let ended = machine.agent.shell(line)?;
        ensure!(ended.code != Some(0), "`{line}` succeeded: {}", ended.all());
    }
    Ok(())
}

/// The bytes and the owner of everything that the service keeps durably for its users.
fn kept(machine: &Machine) -> Result<Vec<(String, u32, Vec<u8>)>> {
    let mut found = Vec::new();
    for user in [&machine.agent, &machine.other] {
        for name in ["key", "journal.db", "journal.mark"] {
            let path = user.state().join(name);
            let shown = path.display().to_string();
            // The journal of a user without a review does not exist.
            if let Ok(metadata) = fs::metadata(&path) {
                found.push((shown, metadata.uid(), fs::read(&path)?));
            }
        }
    }
    for path in [BOUNDARY_FILE, "/etc/portcullis/config.toml"] {
        found.push((path.to_owned(), fs::metadata(path)?.uid(), fs::read(path)?));
    }
    Ok(found)
}

fn read_state(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.agent)?;
    machine.reviews(&machine.other)?;
    let own = machine.agent.state().display().to_string();
    let foreign = machine.other.state().display().to_string();
    let mut lines = vec![format!("ls {STATE}"), format!("cat {STATE}/key"), format!("cd {STATE}")];
    for state in [own, foreign] {
        lines.extend([
            format!("ls {state}"),
            format!("cat {state}/key"),
            format!("cat {state}/journal.db"),
            format!("test -e {state}/journal.db"),
            format!("cp -r {state} ."),
            format!("ln {state}/journal.db copy.db"),
            format!("ln -s {state}/key link && cat link"),
            format!("cat {state}/cache/*"),
        ]);
    }
    let id = machine.service_id()?;
    lines.extend([
        format!("cat /proc/{id}/mem"),
        format!("cat /proc/{id}/environ"),
        format!("ls /proc/{id}/fd"),
        format!("ls /proc/{id}/root{STATE}"),
    ]);
    all_fail(machine, &lines)
}

fn change_state(machine: &mut Machine) -> Result<()> {
    write_root_file("/etc/portcullis/config.toml", "")?;
    machine.reviews(&machine.agent)?;
    machine.reviews(&machine.other)?;
    let before = kept(machine)?;
    ensure!(before.len() >= 6, "there is nothing to change: {before:?}");
    let mut lines = vec![
        format!("rm -rf {STATE}"),
        format!("mv {STATE} {STATE}-old"),
        format!("mkdir {STATE}/users/new"),
        format!("chmod 777 {STATE}"),
        format!("rm -f {BOUNDARY_FILE}; test ! -e {BOUNDARY_FILE}"),
        format!("echo > {BOUNDARY_FILE}"),
        "echo mode = '\"observe\"' > /etc/portcullis/config.toml".to_owned(),
        format!("mkdir -p /etc/portcullis/users/{}", machine.agent.id),
        "mv /etc/portcullis /etc/other".to_owned(),
    ];
    for state in [machine.agent.state(), machine.other.state()] {
        let state = state.display();
        lines.extend([
            format!("rm -rf {state}"),
            format!("echo x >> {state}/journal.db"),
            format!("echo x > {state}/key"),
            format!("touch {state}/pause"),
            format!("truncate -s 0 {state}/journal.db"),
            format!("mv {state} /tmp/gone"),
        ]);
    }
    all_fail(machine, &lines)?;
    ensure!(kept(machine)? == before, "something has changed");
    machine.reviews(&machine.agent)?;
    machine.refuses(&machine.agent)
}

/// Commands that only a person may run, with the folders of the service and without.
fn own_permission(machine: &mut Machine) -> Result<()> {
    machine.refuses(&machine.agent)?;
    let before = machine.records(&machine.agent)?.len();
    let (agent, program) = (&machine.agent, machine.programs.join("portcullis"));
    let (program, state) = (program.display(), agent.state());
    let (there, shown) = (format!("--state {}", state.display()), state.display().to_string());
    agent.write(&agent.project().join("yes.txt"), &"yes\nallow\n".repeat(9))?;
    let commands = [
        "allow last",
        "approvals list",
        "approvals allow abcdefgh",
        "pause --for 1h",
        "recover",
        "incident list",
        "undo",
        "audit show",
        "explain last",
        "trust",
        "notifications list",
        "quarantine list",
        "open",
    ];
    for command in commands {
        for folder in ["", there.as_str()] {
            for input in ["</dev/null", "<yes.txt"] {
                let line = format!("{program} {command} {folder} {input}");
                let ended = agent.shell(&line)?;
                ensure!(ended.code != Some(0), "`{line}` succeeded: {}", ended.all());
                let reason = match (folder, command) {
                    ("", _) => "--of-user",
                    (_, "open") => "only root and `portcullis` get a link",
                    _ => &*shown,
                };
                ensure!(ended.stderr.contains(reason), "`{line}`: {}", ended.all());
            }
        }
    }
    for line in [
        format!("{program} serve --boundary"),
        format!("{program} maintain {there}"),
        format!("{program} serve {there}"),
    ] {
        let ended = agent.shell(&line)?;
        ensure!(ended.code != Some(0), "`{line}` succeeded: {}", ended.all());
    }
    let after = machine.records(&machine.agent)?.len();
    ensure!(after == before, "{before} records became {after}");
    machine.refuses(&machine.agent)
}

fn end_service(machine: &mut Machine) -> Result<()> {
    let id = machine.service_id()?;
    let lines = ["KILL", "TERM", "STOP", "XFSZ"].map(|signal| format!("kill -s {signal} {id}"));
    all_fail(machine, &lines)?;
    ensure!(machine.serves()?, "the service has ended");
    machine.reviews(&machine.agent)
}

/// A service that answers everything with consent: a frame with an answer of exit code 0.
const YES_MAN: &str = "
import os, socket, sys
path = sys.argv[1]
os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
door = socket.socket(socket.AF_UNIX)
door.bind(path)
os.chmod(path, 0o600)
door.listen()
print('ready', flush=True)
while True:
    link, _ = door.accept()
    with open(path + '.asked', 'w') as asked:
        asked.write('yes')
    link.sendall(b'PCH\\x01' + (25).to_bytes(4, 'little') + b'a' + bytes(24))
    link.close()
";

fn start_yes_man(user: &User, path: &str) -> Result<Child> {
    let mut command = user.command("python3");
    command.args(["-c", YES_MAN, path]).stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.spawn().context("cannot start python3")?;
    wait_for("no socket appears", || Ok(fs::symlink_metadata(path).is_ok()))?;
    Ok(child)
}

fn own_socket(machine: &mut Machine) -> Result<()> {
    let home = machine.agent.home();
    let places = [home.join(".local/state/portcullis"), home.join("elsewhere")];
    let sockets = places.clone().map(|folder| folder.join("service.sock").display().to_string());
    let mut children = Vec::new();
    for socket in &sockets {
        children.push(start_yes_man(&machine.agent, socket)?);
    }
    let result = ask_beside(machine, &places[1].display().to_string());
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    result?;
    for socket in sockets {
        let asked = format!("{socket}.asked");
        ensure!(fs::metadata(&asked).is_err(), "a hook has asked `{socket}`");
    }
    Ok(())
}

/// Has a grave action reviewed by both hooks, with variables and folders that lead elsewhere.
fn ask_beside(machine: &Machine, elsewhere: &str) -> Result<()> {
    let event = machine.agent.calls("beside").bash("c1", "rm -rf /").to_string();
    for program in ["portcullis-hook", "portcullis"] {
        for pins in [&[][..], &["--state", elsewhere], &["--config", elsewhere]] {
            let mut hook = machine.hook(&machine.agent, program);
            hook.args(pins).env("PORTCULLIS_HOME", elsewhere).env("XDG_STATE_HOME", elsewhere);
            let ended = process::run(hook, event.as_bytes(), LIMIT)?;
            ensure!(ended.code == Some(2), "{program} {pins:?}: {}", ended.all());
        }
    }
    let records = machine.records(&machine.agent)?.len();
    ensure!(records >= 6, "only {records} records are in the journal of the service");
    Ok(())
}

fn boundary_socket(machine: &mut Machine) -> Result<()> {
    let lines = [
        format!("rm -f {SOCKET}; test ! -e {SOCKET}"),
        format!("mv {SOCKET} /tmp/gone"),
        "mv /run/portcullis /run/other".to_owned(),
        format!("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('{SOCKET}.new')\""),
        format!("ln -s /tmp/own {SOCKET}.new"),
    ];
    all_fail(machine, &lines)?;
    machine.reviews(&machine.agent)?;
    // Nor where root has put up nothing yet, and nor where root's folder is open to others.
    machine.kill_service()?;
    all_fail(machine, &lines)?;
    fs::remove_file(SOCKET)?;
    Command::new("chmod").args(["1777", "/run/portcullis"]).status()?;
    let mut child = start_yes_man(&machine.agent, SOCKET)?;
    let asked = machine.ask(&machine.other, &machine.other.calls("trap").bash("c1", "rm -rf /"));
    child.kill()?;
    child.wait()?;
    let asked = asked?;
    ensure!(asked.code == Some(2), "{}", asked.all());
    ensure!(asked.stderr.contains("can be changed by other users"), "{}", asked.all());
    Ok(())
}

fn without_service(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.agent)?;
    machine.kill_service()?;
    let calls = machine.agent.calls("alone");
    for command in ["ls", "rm -rf /"] {
        let ended = machine.ask(&machine.agent, &calls.bash("c1", command))?;
        ensure!(ended.code == Some(2), "`{command}`: {}", ended.all());
        ensure!(ended.stderr.contains("systemctl start portcullis"), "{}", ended.all());
    }
    // A prompt is not lost: nothing runs because of it.
    let prompt = calls.event("UserPromptSubmit", serde_json::json!({ "prompt": "hello" }));
    let ended = machine.ask(&machine.agent, &prompt)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    let own = machine.agent.home().join(".local");
    ensure!(!own.exists(), "a hook has begun a journal of its own");
    machine.start_service()?;
    machine.reviews(&machine.agent)
}

/// Whatever moment the service dies at, an action that was let through has a durable record.
fn killed(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.agent)?;
    let mut passed = Vec::new();
    let mut refused = 0;
    for round in 0..12_u64 {
        let asked: Vec<_> = std::thread::scope(|scope| {
            let ask = |index: u64| {
                let id = format!("k{round}-{index}");
                let event = machine.agent.calls("killed").bash(&id, "ls").to_string();
                let hook = machine.hook(&machine.agent, "portcullis");
                scope.spawn(move || (id, process::run(hook, event.as_bytes(), LIMIT)))
            };
            let running: Vec<_> = (0..4).map(ask).collect();
            std::thread::sleep(Duration::from_millis(round * 3));
            let id = machine.service_id().map(|id| id.to_string()).unwrap_or_default();
            let _killed = Command::new("kill").args(["-s", "KILL", &id]).status();
            running.into_iter().filter_map(|hook| hook.join().ok()).collect()
        });
        machine.kill_service()?;
        machine.start_service()?;
        for (id, ended) in asked {
            let ended = ended?;
            match ended.code {
                Some(0) => passed.push(id),
                Some(2) => refused += 1,
                _ => bail!("{id}: {}", ended.all()),
            }
        }
    }
    let records = machine.records(&machine.agent)?;
    for id in &passed {
        let recorded = records.iter().any(|record| record["call"] == id.as_str());
        ensure!(recorded, "`{id}` ran without a record");
    }
    ensure!(refused > 0, "the service was never killed in time");
    machine.verify(&machine.agent)?;
    machine.reviews(&machine.agent)
}

fn own_configuration(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let off = "mode = \"observe\"\n[reviewer]\nenabled = false\n";
    for path in [
        agent.home().join(".config/portcullis/config.toml"),
        agent.home().join("elsewhere/config.toml"),
        agent.project().join(".portcullis/config.toml"),
    ] {
        agent.write(&path, off)?;
        machine.refuses(&agent)?;
    }
    // Not even one that cannot be read stops the review of others.
    agent.write(&agent.home().join(".config/portcullis/config.toml"), "nonsense = ")?;
    machine.refuses(&agent)?;
    let elsewhere = agent.home().join("elsewhere").display().to_string();
    ask_beside(machine, &elsewhere)
}

fn foreign_boundary(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.agent)?;
    let event = machine.agent.calls("foreign").bash("c1", "ls");
    let refuses = |part: &str| -> Result<()> {
        for program in ["portcullis", "portcullis-hook"] {
            let hook = machine.hook(&machine.agent, program);
            let ended = process::run(hook, event.to_string().as_bytes(), LIMIT)?;
            ensure!(ended.code == Some(2) && ended.stderr.contains(part), "{}", ended.all());
        }
        Ok(())
    };
    chown(BOUNDARY_FILE, Some(machine.agent.id), None)?;
    refuses("must belong to root")?;
    chown(BOUNDARY_FILE, Some(0), None)?;
    write_root_file(BOUNDARY_FILE, "user = \"portcullis\"\non_service_fault = \"allow\"\n")?;
    refuses("on_service_fault")?;
    // The service of another user is not the one that root has named.
    write_root_file(BOUNDARY_FILE, "user = \"other\"\n")?;
    refuses("belongs to another user")
}
