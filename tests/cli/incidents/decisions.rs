//! Decisions of a person on a stopped session: it goes on with limits or under supervision, its
//! files go back, or it stays stopped.

use super::{BY_RULE, eventful, id_of, listed, newest, stopped};
use crate::common::process;
use crate::common::reply::Answer as Reply;
use crate::common::site::Site;
use crate::common::terminal::Answer;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::time::Duration;

pub fn resumed() -> Result<()> {
    let site = Site::new("incident-resumed")?;
    fs::write(site.project().join("a.txt"), "a\n")?;
    for (name, text) in [
        ("x.sh", "rm a.txt\n"),
        ("build.sh", "cc -o prog main.c\n"),
        ("x.py", "import os\nos.remove('a.txt')\n"),
        ("prog", "#!/bin/sh\ntrue\n"),
        ("Makefile", "all:\n\tcc -o prog main.c\n"),
        ("package.json", "{\"scripts\": {\"test\": \"node test.js\"}}\n"),
    ] {
        fs::write(site.project().join(name), text)?;
    }
    stopped(&site, "s")?;
    let id = id_of(&newest(&site)?)?;
    person(
        &site,
        &["incident", "resume", &id, "--reason", "it was me"],
        &["Each limit is halved", "the session goes on", "claude --resume s"],
    )?;
    ensure!(
        newest(&site)?["standing"] == "resumed"
            && newest(&site)?["decisions"].to_string().contains("it was me")
    );
    let start = site.hook(&site.calls("s").event("SessionStart", json!({ "source": "resume" })))?;
    start.says(&["a person let it go on", "half of what it was"])?;
    let prompt = site.hook(&site.calls("s").prompt("Go on, carefully."))?;
    ensure!(!prompt.said.contains("let it go on"), "it is told once: {prompt:?}");
    for (call, command, refused) in [
        ("1", "ls -la", false),
        ("2", "cat a.txt", false),
        ("3", "sed -i s/a/b/ a.txt", false),
        ("4", "rm a.txt", true),
        ("5", "curl https://example.com", true),
        ("6", "frobnicate --all", true),
        ("7", "kill 1234", true),
        ("8", "eval \"$WHATEVER\"", true),
        ("20", "bash x.sh", true),
        ("21", "python3 x.py", true),
        ("22", "./prog", true),
        ("23", "make", true),
        ("24", "npm test", true),
        ("25", "git commit -m x", true),
        ("27", "sh build.sh", true),
        ("26", "git status", false),
    ] {
        let reply = site.hook(&site.calls("s").bash(call, command))?;
        ensure!(
            matches!(reply.answer, Reply::Quiet | Reply::Informed) != refused,
            "`{command}`: {reply:?}"
        );
        if refused {
            ensure!(reply.answer == Reply::Refused, "`{command}`: {reply:?}");
            reply
                .says(&["goes on without dangerous actions"])
                .with_context(|| command.to_owned())?;
        }
    }
    ensure!(
        answer(&site, "other", "9", "rm a.txt")? != Reply::Refused,
        "another session is another matter"
    );
    let review =
        site.records()?.into_iter().find(|record| record["call"] == "4").context("no record")?;
    ensure!(
        review["decision"]["adjustments"]
            .to_string()
            .contains("terms of the session: resume_with_limits"),
        "{review}"
    );
    person(&site, &["incident", "lift", &id], &["lifted"])?;
    let reply = site.hook(&site.calls("s").bash("10", "frobnicate --all"))?;
    ensure!(reply.answer == Reply::Informed, "{reply:?}");
    reply.says(&["lifted the terms"])?;
    ensure!(newest(&site)?["standing"] == "lifted");
    let twice = site.at_a_terminal(&["incident", "lift", &id], Answer::Word, &[])?;
    twice.ended(1, &["neither limits nor supervision"])?;
    site.verify()
}

