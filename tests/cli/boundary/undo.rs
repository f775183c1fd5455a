//! Checkpoints behind a boundary: the service keeps what the hook hands over, the agent's user
//! reaches nothing of it, and root restores with that user's rights.

use super::machine::{Machine, Test, User, write_root_file};
use super::page::{Page, field};
use super::wire::{Relay, across, request};
use anyhow::{Context, Result, ensure};
use portcullis_protocol::{Reply, Request};
use portcullis_tests::terminal::Answer;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub const ROWS: &[(&str, Test)] = &[
    ("what an action changes is kept, and root restores it", restored),
    ("a user's agent reaches no checkpoint, and restores nothing", out_of_reach),
    ("a hook that lies about files is kept as what it says, or refused", false_answers),
    ("the page names what was kept, and looks at no file", page),
    ("a rollback is an administrator's", rollback),
    ("a folder that was moved away is its user's", moved_away),
    ("nobody trusts a project's file", trust),
];

/// Deletes and changes files of the user in one reviewed action; returns the checkpoint's id.
fn act(machine: &Machine, user: &User, id: &str) -> Result<String> {
    let secret = user.project().join("kept.txt");
    user.write(&secret, "the only copy\n")?;
    user.shell("chmod 600 kept.txt; mkdir -p sub && echo two > sub/b.txt && ln -s sub/b.txt link")?;
    let calls = user.calls("undo");
    let command = "rm -rf kept.txt sub";
    machine.ask(user, &calls.bash(id, command))?;
    let ended = user.shell(command)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    machine.ask(user, &calls.bash_done(id, command, ""))?;
    let records = machine.records(user)?;
    let kept = records.iter().find(|record| record["call"] == id);
    let kept = kept.map(|record| record["checkpoint"].clone()).context("no record")?;
    ensure!(kept["complete"] == true, "{kept}");
    kept["id"].as_str().map(str::to_owned).with_context(|| format!("nothing was kept: {kept}"))
}

fn restored(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let id = act(machine, &agent, "u1")?;
    let listed = machine.as_root(&agent, &["checkpoint", "list", "--json"])?;
    ensure!(listed.code == Some(0) && listed.text().contains(&id), "{}", listed.all());
    let diff = machine.as_root(&agent, &["checkpoint", "diff", &id])?;
    ensure!(diff.text().contains("-the only copy"), "{}", diff.all());
    // The service's user alone has no right to the files, and says so.
    let own = machine.administer(&agent, &["checkpoint", "diff", &id])?;
    ensure!(own.code != Some(0) && own.stderr.contains("belongs to another user"), "{}", own.all());
    // Nobody confirms: nothing happens. Somebody does.
    let refused = machine.as_root(&agent, &["checkpoint", "restore", &id])?;
    ensure!(refused.code != Some(0), "{}", refused.all());
    ensure!(!agent.project().join("kept.txt").exists(), "it was restored without a person");
    let restore = ["checkpoint", "restore", &id];
    let shown = machine.at_roots_terminal(&agent, &restore, Answer::Word)?;
    shown.ended(
        0,
        &["were put back", "sudo portcullis checkpoint restore undo-", "--of-user agent"],
    )?;
    let back = agent.project().join("kept.txt");
    ensure!(fs::read_to_string(&back)? == "the only copy\n");
    let found = fs::metadata(&back)?;
    ensure!(found.uid() == agent.id && found.mode() & 0o777 == 0o600, "{found:?}");
    ensure!(fs::read_to_string(agent.project().join("sub/b.txt"))? == "two\n");
    let records = machine.records(&agent)?;
    let noted = records.iter().any(|record| record["details"]["by"] == "a person at a terminal");
    ensure!(noted, "no record names the restore");
    // What was restored is undone as well, for a path alone, and what somebody changed since stays.
    agent.write(&back, "mine\n")?;
    let again = machine.at_roots_terminal(&agent, &["checkpoint", "restore", &id], Answer::Word)?;
    ensure!(!again.text.contains("were put back"), "{}", again.text);
    ensure!(fs::read_to_string(&back)? == "mine\n", "a later change was overwritten");
    machine.verify(&agent)?;
    // Nothing of it is left among the user's processes.
    let left = agent.shell("pgrep -u agent -f '[h]and-files'; true")?;
    ensure!(left.text().trim().is_empty(), "{}", left.all());
    machine.reviews(&agent)
}

