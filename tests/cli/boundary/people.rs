//! What an administrator decides for a user's agents, and what the user tries to decide instead.

use super::claims::deny_existence;
use super::machine::{BOUNDARY_FILE, Machine, SOCKET, STATE, Test, write_root_file};
use super::wire::Relay;
use anyhow::{Context, Result, ensure};
use portcullis_core::record_commands::RECORD_COMMANDS;
use portcullis_protocol::{Reply, Request};
use portcullis_tests::terminal::Answer;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

pub const ROWS: &[(&str, Test)] = &[
    ("an administrator answers what waits, and the user does not", answers),
    ("a command for a user runs with the service's rights", dropped_rights),
    ("an administrator decides about incidents, exceptions and pauses", decisions),
    ("what is said names commands that work", named_commands),
];

/// A command that is asked about, and is not critical.
pub const DOUBTFUL: &str = "crontab -r";
/// Root's configuration of all users.
const CONFIG: &str = "/etc/portcullis/config.toml";

fn answers(machine: &mut Machine) -> Result<()> {
    write_root_file(CONFIG, "approvals.wait_seconds = 120\n")?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    // Nobody is there: nobody is asked, and the agent's user cannot be the one who is there.
    let line = format!("{} approvals watch", machine.programs.join("portcullis").display());
    for line in [line.clone(), format!("{line} --state {}", agent.state().display())] {
        let shown = machine.at_terminal_of(&agent, &line, Answer::Word)?;
        ensure!(shown.code != Some(0) && !shown.text.contains("Watching"), "{}", shown.text);
    }
    machine.hold(&agent, "s", "c0", DOUBTFUL).ends_refused()?;
    let mut watch = machine.open_roots_terminal(&agent, &["approvals", "watch"])?;
    watch.await_text("Watching")?;
    let held = machine.hold(&agent, "s", "c1", DOUBTFUL);
    let waiting = machine.await_waiting(&agent, 1)?;
    let id = waiting[0]["id"].as_str().context("no id")?.to_owned();
    watch.await_text("crontab -r")?;
    machine.await_waiting(&other, 0)?;
    let of_other = machine.as_root(&other, &["approvals", "show", &id])?;
    ensure!(of_other.code != Some(0), "another user's records have it: {}", of_other.all());
    answer_oneself(machine, &id)?;
    machine.await_waiting(&agent, 1)?;
    let said = ["approvals", "allow", &id, "--reason", "the jobs are old"];
    machine
        .at_roots_terminal(&agent, &said, Answer::Word)?
        .ended(0, &["| crontab -r", "Let exactly this run, once?", "allowed: it runs now"])?;
    held.passes_through()?;
    // Once is once, and the answer to one is none to the other's.
    let held = machine.hold(&agent, "s", "c2", DOUBTFUL);
    let next = machine.await_waiting(&agent, 1)?;
    let next = next[0]["id"].as_str().context("no id")?;
    ensure!(next != id, "the answer counts again");
    let denied = machine.as_root(&agent, &["approvals", "deny", next, "--reason", "not today"])?;
    ensure!(denied.code == Some(0), "{}", denied.all());
    let refused = held.end()?;
    ensure!(refused.all().contains("not today"), "the agent is not told why: {}", refused.all());
    let records = machine.records(&agent)?;
    let answers: Vec<&str> = records
        .iter()
        .filter(|record| record["kind"] == "exception")
        .filter_map(|record| record["details"]["answer"].as_str())
        .collect();
    ensure!(answers == ["waiting", "allowed", "waiting", "denied"], "{answers:?}");
    let given = records.iter().find(|record| record["details"]["answer"] == "allowed");
    let given = given.map(|record| &record["details"]["reason"]);
    ensure!(given == Some(&Value::from("the jobs are old")), "{given:?}");
    machine.verify(&agent)
}