pub fn supervised() -> Result<()> {
    let site = Site::new("incident-supervised")?;
    fs::write(site.project().join("a.txt"), "a\n")?;
    stopped(&site, "s")?;
    person(
        &site,
        &["incident", "supervise", "last"],
        &["ask you about each write", "the session goes on"],
    )?;
    site.hook(&site.calls("s").prompt("Go on."))?.says(&["under supervision"])?;
    let write = json!({ "file_path": site.project().join("b.txt"), "content": "b" });
    let read = json!({ "file_path": site.project().join("a.txt") });
    for (event, expected) in [
        (site.calls("s").bash("1", "cat a.txt"), Reply::Quiet),
        (site.calls("s").before("2", "Read", read), Reply::Quiet),
        (site.calls("s").before("3", "Write", write), Reply::Asked),
        (site.calls("s").bash("4", "rm a.txt"), Reply::Asked),
        (site.calls("s").bash("5", "frobnicate"), Reply::Asked),
        (site.calls("s").prompt("And more."), Reply::Quiet),
        (site.calls("s").bash("6", "touch c.txt"), Reply::Asked),
        (site.calls("s").bash("7", BY_RULE), Reply::Stopped),
    ] {
        let reply = site.hook(&event)?;
        ensure!(reply.answer == expected, "{event}: {reply:?}");
    }
    site.verify()
}

pub fn rolled_back() -> Result<()> {
    let site = Site::new("incident-rolled-back")?;
    site.write("config.toml", "[checkpoints]\nenabled = true\n")?;
    fs::write(site.project().join("a.txt"), "before\n")?;
    fs::write(site.project().join("b.txt"), "mine\n")?;
    let calls = site.calls("s");
    let command = "sed -i s/before/after/ a.txt && echo new > made.txt";
    site.hook(&calls.bash("c1", command))?;
    let ran = Command::new("/bin/sh").args(["-c", command]).current_dir(site.project()).status()?;
    ensure!(ran.success());
    site.hook(&calls.bash_done("c1", command, ""))?;
    stopped(&site, "s")?;
    let incident = newest(&site)?;
    let id = id_of(&incident)?;
    ensure!(incident["recovery"][1]["checkpoint"] == "c1", "{}", incident["recovery"]);
    ensure!(site.output(&["incident", "show", &id])?.contains("as they were before `Bash: sed -i"));
    let says = [
        "2 paths would be put back",
        "2 paths were put back",
        "the session goes on",
        "Back to the checkpoint c1: no checkpoint was taken since",
    ];
    person(&site, &["incident", "rollback", &id], &says)?;
    ensure!(
        fs::read_to_string(site.project().join("a.txt"))? == "before\n"
            && !site.project().join("made.txt").exists()
    );
    ensure!(fs::read_to_string(site.project().join("b.txt"))? == "mine\n");
    site.hook(&calls.prompt("Once more."))?.says(&[
        "put the files back",
        "checkpoint c1",
        "read them again",
    ])?;
    ensure!(
        answer(&site, "s", "c2", "ls")? == Reply::Quiet
            && newest(&site)?["standing"] == "rolled back"
    );
    fs::write(site.project().join("a.txt"), "a person's\n")?;
    stopped(&site, "s")?;
    let refused =
        site.at_a_terminal(&["incident", "rollback", "last", "--to", "c1"], Answer::Word, &[])?;
    refused.ended(1, &["a.txt", "Back to the checkpoint c1: you named it"])?;
    ensure!(newest(&site)?["standing"] == "stopped", "what was not put back is not let go on");
    site.verify()
}