fn out_of_reach(machine: &mut Machine) -> Result<()> {
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    let id = act(machine, &agent, "u1")?;
    let of_other = act(machine, &other, "u1")?;
    let keeper = machine.service_user.id;
    let mut open = vec![agent.state().join("checkpoints")];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path)?;
        ensure!(found.uid() == keeper, "`{}` belongs to {}", path.display(), found.uid());
        ensure!(found.mode() & 0o077 == 0, "`{}` is open", path.display());
        if found.is_dir() {
            open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        }
    }
    let program = machine.programs.join("portcullis").display().to_string();
    let state = agent.state().display().to_string();
    let vault = format!("{state}/checkpoints");
    for line in [
        format!("{program} checkpoint restore {id} --yes"),
        format!("{program} checkpoint restore {id} --yes --of-user agent"),
        format!("{program} checkpoint restore {of_other} --yes --of-user other"),
        format!("{program} checkpoint restore {id} --yes --state {state}"),
        format!("{program} checkpoint list --state {state}"),
        format!("{program} undo --yes"),
        format!("{program} hand-files --start 0 0 </dev/null"),
        format!("{program} hand-files --start {keeper} {keeper} </dev/null"),
        format!("PORTCULLIS_FILES_OF_USER=0,1 {program} checkpoint list --of-user agent"),
        format!("ls {vault}"),
        format!("cat {vault}/packs/* {vault}/index/*"),
        format!("echo x > {vault}/packs/x"),
        format!("rm -rf {vault}"),
        format!(
            "unshare --user --map-root-user {program} checkpoint restore {id} --yes --of-user agent"
        ),
    ] {
        let shown = machine.at_terminal_of(&agent, &line, Answer::Word)?;
        ensure!(shown.code != Some(0), "`{line}` succeeded: {}", shown.text);
        let gone = !agent.project().join("kept.txt").exists();
        ensure!(gone && !shown.text.contains("the only copy"), "`{line}`: {}", shown.text);
    }
    // One user's checkpoint is none of another's.
    let foreign = machine.as_root(&agent, &["checkpoint", "show", &of_other])?;
    let same = of_other == id;
    ensure!(same || foreign.code != Some(0), "{}", foreign.all());
    machine.reviews(&other)
}

fn false_answers(machine: &mut Machine) -> Result<()> {
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    let foreign = other.project().join("own.txt");
    other.write(&foreign, "of the other user\n")?;
    agent.write(&agent.project().join("run.sh"), "make\n")?;
    type MakesAnswer = fn(&[u8]) -> Vec<u8>;
    let answers: [(&str, MakesAnswer); 4] = [
        ("nothing", |_| Vec::new()),
        ("noise", |_| vec![0xff; 40]),
        ("the request itself", <[u8]>::to_vec),
        ("a long noise", |_| vec![7; 1 << 20]),
    ];
    for (index, (name, answer)) in answers.into_iter().enumerate() {
        let event = agent.calls("false").bash(&format!("l{index}"), "rm -rf ./notes");
        let last = converse(&agent, &event, answer)?;
        let refused = matches!(&last, Reply::Answer(answer) if answer.exit == 2);
        ensure!(refused, "{name}: {last:?}");
    }
    // Files cannot be changed by a service, whoever it is: the hook only looks.
    let mut relay = Relay::connect(&agent)?;
    relay.send(&Request::Files(b"x".to_vec()))?;
    ensure!(matches!(relay.receive()?, Reply::Unable(_)));
    ensure!(fs::read_to_string(&foreign)? == "of the other user\n");
    ensure!(machine.serves()?, "the service has ended");
    machine.reviews(&agent)
}

/// Sends an event in the place of a user's hook; `answer` makes the answers about files.
fn converse(user: &User, event: &Value, answer: impl Fn(&[u8]) -> Vec<u8>) -> Result<Reply> {
    let mut relay = Relay::connect(user)?;
    relay.send(&across(request(user, event)))?;
    loop {
        match relay.receive()? {
            Reply::Question(question) => {
                relay.send(&Request::Findings(super::claims::harmless(&question)?))?;
            }
            Reply::Files(request) => relay.send(&Request::Files(answer(&request)))?,
            Reply::Waiting(_) => {}
            last => return Ok(last),
        }
    }
}