/// Everything that an agent's user tries to allow an action with that waits.
fn answer_oneself(machine: &Machine, id: &str) -> Result<()> {
    let agent = &machine.agent;
    let program = machine.programs.join("portcullis").display().to_string();
    let state = agent.state().display().to_string();
    let allow = format!("{program} approvals allow {id}");
    let own = "mkdir -p ~/.local/state/portcullis && cp -r . ~/.local/state/portcullis/";
    let lines = [
        allow.clone(),
        format!("{allow} --of-user agent"),
        format!("{allow} --of-user {}", agent.id),
        format!("{allow} --of-user root"),
        format!("{allow} --of-user portcullis"),
        format!("{allow} --state {state}"),
        format!("{allow} --state {state} --config /etc/portcullis/users/{}", agent.id),
        format!("PORTCULLIS_HOME={state} {allow}"),
        format!("{own}; {allow} --state ~/.local/state/portcullis"),
        format!("{program} --of-user agent approvals deny {id}"),
        format!("{program} approvals list --of-user agent"),
        format!("runuser -u portcullis -- {allow} --of-user agent"),
        format!("setpriv --reuid portcullis {allow} --of-user agent"),
        // Root of a namespace of its own is the same user outside.
        format!("unshare --user --map-root-user {allow} --of-user agent"),
        format!(
            "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs tmpfs /etc; {allow}'"
        ),
        format!("rm -f {state}/journal.db"),
        format!("echo x >> {state}/journal.db"),
        format!("touch {state}/watch.lock"),
        format!("echo http://portcullis.localhost:1 > {STATE}/page.address"),
    ];
    for line in &lines {
        let shown = machine.at_terminal_of(agent, line, Answer::Word)?;
        ensure!(shown.code != Some(0), "`{line}` succeeded: {}", shown.text);
        ensure!(!shown.text.contains("Let exactly this run"), "`{line}` asks: {}", shown.text);
    }
    for sent in [
        Request::Findings(id.as_bytes().to_vec()),
        Request::Link(format!("approve {id}")),
        Request::LinkOf(agent.id, format!("approve {id}")),
        Request::LinkOf(agent.id, "approver".to_owned()),
    ] {
        let mut relay = Relay::connect(agent)?;
        relay.send(&sent)?;
        let reply = relay.receive();
        ensure!(matches!(reply, Ok(Reply::Unable(_))), "{sent:?}: {reply:?}");
    }
    Ok(())
}

/// Returns the ids and the status of the processes of a user whose command line has a word.
fn find_processes(user: u32, word: &str) -> Vec<(String, String)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user))
        .filter_map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let has_word = line.split('\0').any(|found| found == word);
            has_word.then(|| (entry.file_name().to_string_lossy().into_owned(), status))
        })
        .collect()
}

fn dropped_rights(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    machine.reviews(&agent)?;
    // The administrator is in a folder of the agent's, which says how to review there.
    agent.write(&agent.project().join(".portcullis/config.toml"), "nonsense = ")?;
    let mut watch = machine.open_roots_terminal(&agent, &["approvals", "watch"])?;
    watch.await_text("Watching")?;
    let keeper = machine.service_user.id;
    let found = find_processes(keeper, "watch");
    ensure!(found.len() == 1, "{} processes watch as the service's user", found.len());
    let status = &found[0].1;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let list = fs::read_to_string("/etc/passwd")?;
    let line = list.lines().find(|line| line.starts_with("portcullis:")).context("no line")?;
    let group = line.split(':').nth(3).context("no group")?;
    ensure!(field("Uid:") == vec![keeper.to_string(); 4], "it kept rights: {status}");
    ensure!(field("Gid:") == vec![group; 4], "it kept a group: {status}");
    ensure!(field("Groups:").is_empty(), "it kept groups: {status}");
    ensure!(field("CapEff:") == ["0000000000000000"], "it kept rights: {status}");
    let folder = fs::read_link(format!("/proc/{}/cwd", found[0].0))?;
    ensure!(folder == Path::new("/"), "it is in `{}`", folder.display());
    drop(watch);
    for arguments in [
        &["audit", "verify"][..],
        &["audit", "show", "--json"],
        &["incident", "list"],
        &["allow", "--list"],
        &["metrics"],
        &["config", "show"],
        &["notifications", "list"],
        &["approvals", "proof"],
    ] {
        let ended = machine.as_root(&agent, arguments)?;
        ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.all());
    }
    let mut open = vec![Path::new(STATE).to_owned()];
    while let Some(path) = open.pop() {
        let owner = fs::symlink_metadata(&path)?.uid();
        ensure!(owner == keeper, "`{}` belongs to {owner}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    ensure!(!Path::new("/root/own").exists(), "root has begun a state of its own");
    // Where it cannot work, it says so, and does nothing.
    let program = machine.programs.join("portcullis").display().to_string();
    let root = |line: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", line]).current_dir("/").env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", "/root/own");
        crate::common::process::run(command, b"", crate::common::site::LIMIT)
    };
    for (line, part) in [
        ("audit show --of-user nobody-else", "there is no user"),
        ("audit show --of-user ''", "there is no user"),
        ("audit show --of-user ../agent", "there is no user"),
        ("audit show --of-user agent --state /tmp", "names the folders"),
        ("undo --of-user agent", "for commands about the records"),
        ("quarantine list --of-user agent", "for commands about the records"),
        ("install claude --of-user agent", "for commands about the records"),
        ("hook claude --of-user agent", "for commands about the records"),
        ("open --of-user agent", "has no page"),
    ] {
        let ended = root(&format!("{program} {line}"))?;
        ensure!(ended.code != Some(0) && ended.stderr.contains(part), "{line}: {}", ended.all());
    }
    write_root_file(BOUNDARY_FILE, "user = \"portcullis\"\nusers = [\"other\"]\n")?;
    let ended = machine.as_root(&agent, &["audit", "show"])?;
    ensure!(ended.stderr.contains("reviews no agents of"), "{}", ended.all());
    fs::remove_file(BOUNDARY_FILE)?;
    let ended = machine.as_root(&agent, &["audit", "show"])?;
    let part = "there is no `/etc/portcullis/boundary.toml`";
    ensure!(ended.code != Some(0) && ended.stderr.contains(part), "{}", ended.all());
    ensure!(!Path::new("/root/own").exists(), "root has begun a state of its own");
    ensure!(fs::metadata(SOCKET).is_ok(), "the service has ended");
    Ok(())
}