pub fn aborted() -> Result<()> {
    let site = Site::new("incident-aborted")?;
    eventful(&site, "s")?;
    let made = site.project().join("made.txt");
    person(
        &site,
        &["incident", "abort", "last"],
        &["stays stopped", "files that it made (1)", "made.txt", "background", "sleep 600"],
    )?;
    ensure!(made.exists() && newest(&site)?["standing"] == "aborted");
    let shown =
        site.at_a_terminal(&["incident", "abort", "last", "--clean-up"], Answer::Word, &[])?;
    shown.ended(0, &["moved away", "portcullis quarantine restore"])?;
    ensure!(!made.exists(), "it is still there");
    ensure!(
        site.hook(&site.calls("s").bash("after", "ls"))?.answer == Reply::Stopped,
        "it goes on"
    );
    ensure!(fs::read_to_string(site.project().join(".portcullis/quarantine/.gitignore"))? == "*\n");
    site.output(&["quarantine", "restore", "last", "--yes"])?;
    ensure!(fs::read_to_string(&made)? == "x\n");
    site.write("config.toml", "[incidents]\nauto_cleanup = true\n")?;
    person(&site, &["incident", "abort", "last"], &["moved away"])?;
    ensure!(!made.exists());
    person(&site, &["incident", "resume", "last"], &["the session goes on"])?;
    ensure!(answer(&site, "s", "c9", "ls")? == Reply::Informed, "a person may think better of it");
    site.verify()
}

pub fn for_a_person() -> Result<()> {
    let site = Site::new("incident-person")?;
    stopped(&site, "s")?;
    let agent = [("CLAUDECODE", "1")];
    for verb in ["resume", "rollback", "supervise", "abort", "lift"] {
        let asked = ["incident", verb, "last"];
        site.at_a_terminal(&asked, Answer::Word, &agent)?.ended(1, &["only a person may"])?;
        let alone = process::run(site.command(&asked), b"", Duration::from_secs(60))?;
        ensure!(alone.code == Some(1), "{verb}: {}", alone.all());
        let reply =
            site.hook(&site.calls(verb).bash(verb, &format!("portcullis incident {verb} last")))?;
        ensure!(reply.answer == Reply::Refused, "{verb}: {reply:?}");
    }
    for verb in ["resume", "supervise", "abort"] {
        site.at_a_terminal(&["incident", verb, "last"], Answer::Text("no"), &[])?
            .ended(1, &["not confirmed"])?;
    }
    for verb in ["restore", "purge"] {
        let reply = site.hook(
            &site
                .calls(&format!("q-{verb}"))
                .bash(verb, &format!("portcullis quarantine {verb} last --yes")),
        )?;
        ensure!(reply.answer == Reply::Refused, "{verb}: {reply:?}");
    }
    for command in
        ["portcullis incident list", "portcullis incident show last", "portcullis quarantine list"]
    {
        ensure!(answer(&site, "t", command, command)? != Reply::Refused, "{command}");
    }
    ensure!(newest(&site)?["standing"] == "stopped" && newest(&site)?["decisions"] == json!([]));
    ensure!(answer(&site, "s", "after", "ls")? == Reply::Stopped);
    site.verify()
}

pub fn again() -> Result<()> {
    let site = Site::new("incident-again")?;
    stopped(&site, "s")?;
    let first = id_of(&newest(&site)?)?;
    person(&site, &["incident", "supervise", &first], &["the session goes on"])?;
    stopped(&site, "s")?;
    let all = listed(&site)?;
    ensure!(
        all.len() == 2 && all[0]["standing"] == "stopped" && all[1]["standing"] == "past",
        "{all:?}"
    );
    site.at_a_terminal(&["incident", "resume", &first], Answer::Word, &[])?
        .ended(1, &["is out of date"])?;
    ensure!(answer(&site, "s", "after", "ls")? == Reply::Stopped);
    ensure!(site.output(&["incident", "show", &first])?.contains("has a newer incident"));
    person(&site, &["incident", "resume", "last"], &["the session goes on"])?;
    ensure!(
        answer(&site, "s", "c3", "ls")? == Reply::Informed
            && answer(&site, "s", "c4", "ls")? == Reply::Quiet
    );
    site.verify()
}

fn person(site: &Site, arguments: &[&str], says: &[&str]) -> Result<()> {
    site.at_a_terminal(arguments, Answer::Word, &[])?.ended(0, says)
}

fn answer(site: &Site, session: &str, id: &str, command: &str) -> Result<Reply> {
    Ok(site.hook(&site.calls(session).bash(id, command))?.answer)
}
