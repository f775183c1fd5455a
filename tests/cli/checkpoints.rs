//! Tests of undo: an action's changes are reverted byte for byte, and nothing else is touched. Each
//! case runs the hook, then the very command that the hook allows, and then a person's restore
//! command.

mod loss;
mod rollback;
mod shapes;
mod undo;

use crate::common::process::Ended;
use crate::common::reply::{Answer, Reply};
use crate::common::site::{Site, lines};
use crate::common::terminal;
use crate::common::trial;
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use portcullis_tests::{Tree, differing, tree};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("checkpoints: off, nothing is written", off),
        trial("checkpoints: undo of each shape of command, byte for byte", shapes::shapes),
        trial("checkpoints: undo goes back one action at a time", undo::last),
        trial("checkpoints: undo of everything since a request", undo::since_request),
        trial("checkpoints: undo names what it could not bring back", undo::named_losses),
        trial("checkpoints: undo is a person's, and for one project", undo::for_a_person),
        trial("checkpoints: changes of commands and tools are undone byte for byte", come_back),
        trial("checkpoints: read-only actions have none", looking),
        trial("checkpoints: a person's later edit stays, unless it is forced", edited),
        trial("checkpoints: a restore is undone by its own id", undone),
        trial("checkpoints: one path of several", only),
        trial("checkpoints: an action whose end nobody told is settled later", unended),
        trial("checkpoints: two actions at once each have their own", side_by_side),
        trial(
            "checkpoints: a folder that cannot be written blocks nothing and is told once",
            unwritable,
        ),
        trial("checkpoints: ignored files are left out, and the record says so", ignored),
        trial(
            "checkpoints: files over the limit are left out, and the person gets a note",
            too_large,
        ),
        trial("checkpoints: an unsaved deletion counts against the action", loss::irreversible),
        trial(
            "checkpoints: folders that git ignores are kept where they are deleted",
            loss::ignored_and_deleted,
        ),
        trial(
            "checkpoints: an intervention goes back to one, or hands it to a person",
            rollback::rollback,
        ),
        trial("checkpoints: a rollback restores the limits with the files", rollback::limits),
        trial("checkpoints: a project switches them on, and not off", by_project),
        trial("checkpoints: list, show, diff, and ids that mean nothing or too much", looked_at),
        trial("checkpoints: a restore is a person's", for_a_person),
        trial("checkpoints: they go after their time", forgotten),
    ]
}

const ON: &str = "[checkpoints]\nenabled = true\n";
const OFF: &str = "[checkpoints]\nenabled = false\n";

/// Creates a project with a bit of everything.
fn site(name: &str, configuration: &str) -> Result<Site> {
    let site = Site::new(name)?;
    site.write("config.toml", configuration)?;
    let project = site.project();
    fs::create_dir_all(project.join("src/deep/empty"))?;
    fs::create_dir_all(project.join("many"))?;
    fs::write(project.join("src/main.rs"), "fn main() {}\n")?;
    fs::write(project.join("src/deep/data.bin"), [0, 159, 146, 150, 10, 0])?;
    fs::write(project.join("src/deep/run.sh"), "#!/bin/sh\necho run\n")?;
    fs::set_permissions(project.join("src/deep/run.sh"), Permissions::from_mode(0o755))?;
    symlink("../main.rs", project.join("src/deep/link"))?;
    symlink("/nowhere/at/all", project.join("src/dangling"))?;
    for number in 0..300 {
        fs::write(project.join(format!("many/{number}.txt")), format!("number {number}\n"))?;
    }
    fs::write(
        project.join("rewrite.sh"),
        "for f in many/*.txt; do echo rewritten > \"$f\"; done\nrm -f src/main.rs\nmkdir -p new/er\necho x > new/er/x\n",
    )?;
    Ok(site)
}

fn same(site: &Site, before: &Tree) -> Result<()> {
    let after = tree(&site.project())?;
    let differing = differing(before, &after);
    ensure!(differing.is_empty(), "not as it was: {differing:?}");
    Ok(())
}