fn decisions(machine: &mut Machine) -> Result<()> {
    write_root_file(CONFIG, "[incidents]\nauto_cleanup = true\n")?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    machine.reviews(&other)?;
    // An exception, for this user alone.
    let ask = |id: &str| machine.hold(&agent, "s", id, DOUBTFUL);
    ask("c1").ends_refused()?;
    let allow = ["allow", "last", "--session"];
    machine.at_roots_terminal(&agent, &allow, Answer::Word)?.ended(0, &["allowed"])?;
    ask("c2").passes_through()?;
    machine.hold(&other, "s", "c2", DOUBTFUL).ends_refused()?;
    // A pause, and its end.
    let pause = ["pause", "--for", "1h"];
    machine.at_roots_terminal(&agent, &pause, Answer::Word)?.ended(0, &[])?;
    let calls = agent.calls("paused");
    let observed = machine.ask(&agent, &calls.bash("p1", "sudo -n true"))?;
    ensure!(observed.code == Some(0), "{}", observed.all());
    let resumed = machine.as_root(&agent, &["resume"])?;
    ensure!(resumed.code == Some(0), "{}", resumed.all());
    // A session says that it made a file that only the service's user can move, in a project of that
    // user's, and is stopped: whoever ends it moves nothing.
    let project = Path::new("/run/of-the-service");
    let target = project.join("kept.txt");
    fs::create_dir_all(project)?;
    fs::write(&target, "kept\n")?;
    for path in [project, &target] {
        chown(path, Some(machine.service_user.id), None)?;
    }
    let mut calls = Vec::new();
    for (name, more) in [
        ("PreToolUse", serde_json::json!({})),
        ("PostToolUse", serde_json::json!({ "tool_response": { "type": "create" } })),
    ] {
        let mut event = agent.calls("planted").event(name, more);
        event["cwd"] = project.display().to_string().into();
        event["tool_name"] = "Write".into();
        event["tool_input"] = serde_json::json!({ "file_path": target, "content": "x" });
        event["tool_use_id"] = "w1".into();
        calls.push(event);
    }
    let mut stop = agent.calls("planted").bash("w2", "rm -rf /");
    stop["cwd"] = project.display().to_string().into();
    calls.push(stop);
    let handed = serde_json::json!({ "project": project, "real_project": project, "files": {} });
    for event in &calls {
        let last = deny_existence(&agent, event, &handed.to_string())?;
        ensure!(matches!(last, Reply::Answer(_)), "{event}: {last:?}");
    }
    let shown = machine.as_root(&agent, &["incident", "show", "last", "--json"])?;
    let shown: Value = serde_json::from_str(&shown.text())?;
    let claimed = shown.pointer("/cleanup/made/0").and_then(Value::as_str);
    ensure!(claimed == target.to_str(), "the session claims {claimed:?}");
    let cleaned = ["incident", "abort", "last", "--clean-up"];
    let refused = machine.at_roots_terminal(&agent, &cleaned, Answer::Word)?;
    refused.ended(1, &["belong to another user"])?;
    let abort = ["incident", "abort", "last"];
    machine.at_roots_terminal(&agent, &abort, Answer::Word)?.ended(0, &["aborted"])?;
    ensure!(fs::read_to_string(&target)? == "kept\n", "what only the service can move is gone");
    ensure!(!agent.state().join("quarantine").exists(), "something was moved");
    machine.verify(&other)?;
    // A stop that is lifted for a user, by somebody who is not the user.
    machine.refuses(&agent)?;
    let program = machine.programs.join("portcullis").display().to_string();
    let line = format!("{program} incident resume last --of-user agent");
    let own = machine.at_terminal_of(&agent, &line, Answer::Word)?;
    ensure!(own.code != Some(0) && own.text.contains("only root and `portcullis`"), "{}", own.text);
    let resume = ["incident", "resume", "last"];
    machine.at_roots_terminal(&agent, &resume, Answer::Word)?.ended(0, &[])?;
    let again = machine.ask(&agent, &agent.calls("grave").bash("g9", "ls"))?;
    ensure!(again.code == Some(0), "the session is still stopped: {}", again.all());
    machine.verify(&agent)
}

