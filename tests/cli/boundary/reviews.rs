//! What the review sees of a user's world across the boundary.

use super::machine::{BOUNDARY_FILE, Machine, STATE, Test, wait_for, write_root_file};
use crate::common::site::lines;
use anyhow::{Result, ensure};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

pub const ROWS: &[(&str, Test)] = &[
    ("each user has a journal", own_journals),
    ("all events of a session are answered", events),
    ("scripts in a closed home are read", scripts),
    ("the guard's files in a closed home are guarded", guard),
    ("a deletion of what was kept needs no question", deletions),
    ("a project's file makes it stricter", project_file),
    ("root's configuration of a user counts", user_configuration),
    ("the service delivers a user's exports", exports),
    ("doctor tells of the boundary", doctor),
    ("a hook may review by itself where root says so", embedded),
];

fn own_journals(machine: &mut Machine) -> Result<()> {
    let at_first = std::fs::metadata(crate::machine::STATE)?;
    ensure!(at_first.permissions().mode() & 0o077 == 0, "the state is open: {at_first:?}");
    for user in [machine.agent.clone(), machine.other.clone()] {
        machine.reviews(&user)?;
        machine.refuses(&user)?;
        let records = machine.records(&user)?;
        let folders = records.iter().filter_map(|record| record.pointer("/action/cwd")?.as_str());
        let folders: Vec<&str> = folders.collect();
        let own = user.project().display().to_string();
        ensure!(folders.len() >= 2 && folders.iter().all(|folder| *folder == own), "{folders:?}");
    }
    let left = machine.agent.shell("find /home/agent -user portcullis; ls -A /home/agent")?;
    ensure!(left.text().trim() == "project", "the home holds `{}`", left.text());
    Ok(())
}

fn events(machine: &mut Machine) -> Result<()> {
    let calls = machine.agent.calls("events");
    let transcript = machine.agent.home().join("transcript.jsonl");
    machine.agent.write(&transcript, "")?;
    let mut sent = vec![
        calls.event("SessionStart", json!({ "source": "startup" })),
        calls.event("UserPromptSubmit", json!({ "prompt": "list the files" })),
        calls.bash("c1", "ls"),
        calls.bash_done("c1", "ls", "notes.txt"),
        calls.event("Stop", json!({ "stop_hook_active": false })),
        calls.event("SessionEnd", json!({ "reason": "exit" })),
    ];
    for event in &mut sent {
        event["transcript_path"] = json!(transcript);
        let ended = machine.ask(&machine.agent, event)?;
        ensure!(ended.code == Some(0), "{event}: {}", ended.all());
    }
    let records = machine.records(&machine.agent)?;
    ensure!(records.iter().any(|record| record["call"] == "c1"), "{records:?}");
    machine.verify(&machine.agent)
}

fn scripts(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    agent.write(&agent.project().join("good.sh"), "ls\n")?;
    agent.write(&agent.project().join("bad.sh"), "rm -rf /\n")?;
    for (id, command, code) in
        [("s1", "bash good.sh", 0), ("s2", "bash bad.sh", 2), ("s3", "bash ../project/bad.sh", 2)]
    {
        let ended = machine.ask(&agent, &agent.calls("scripts").bash(id, command))?;
        ensure!(ended.code == Some(code), "`{command}`: {}", ended.all());
    }
    Ok(())
}

fn guard(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    agent.write(&agent.home().join(".claude/settings.json"), "{}")?;
    agent.write(&agent.project().join("notes.txt"), "notes")?;
    agent
        .shell("ln -s ../.claude/settings.json link.json; ln ../.claude/settings.json hard.json")?;
    let calls = agent.calls("guard");
    for (id, path, code) in [
        ("g1", agent.home().join(".claude/settings.json"), 2),
        ("g2", agent.project().join("link.json"), 2),
        ("g3", agent.project().join("hard.json"), 2),
        ("g4", BOUNDARY_FILE.into(), 2),
        ("g5", agent.state().join("journal.db"), 2),
        ("g6", agent.project().join("notes.txt"), 0),
        ("g7", machine.other.state().join("journal.db"), 2),
        ("g8", "/var/lib/portcullis/page.address".into(), 2),
        ("g9", "/run/portcullis/service.sock".into(), 2),
        ("g10", "/var/lib/other.txt".into(), 0),
    ] {
        let input = json!({ "file_path": path, "content": "{}" });
        let ended = machine.ask(&agent, &calls.before(id, "Write", input))?;
        ensure!(ended.code == Some(code), "{}: {}", path.display(), ended.all());
    }
    Ok(())
}

fn deletions(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    agent.write(&agent.project().join("tracked.txt"), "one")?;
    agent.write(&agent.project().join("new.txt"), "two")?;
    let made = agent.shell(
        "git init -q && git add tracked.txt && git -c user.name=a -c user.email=a@b commit -qm one",
    )?;
    ensure!(made.code == Some(0), "{}", made.all());
    // More than a checkpoint takes of one file.
    agent.shell("truncate -s 100M big.bin")?;
    for (id, path, is_loss) in
        [("d1", "tracked.txt", false), ("d2", "new.txt", false), ("d3", "big.bin", true)]
    {
        let event = agent.calls("deletions").bash(id, &format!("rm {path}"));
        machine.ask(&agent, &event)?;
        let records = machine.records(&agent)?;
        let record = records.iter().find(|record| record["call"] == id);
        let lost = record.and_then(|record| record.pointer("/checkpoint/irreversible"));
        ensure!(lost.is_some_and(|lost| !lost.is_null()) == is_loss, "{path}: {record:?}");
    }
    Ok(())
}

