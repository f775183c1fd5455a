//! Tests of the ways in which a client starts the hook: without arguments, and with an input that
//! does not end.

use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

pub fn tests() -> Vec<Trial> {
    vec![
        trial("started: without arguments, an event gets its answer", bare),
        trial("started: an input that does not end is refused before the client gives up", endless),
    ]
}

fn run(mut command: Command, input: &[u8]) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().context("it has no input")?.write_all(input)?;
    Ok(child.wait_with_output()?)
}

fn decision(stdout: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(stdout).ok()?;
    Some(body.pointer("/hookSpecificOutput/permissionDecision")?.as_str()?.to_owned())
}

fn bare() -> Result<()> {
    let site = Site::new("bare")?;
    // A stopped session would refuse the next command too.
    let bad = site.calls("bad").bash("1", "rm -rf ~").to_string();
    let good = site.calls("good").bash("2", "ls").to_string();
    let stranger = json!({"tool": "Bash"}).to_string();
    for (input, code, decided, says) in [
        (bad.as_str(), 2, Some("deny"), "home"),
        (&good, 0, None, ""),
        // Whoever passes no event is a person or a script with a mistake.
        ("", 2, None, "Usage"),
        ("ls", 2, None, "Usage"),
        (&stranger, 2, None, "Usage"),
    ] {
        let output = run(site.command(&[]), input.as_bytes())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(code), "{input}: {:?}, {stderr}", output.status);
        ensure!(decision(&output.stdout).as_deref() == decided, "{input}: {output:?}");
        ensure!(stderr.contains(says), "{input}: {stderr}");
    }
    let records = site.records()?;
    let reviews = records.iter().filter(|record| record["kind"] == "review").count();
    ensure!(reviews == 2, "{reviews} reviews");
    site.verify()
}

/// The event is complete, and the client keeps the pipe open.
fn endless() -> Result<()> {
    let site = Site::new("endless")?;
    // The first client refuses by itself after its timeout.
    let mut command = site.command(&["hook", "codex"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("it has no input")?;
    stdin.write_all(site.calls("endless").bash("1", "ls").to_string().as_bytes())?;
    let mut stdout = Vec::new();
    child.stdout.take().context("it has no output")?.read_to_end(&mut stdout)?;
    let code = child.wait()?.code();
    let shown = String::from_utf8_lossy(&stdout);
    ensure!(code == Some(2), "{code:?}: {shown}");
    ensure!(decision(&stdout).as_deref() == Some("deny"), "{shown}");
    ensure!(shown.contains("longer than 24 s"), "{shown}");
    drop(stdin);
    site.ordinary("next")
}