/// Returns our commands in a text, without `sudo`.
fn commands_in(text: &str) -> Vec<String> {
    let all = text.match_indices("portcullis ").map(|(at, _)| &text[at..]);
    let ends = ['`', '"', '\n', '<', '\\'];
    all.filter_map(|rest| rest.split(ends).next()).map(|found| found.trim().to_owned()).collect()
}

fn named_commands(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let messages = "/var/lib/portcullis/told";
    write_root_file(
        CONFIG,
        &format!(
            "approvals.wait_seconds = 120\n[notifications.channels.desk]\nkind = \"program\"\n\
             program = \"/bin/sh\"\narguments = [\"-c\", \"cat >> {messages}\"]\n\
             events = [\"approval\", \"block\", \"emergency_stop\"]\n"
        ),
    )?;
    // The words of an agent are quoted as they are, and ours name the user.
    let quoted = "portcullis allow abcdefgh";
    let refused = machine.ask(&agent, &agent.calls("said").bash("s1", quoted))?;
    ensure!(refused.code == Some(2), "{}", refused.all());
    ensure!(!refused.all().contains("sudo portcullis allow abcdefgh"), "{}", refused.all());
    // A message about an action that waits names commands that answer it.
    let held = machine.hold(&agent, "s", "c1", DOUBTFUL);
    machine.await_waiting(&agent, 1)?;
    let mut said = String::new();
    super::machine::wait_for("nobody is told", || {
        said = fs::read_to_string(messages).unwrap_or_default();
        Ok(said.contains("approvals allow"))
    })?;
    let named = commands_in(&said);
    let allow = named.iter().find(|command| command.contains("approvals allow"));
    let allow = allow.with_context(|| said.clone())?;
    let words: Vec<&str> = allow.split_whitespace().skip(1).collect();
    ensure!(words.ends_with(&["--of-user", "agent"]), "`{allow}` names nobody");
    let words = &words[..words.len() - 2];
    machine.at_roots_terminal(&agent, words, Answer::Word)?.ended(0, &["allowed"])?;
    held.passes_through()?;
    // A stopped session, and everything that is said about it.
    let stopped = machine.ask(&agent, &agent.calls("grave").bash("g1", "rm -rf /"))?;
    ensure!(stopped.code == Some(2), "{}", stopped.all());
    let again = machine.ask(&agent, &agent.calls("grave").bash("g2", "ls"))?;
    let explained = machine.as_root(&agent, &["explain", "last"])?;
    let incident = machine.as_root(&agent, &["incident", "show", "last"])?;
    let unknown = machine.as_root(&agent, &["approvals", "show", "abcdefgh"])?;
    super::machine::wait_for("nobody is told of the stop", || {
        said = fs::read_to_string(messages).unwrap_or_default();
        Ok(said.contains("incident show"))
    })?;
    let mut count = 0;
    for text in [said, stopped.all(), again.all(), explained.all(), incident.all(), unknown.all()] {
        for command in commands_in(&text) {
            let name = command.split_whitespace().nth(1).unwrap_or_default();
            // What the agent wrote stays as it was.
            if !RECORD_COMMANDS.contains(&name) || quoted.starts_with(&command) {
                continue;
            }
            count += 1;
            ensure!(command.contains("--of-user agent"), "`{command}` does not work: {text}");
        }
    }
    ensure!(count > 5, "only {count} commands are named");
    Ok(())
}