fn page(machine: &mut Machine) -> Result<()> {
    let page = Page::start(machine)?;
    let agent = machine.agent.clone();
    let id = act(machine, &agent, "u1")?;
    // A plain file of the service's own folder, which the agent makes its project name.
    let cookie = page.sign_in(machine, &agent, "operator")?;
    let listed = page.get("/checkpoints", &cookie)?;
    ensure!(listed.body.contains(&format!("/checkpoint?id={id}")), "{}", listed.body);
    let shown = page.get(&format!("/checkpoint?id={id}"), &cookie)?;
    for part in [
        "kept.txt",
        &format!("<code>sudo portcullis checkpoint restore {id} --of-user agent</code>"),
    ] {
        ensure!(shown.status == 200 && shown.body.contains(part), "{part}: {}", shown.body);
    }
    for part in ["the only copy", "action=\"/checkpoint/restore\""] {
        ensure!(!shown.body.contains(part), "{part}: {}", shown.body);
    }
    let token = field(&listed.body, "token")?;
    let form = format!("token={token}&id={id}&plan=x&proof=x");
    let answer = page.post("/checkpoint/restore", &cookie, &form)?;
    ensure!(!agent.project().join("kept.txt").exists(), "{}", answer.head);
    machine.reviews(&agent)
}

fn rollback(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let id = act(machine, &agent, "u1")?;
    let stopped = machine.ask(&agent, &agent.calls("undo").bash("u2", "rm -rf /"))?;
    ensure!(stopped.code == Some(2), "{}", stopped.all());
    let back = ["incident", "rollback", "last", "--to", &id];
    let shown = machine.at_roots_terminal(&agent, &back, Answer::Word)?;
    shown.ended(0, &[])?;
    let text = fs::read_to_string(agent.project().join("kept.txt"))?;
    ensure!(text == "the only copy\n", "{text}");
    let again = machine.ask(&agent, &agent.calls("undo").bash("u3", "ls"))?;
    ensure!(again.code == Some(0), "the session is still stopped: {}", again.all());
    machine.verify(&agent)
}

fn moved_away(machine: &mut Machine) -> Result<()> {
    // Where a checkpoint takes the place of the move, none is offered.
    write_root_file("/etc/portcullis/config.toml", "checkpoints.enabled = false\n")?;
    let agent = machine.agent.clone();
    agent.write(&agent.project().join("work/notes.txt"), "the only copy\n")?;
    let asked = machine.ask(&agent, &agent.calls("moved").bash("m1", "rm -rf work"))?;
    let answer: Value = serde_json::from_str(&asked.text()).with_context(|| asked.all())?;
    let rewritten = answer.pointer("/hookSpecificOutput/updatedInput/command");
    let rewritten = rewritten.and_then(Value::as_str).with_context(|| answer.to_string())?;
    let ended = agent.shell(rewritten)?;
    ensure!(ended.code == Some(0), "`{rewritten}`: {}", ended.all());
    let found = agent.shell("cat .portcullis/quarantine/*/work/notes.txt")?;
    ensure!(found.text() == "the only copy\n", "`{rewritten}`: {}", found.all());
    // It says where the folder came from, and moves nothing itself.
    let program = machine.programs.join("portcullis").display().to_string();
    let own = agent.shell(&format!("{program} quarantine restore last"))?;
    let says = own.stderr.contains("moves it back") && own.stderr.contains("--of-user");
    ensure!(own.code != Some(0) && says, "{}", own.all());
    let explained = machine.as_root(&agent, &["audit", "show", "--json"])?;
    let from = agent.project().join("work").display().to_string();
    ensure!(explained.text().contains(&from), "{}", explained.all());
    let kept = machine.administer(&agent, &["maintain", "--all"])?;
    ensure!(kept.code == Some(0), "{}", kept.all());
    ensure!(agent.shell("cat .portcullis/quarantine/*/work/notes.txt")?.code == Some(0));
    Ok(())
}

fn trust(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    agent.write(&agent.project().join(".portcullis/config.toml"), "mode = \"observe\"\n")?;
    let begun =
        agent.calls("trust").event("SessionStart", serde_json::json!({"source": "startup"}));
    let said = machine.ask(&agent, &begun)?;
    let place = format!("/etc/portcullis/users/{}/config.toml", agent.id);
    ensure!(said.all().contains(&place), "{}", said.all());
    ensure!(!said.all().contains("portcullis trust"), "{}", said.all());
    let program = machine.programs.join("portcullis").display().to_string();
    let line = format!("{program} trust");
    let own = machine.at_terminal_of(&agent, &line, Answer::Word)?;
    ensure!(own.code != Some(0) && own.text.contains(&place), "{}", own.text);
    machine.refuses(&agent)
}