/// Checks every row, and reports all failures.
fn each<R>(rows: &[R], check: impl Fn(&R) -> Result<()>) -> Result<()> {
    let wrong: Vec<String> =
        rows.iter().filter_map(|row| check(row).err()).map(|error| format!("{error:#}")).collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn shell(site: &Site, command: &str) -> Result<()> {
    let output =
        Command::new("/bin/sh").args(["-c", command]).current_dir(site.project()).output()?;
    ensure!(output.status.success(), "`{command}`: {output:?}");
    Ok(())
}

/// Runs the hook, and then the command that it allows; without the hook after it.
fn begun(site: &Site, session: &str, id: &str, command: &str) -> Result<Reply> {
    let reply = site.hook(&site.calls(session).bash(id, command))?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Stopped), "`{command}`: {reply:?}");
    let run = reply
        .body
        .pointer("/hookSpecificOutput/updatedInput/command")
        .and_then(Value::as_str)
        .unwrap_or(command);
    shell(site, run)?;
    Ok(reply)
}

/// Runs the hook, the command, and the hook after it.
fn act(site: &Site, session: &str, id: &str, command: &str) -> Result<Reply> {
    let reply = begun(site, session, id, command)?;
    site.hook(&site.calls(session).bash_done(id, command, ""))?;
    Ok(reply)
}

fn restore(site: &Site, id: &str, more: &[&str]) -> Result<Ended> {
    site.run(&[&["checkpoint", "restore", id, "--yes"], more].concat())
}