/// The level of the verdict on an action that the default configuration lets pass.
fn verdict(machine: &Machine, id: &str) -> Result<String> {
    let agent = &machine.agent;
    machine.ask(agent, &agent.calls("levels").bash(id, "cargo --version"))?;
    let records = machine.records(agent)?;
    let record = records.iter().find(|record| record["call"] == id);
    Ok(record.and_then(|record| record["verdict"].as_str()).unwrap_or_default().to_owned())
}

const RULE: &str = "[rules]\nfiles = [\"own.toml\"]\n";
const RULE_FILE: &str = "[[rule]]\nname = \"no_cargo\"\nreason = \"not here\"\nverdict = \"block\"\n\
                         when = 'commands.exists(c, c.program == \"cargo\")'\n";

fn project_file(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    ensure!(verdict(machine, "p0")? == "allow", "it is refused without a rule");
    let own = agent.project().join(".portcullis");
    agent.write(&own.join("config.toml"), RULE)?;
    ensure!(verdict(machine, "p1")?.is_empty(), "a rules file that is missing was ignored");
    agent.write(&own.join("own.toml"), RULE_FILE)?;
    ensure!(verdict(machine, "p2")? == "block", "the project's rule does not count");
    agent.write(&own.join("config.toml"), "mode = \"observe\"\n")?;
    machine.refuses(&agent)
}

fn user_configuration(machine: &mut Machine) -> Result<()> {
    let id = machine.agent.id;
    let folder = format!("/etc/portcullis/users/{id}");
    write_root_file(&format!("{folder}/config.toml"), RULE)?;
    write_root_file(&format!("{folder}/own.toml"), RULE_FILE)?;
    ensure!(verdict(machine, "u1")? == "block", "the rule of root's does not count");
    // A file that the user could have written refuses.
    std::os::unix::fs::chown(format!("{folder}/config.toml"), Some(id), None)?;
    ensure!(verdict(machine, "u3")?.is_empty(), "a file of the user's own counts");
    // The other user has no such rule.
    let other = machine.other.clone();
    let ended = machine.ask(&other, &other.calls("levels").bash("u2", "cargo --version"))?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}

fn exports(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    machine.reviews(&agent)?;
    // As long as the test holds the lock, nothing but the service can deliver.
    let path = agent.state().join("maintain.lock");
    let lock = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    chown(&path, Some(machine.service_user.id), Some(machine.service_user.id))?;
    lock.lock()?;
    let folder = Path::new(STATE).join("sent");
    fs::create_dir_all(&folder)?;
    chown(&folder, Some(machine.service_user.id), Some(machine.service_user.id))?;
    let file = folder.join("records.jsonl");
    let settings = format!(
        "[exports.archive]\nformat = \"jsonl\"\nsink = \"file\"\npath = \"{}\"\n",
        file.display()
    );
    write_root_file(&format!("/etc/portcullis/users/{}/config.toml", agent.id), &settings)?;
    for round in 0..2 {
        machine.reviews(&agent)?;
        let newest = machine.records(&agent)?.len();
        wait_for("the service does not deliver", || {
            let sent = fs::read_to_string(&file).unwrap_or_default();
            Ok(sent.lines().count() >= newest)
        })?;
        ensure!(agent.shell(&format!("cat {}", file.display()))?.code != Some(0), "{round}");
    }
    Ok(())
}

fn doctor(machine: &mut Machine) -> Result<()> {
    let program = machine.programs.join("portcullis");
    let level = |machine: &Machine| -> Result<String> {
        let report = machine.agent.shell(&format!("{} doctor --json", program.display()))?;
        let report: serde_json::Value = serde_json::from_str(&report.text())?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let found = findings.iter().find(|finding| finding["check"] == "service");
        Ok(found.and_then(|found| found["level"].as_str()).unwrap_or_default().to_owned())
    };
    ensure!(level(machine)? == "ok", "a service that answers: {}", level(machine)?);
    machine.kill_service()?;
    ensure!(level(machine)? == "problem", "no service: {}", level(machine)?);
    machine.start_service()?;
    write_root_file(BOUNDARY_FILE, "user = 3\n")?;
    ensure!(level(machine)? == "problem", "a mistake in the file: {}", level(machine)?);
    Ok(())
}

fn embedded(machine: &mut Machine) -> Result<()> {
    let text = "user = \"portcullis\"\non_service_fault = \"embedded\"\n";
    write_root_file(BOUNDARY_FILE, text)?;
    let agent = machine.agent.clone();
    machine.reviews(&agent)?;
    let own = agent.home().join(".local/state/portcullis");
    ensure!(!own.exists(), "the hook has reviewed by itself beside the service");
    machine.kill_service()?;
    let calls = agent.calls("embedded");
    for (id, command, code) in [("e1", "ls", 0), ("e2", "rm -rf /", 2)] {
        let ended = machine.ask(&agent, &calls.bash(id, command))?;
        ensure!(ended.code == Some(code), "`{command}`: {}", ended.all());
    }
    let program = machine.programs.join("portcullis");
    let shown = agent.shell(&format!("{} audit show --json", program.display()))?;
    let records = lines(&shown.text())?;
    for id in ["e1", "e2"] {
        let record = records.iter().find(|record| record["call"] == id);
        let reported = record.is_some_and(|record| record.to_string().contains("without_service"));
        ensure!(reported, "no record says why: {record:?}");
    }
    Ok(())
}