fn restored(site: &Site, id: &str, more: &[&str]) -> Result<Value> {
    let ended = restore(site, id, &[&["--json"], more].concat())?;
    ensure!(ended.code == Some(0), "{id}: {}", ended.all());
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// Returns the output of `explain` about a record, on one line.
fn explained(site: &Site, record: &Value) -> Result<String> {
    let page = site.output(&["explain", record["id"].as_str().context("no id")?])?;
    Ok(page.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn listed(site: &Site) -> Result<Vec<Value>> {
    lines(&site.output(&["checkpoint", "list", "--json"])?)
}

/// Returns the record of a call's checkpoint.
fn recorded(site: &Site, kind: &str, call: &str) -> Result<Value> {
    let records = site.shown(&["--kind", kind])?;
    let record = records
        .iter()
        .find(|record| record["call"] == call)
        .ok_or_else(|| anyhow!("no {kind} of `{call}`"))?;
    Ok(record["checkpoint"].clone())
}

fn off() -> Result<()> {
    let site = site("checkpoints-off", OFF)?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    act(&site, "s", "c2", "sh rewrite.sh")?;
    for name in ["checkpoints", "unsettled"] {
        ensure!(!site.state().join(name).exists(), "there is a folder `{name}`");
    }
    ensure!(
        site.records()?.iter().all(|record| record.get("checkpoint").is_none()),
        "a record tells of one"
    );
    ensure!(site.output(&["checkpoint", "list"])?.contains("checkpoints.enabled"));
    ensure!(
        listed(&site)?.is_empty()
            && site.output(&["maintain", "--all"])?.contains("no checkpoints are kept")
    );
    let ended = restore(&site, "c1", &[])?;
    ensure!(
        ended.code == Some(1) && ended.all().contains("none was ever taken"),
        "{}",
        ended.all()
    );
    site.verify()
}

fn come_back() -> Result<()> {
    let site = site("checkpoints-back", ON)?;
    let before = tree(&site.project())?;
    for (id, command, whole) in [
        ("rm", "rm -r src", false),
        ("sed", "sed -i s/main/other/ src/main.rs", false),
        ("script", "sh rewrite.sh", true),
        ("move", "mv src/main.rs src/deep/moved.rs", false),
        ("chmod", "chmod 600 src/deep/run.sh", false),
        ("redirect", "echo more >> src/main.rs", false),
        ("glob", "rm many/*.txt", true),
        ("find", "find many -name '1*.txt' -delete", true),
        ("python", "python3 -c 'import os; os.rename(\"src\", \"gone\")'", false),
        ("make", "mkdir -p a/b && touch a/b/c", false),
    ] {
        act(&site, "s", id, command)?;
        ensure!(tree(&site.project())? != before, "`{command}` changed nothing");
        let kept = recorded(&site, "review", id)?;
        ensure!(kept["complete"] == true && kept["id"] == id, "`{command}`: {kept}");
        let ended = recorded(&site, "outcome", id)?;
        ensure!(
            ended["changed"].as_u64().is_some_and(|changed| changed > 0),
            "`{command}`: {ended}"
        );
        let document: Value =
            serde_json::from_str(&site.output(&["checkpoint", "show", id, "--json"])?)?;
        ensure!(document["whole_folders"] == whole, "`{command}`: {document}");
        restored(&site, id, &[])?;
        same(&site, &before).with_context(|| format!("after `{command}`"))?;
    }
    for (id, tool, input, path, text) in [
        (
            "edit",
            "Edit",
            json!({ "old_string": "main", "new_string": "other" }),
            "src/main.rs",
            "fn other() {}\n",
        ),
        ("write", "Write", json!({ "content": "new\n" }), "made/by/write.txt", "new\n"),
    ] {
        let file = site.project().join(path);
        let mut input = input;
        input["file_path"] = json!(file);
        site.hook(&site.calls("s").before(id, tool, input.clone()))?;
        fs::create_dir_all(file.parent().context("no folder")?)?;
        fs::write(&file, text)?;
        let done = json!({ "tool_name": tool, "tool_input": input, "tool_response": {}, "tool_use_id": id });
        site.hook(&site.calls("s").event("PostToolUse", done))?;
        restored(&site, id, &[])?;
        same(&site, &before).with_context(|| format!("after `{tool}`"))?;
    }
    ensure!(
        site.shown(&["--kind", "configuration"])?
            .iter()
            .any(|record| record["subject"] == "checkpoint-restore"),
        "no restore is recorded"
    );
    site.verify()
}

fn looking() -> Result<()> {
    let site = site("checkpoints-looking", ON)?;
    for (id, command) in [
        ("1", "ls -la src"),
        ("2", "cat src/main.rs"),
        ("3", "grep -r main ."),
        ("4", "echo hi > /dev/null"),
    ] {
        act(&site, "s", id, command)?;
        ensure!(recorded(&site, "review", id)?.is_null(), "`{command}` has one");
    }
    let refused = site.hook(&site.calls("s").bash("5", "rm -rf ~"))?;
    ensure!(
        matches!(refused.answer, Answer::Refused | Answer::Stopped)
            && recorded(&site, "review", "5")?.is_null()
    );
    ensure!(!site.state().join("checkpoints").exists(), "something was kept");
    Ok(())
}

fn edited() -> Result<()> {
    let site = site("checkpoints-edited", ON)?;
    let before = tree(&site.project())?;
    act(&site, "s", "c1", "sh rewrite.sh")?;
    fs::write(site.project().join("many/7.txt"), "a person's words\n")?;
    let ended = restore(&site, "c1", &[])?;
    ensure!(
        ended.code == Some(1)
            && ended.all().contains("many/7.txt")
            && ended.all().contains("--force"),
        "{}",
        ended.all()
    );
    ensure!(
        fs::read_to_string(site.project().join("many/8.txt"))? == "rewritten\n",
        "a refused restore changed something"
    );
    let refused: Value = serde_json::from_slice(&restore(&site, "c1", &["--json"])?.stdout)?;
    ensure!(
        refused["outcome"] == "refused"
            && refused["refused"].as_array().is_some_and(|paths| paths.len() == 1),
        "{refused}"
    );
    let forced = restored(&site, "c1", &["--force"])?;
    same(&site, &before)?;
    restored(&site, forced["undo"].as_str().context("no undo")?, &[])?;
    ensure!(
        fs::read_to_string(site.project().join("many/7.txt"))? == "a person's words\n",
        "what was overwritten is lost"
    );
    Ok(())
}

fn undone() -> Result<()> {
    let site = site("checkpoints-undone", ON)?;
    let before = tree(&site.project())?;
    act(&site, "s", "c1", "sh rewrite.sh")?;
    let after = tree(&site.project())?;
    let planned: Value = serde_json::from_str(&site.output(&[
        "checkpoint",
        "restore",
        "c1",
        "--dry-run",
        "--json",
    ])?)?;
    ensure!(
        planned["outcome"] == "planned"
            && planned["undo"].is_null()
            && tree(&site.project())? == after,
        "{planned}"
    );
    let first = restored(&site, "c1", &[])?;
    ensure!(planned["restored"] == first["restored"], "{planned} {first}");
    same(&site, &before)?;
    let undo = first["undo"].as_str().context("no undo")?;
    let second = restored(&site, undo, &[])?;
    same(&site, &after)?;
    restored(&site, second["undo"].as_str().context("no undo")?, &[])?;
    same(&site, &before)?;
    let nothing = restored(&site, "c1", &[])?;
    ensure!(nothing["undo"].is_null() && nothing["restored"] == json!([]), "{nothing}");
    Ok(())
}

fn only() -> Result<()> {
    let site = site("checkpoints-only", ON)?;
    act(&site, "s", "c1", "sh rewrite.sh")?;
    restored(&site, "c1", &["--only", "many/1.txt", "src"])?;
    ensure!(
        fs::read_to_string(site.project().join("many/1.txt"))? == "number 1\n"
            && site.project().join("src/main.rs").exists()
    );
    ensure!(
        fs::read_to_string(site.project().join("many/2.txt"))? == "rewritten\n"
            && site.project().join("new/er/x").exists()
    );
    Ok(())
}

fn unended() -> Result<()> {
    let site = site("checkpoints-unended", ON)?;
    let before = tree(&site.project())?;
    for (id, event) in [
        ("c1", site.calls("s").event("Stop", json!({}))),
        ("c2", site.calls("s").prompt("Go on.")),
        ("c3", site.calls("s").event("SessionEnd", json!({ "reason": "other" }))),
        ("c4", site.calls("s").event("PostToolBatch", json!({ "tool_calls": [] }))),
    ] {
        begun(&site, "s", id, "sh rewrite.sh")?;
        let ended = restore(&site, id, &[])?;
        ensure!(
            ended.code == Some(1) && ended.all().contains("never completed"),
            "{}",
            ended.all()
        );
        site.hook(&event)?;
        restored(&site, id, &[]).with_context(|| event.to_string())?;
        same(&site, &before)?;
    }
    // A call that a person refused, so that it never ran.
    site.hook(&site.calls("t").bash("c5", "sh rewrite.sh"))?;
    site.hook(&site.calls("t").event("Stop", json!({})))?;
    let document: Value =
        serde_json::from_str(&site.output(&["checkpoint", "show", "c5", "--json"])?)?;
    ensure!(document["changes"] == 0 && document["settled_at"].is_u64(), "{document}");
    let left: Vec<_> = fs::read_dir(site.state().join("unsettled"))?
        .flat_map(|entry| fs::read_dir(entry?.path()))
        .flatten()
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

fn side_by_side() -> Result<()> {
    let site = site("checkpoints-parallel", ON)?;
    let before = tree(&site.project())?;
    let commands = [
        ("a", "sed -i s/main/other/ src/main.rs"),
        ("b", "echo more >> src/deep/run.sh"),
        ("c", "sh rewrite.sh"),
    ];
    let hooks = |after: bool| -> Result<()> {
        std::thread::scope(|scope| {
            let hook = |(id, command)| {
                let calls = site.calls("s");
                let event =
                    if after { calls.bash_done(id, command, "") } else { calls.bash(id, command) };
                let site = &site;
                scope.spawn(move || site.hook(&event))
            };
            let started: Vec<_> = commands.into_iter().map(hook).collect();
            started
                .into_iter()
                .try_for_each(|one| one.join().map_err(|_| anyhow!("a hook panicked"))?.map(drop))
        })
    };
    hooks(false)?;
    commands.iter().try_for_each(|(_, command)| shell(&site, command))?;
    hooks(true)?;
    let all = listed(&site)?;
    ensure!(all.len() == 3 && all.iter().all(|one| one["settled_at"].is_u64()), "{all:?}");
    let oldest = all.last().and_then(|one| one["id"].as_str()).context("no id")?;
    for one in &all {
        let id = one["id"].as_str().context("no id")?;
        restored(&site, id, &[]).with_context(|| format!("{id}, the oldest is {oldest}"))?;
    }
    same(&site, &before)?;
    site.verify()
}

fn unwritable() -> Result<()> {
    let site = site("checkpoints-unwritable", ON)?;
    fs::write(site.state().join("checkpoints"), "in the way")?;
    // A script that learns only when it runs what it writes.
    fs::write(site.project().join("odd.py"), "open(open('where').read(), 'w').write('x')\n")?;
    fs::write(site.project().join("where"), "many/2.txt")?;
    let first = act(&site, "s", "c1", "python3 odd.py")?;
    first.says(&["cannot be undone", "checkpoints"])?;
    let second = act(&site, "s", "c2", "sed -i s/rewritten/x/ many/1.txt")?;
    // Each loss is named; the reason that nothing can be saved is said once a session.
    ensure!(!second.said.contains("the changes of"), "the notice came twice: {second:?}");
    for id in ["c1", "c2"] {
        let kept = recorded(&site, "review", id)?;
        ensure!(
            kept["complete"] == false && kept["id"].is_null() && kept["problem"].is_string(),
            "{kept}"
        );
    }
    act(&site, "other", "c3", "python3 odd.py")?.says(&["cannot be undone"])?;
    let doctor = site.run(&["doctor", "--json"])?.all();
    ensure!(doctor.contains("until then actions run and cannot be undone"), "{doctor}");
    ensure!(
        site.run(&["checkpoint", "list"])?.code == Some(1),
        "a vault that cannot be read is not empty"
    );
    site.verify()
}

fn ignored() -> Result<()> {
    let site = site("checkpoints-ignored", ON)?;
    shell(&site, "git init -q . && mkdir cache && echo cache/ > .gitignore && echo big > cache/x")?;
    let reply = act(&site, "s", "c1", "sh rewrite.sh && echo other > cache/x")?;
    ensure!(
        !reply.said.contains("cannot be undone"),
        "what is left out on purpose is not a problem: {reply:?}"
    );
    let kept = recorded(&site, "review", "c1")?;
    ensure!(kept["complete"] == true && kept["left_out"].to_string().contains("/cache"), "{kept}");
    ensure!(kept["left_out_counts"]["ignored by git"] == 1, "{kept}");
    site.snapshot("checkpoints", "one with ignored files", &["checkpoint", "show", "c1"])?;
    let review = site.shown(&["--kind", "review"])?[0]["id"].as_str().context("no id")?.to_owned();
    site.snapshot("checkpoints", "a review with ignored files", &["explain", &review])?;
    restored(&site, "c1", &[])?;
    ensure!(fs::read_to_string(site.project().join("cache/x"))? == "other\n");
    ensure!(fs::read_to_string(site.project().join("many/1.txt"))? == "number 1\n");
    Ok(())
}

fn too_large() -> Result<()> {
    let site = site("checkpoints-large", "[checkpoints]\nenabled = true\nmax_file_mb = 1\n")?;
    fs::write(site.project().join("big"), vec![b'x'; 3 << 20])?;
    let reply = act(&site, "s", "c1", "sh rewrite.sh && echo small > big")?;
    reply.says(&["cannot be undone in full", "too large"])?;
    let kept = recorded(&site, "review", "c1")?;
    ensure!(kept["complete"] == false && kept["left_out"].to_string().contains("big"), "{kept}");
    let done = restored(&site, "c1", &[])?;
    ensure!(done["not_kept"].to_string().contains("big"), "{done}");
    ensure!(fs::read_to_string(site.project().join("many/1.txt"))? == "number 1\n");
    Ok(())
}

fn by_project() -> Result<()> {
    for (name, own, project, taken) in [
        ("on", OFF, "true", true),
        ("off", ON, "false", true),
        ("default", "", "false", true),
        ("none", OFF, "false", false),
    ] {
        let site = site(&format!("checkpoints-project-{name}"), own)?;
        fs::create_dir_all(site.project().join(".portcullis"))?;
        fs::write(
            site.project().join(".portcullis/config.toml"),
            format!("[checkpoints]\nenabled = {project}\n"),
        )?;
        act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
        ensure!(recorded(&site, "review", "c1")?.is_object() == taken, "{name}");
    }
    Ok(())
}

fn looked_at() -> Result<()> {
    let site = site("checkpoints-looked-at", ON)?;
    act(&site, "s", "toolu_1", "sed -i s/main/other/ src/main.rs")?;
    act(&site, "s", "toolu_2", "printf '\\000\\001' > src/deep/data.bin")?;
    site.snapshot("checkpoints", "a list", &["checkpoint", "list"])?;
    let json = listed(&site)?;
    ensure!(
        json.len() == 2
            && json[0]["id"] == "toolu_2"
            && json[1]["session"] == "s"
            && json[1]["changes"] == 1,
        "{json:?}"
    );
    site.snapshot("checkpoints", "a difference", &["checkpoint", "diff", "toolu_1"])?;
    let diff = lines(&site.output(&["checkpoint", "diff", "toolu_2", "--json"])?)?;
    ensure!(
        diff.len() == 1 && diff[0]["how"] == "changed" && diff[0]["diff"].is_null(),
        "{diff:?}"
    );
    for (name, id) in [
        ("two that begin alike", "toolu_"),
        ("one that is not there", "nothing"),
        ("one without a name", ""),
        ("the newest", "last"),
        ("one by its name", "toolu_1"),
    ] {
        site.snapshot("checkpoints", name, &["checkpoint", "show", id])?;
    }
    restored(&site, "toolu_1", &[])?;
    site.snapshot("checkpoints", "a difference that is gone", &["checkpoint", "diff", "toolu_1"])?;
    let name = "\u{1b}[31mred\n.txt";
    let write =
        json!({ "file_path": site.project().join(name), "content": "\u{1b}]0;title\u{7}\n" });
    site.hook(&site.calls("s").before("toolu_3", "Write", write))?;
    fs::write(site.project().join(name), "\u{1b}]0;title\u{7}\n")?;
    site.hook(&site.calls("s").event("Stop", json!({})))?;
    for command in ["diff", "show", "restore"] {
        let shown = site.run(&["checkpoint", command, "toolu_3"])?.all();
        ensure!(
            shown.contains("\\u{1b}[31mred\\n.txt") && !shown.contains('\u{1b}'),
            "{command} drives the terminal: {shown}"
        );
    }
    Ok(())
}

fn for_a_person() -> Result<()> {
    let site = site("checkpoints-person", ON)?;
    act(&site, "s", "c1", "sh rewrite.sh")?;
    let after = tree(&site.project())?;
    let asked = ["checkpoint", "restore", "c1"];
    let ended = site.run(&asked)?;
    ensure!(
        ended.code == Some(1) && ended.all().contains("there is no terminal"),
        "{}",
        ended.all()
    );
    let agent = [("CLAUDECODE", "1")];
    let yes = ["checkpoint", "restore", "c1", "--yes"];
    site.at_a_terminal(&yes, terminal::Answer::Word, &agent)?.ended(1, &["only a person may"])?;
    site.at_a_terminal(&asked, terminal::Answer::Text("no"), &[])?.ended(1, &["not confirmed"])?;
    same(&site, &after)?;
    let reply = site.hook(&site.calls("s").bash("c2", "portcullis checkpoint restore c1 --yes"))?;
    ensure!(matches!(reply.answer, Answer::Refused | Answer::Stopped), "{reply:?}");
    let shown = site.at_a_terminal(&asked, terminal::Answer::Word, &[])?;
    shown.ended(
        0,
        &[
            "many/1.txt",
            "304 paths were put back",
            "To undo this: portcullis checkpoint restore undo-",
        ],
    )
}

fn forgotten() -> Result<()> {
    let site = site("checkpoints-forgotten", "[checkpoints]\nenabled = true\nkept_minutes = 60\n")?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    ensure!(
        site.output(&["maintain", "--all"])?.contains("removed 0 checkpoints")
            && listed(&site)?.len() == 1
    );
    let vault = portcullis_checkpoint::Vault::open_folder(
        site.state().join("checkpoints"),
        portcullis_store::Home::open_root(site.state())?.data_keys(),
        portcullis_checkpoint::Bounds::default(),
    )?;
    let request = portcullis_checkpoint::CheckpointRequest {
        id: portcullis_checkpoint::Id::new("from-long-ago")?,
        at: 1,
        roots: vec![site.project()],
        what: portcullis_checkpoint::What::Tree,
        policy: portcullis_checkpoint::ExclusionPolicy::default(),
        budget: std::time::Duration::from_secs(60),
    };
    vault.take_checkpoint(&request)?;
    ensure!(listed(&site)?.len() == 2);
    ensure!(
        site.output(&["maintain", "--all"])?.contains("removed 1 checkpoint;")
            && listed(&site)?.len() == 1
    );
    site.verify()
}
