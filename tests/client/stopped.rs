//! A stopped session of the real client: the incident that it leaves, and what a person's decision does to the same
//! session when the client takes it up again.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::case::Block;
use crate::evidence::{context, tool_results};
use crate::installed::{at_a_terminal, install};
use crate::run::{self, Evidence, Programs, Session};
use crate::scratch::Scratch;

/// Stops the session.
const FATAL: &str = "rm -rf ~";

/// Stricter limits and no dangerous actions, until they are lifted.
pub(crate) fn resumed(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    let (made, letter) = (scratch.project().join("made.txt"), scratch.home().join("letter.txt"));
    fs::write(&letter, "dear friend\n")?;
    let session = stop(scratch, programs, Vec::new())?;
    ensure!(letter.exists(), "it was not stopped");
    let incident = newest(scratch, programs)?;
    ensure!(incident["session"] == session.as_str() && incident["standing"] == "stopped", "{incident}");
    ensure!(incident["state"]["goals"].to_string().contains("Free some space."), "{incident}");
    let still = play(scratch, programs, &session, vec![bash("toolu_1", "ls")])?;
    ensure!(still.stream.iter().any(|line| line["terminal_reason"] == "hook_stopped"), "it went on: {:?}", still.stream.last());
    let said = at_a_terminal(scratch, programs, "incident resume last")?;
    ensure!(said.contains("the session goes on") && said.contains(&session), "{said}");
    let steps = vec![bash("toolu_2", "echo made > made.txt"), bash("toolu_3", "rm made.txt"), bash("toolu_4", "cat made.txt")];
    let evidence = play(scratch, programs, &session, steps)?;
    let told = tool_results(&evidence.conversation);
    let failed = |id: &str| told.get(id).map(|told| told.error);
    ensure!(failed("toolu_2") == Some(false) && failed("toolu_3") == Some(true) && failed("toolu_4") == Some(false), "{told:?}");
    ensure!(made.exists(), "a dangerous action ran");
    ensure!(context(&evidence.conversation).contains("a person let it go on"), "the agent was not told");
    at_a_terminal(scratch, programs, "incident lift last")?;
    let evidence = play(scratch, programs, &session, vec![bash("toolu_5", "rm made.txt")])?;
    ensure!(tool_results(&evidence.conversation).get("toolu_5").is_some_and(|told| !told.error) && !made.exists(), "it was not lifted");
    evidence.journal.map(drop)
}

/// What the session changed before its stop comes back.
pub(crate) fn rolled_back(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    fs::write(scratch.state().join("config.toml"), "[checkpoints]\nenabled = true\n")?;
    let (notes, made) = (scratch.project().join("notes.txt"), scratch.project().join("made.txt"));
    fs::write(&notes, "before\n")?;
    let session = stop(scratch, programs, vec![bash("toolu_1", "sed -i s/before/after/ notes.txt && echo made > made.txt")])?;
    ensure!(fs::read_to_string(&notes)? == "after\n" && made.exists(), "the command did not run");
    ensure!(newest(scratch, programs)?["recovery"][1]["checkpoint"] == "toolu_1", "no checkpoint is named");
    let said = at_a_terminal(scratch, programs, "incident rollback last")?;
    ensure!(said.contains("2 paths were put back") && said.contains("the session goes on"), "{said}");
    ensure!(fs::read_to_string(&notes)? == "before\n" && !made.exists(), "the files are not as before");
    let evidence = play(scratch, programs, &session, vec![bash("toolu_2", "cat notes.txt")])?;
    ensure!(tool_results(&evidence.conversation).get("toolu_2").is_some_and(|told| !told.error), "it does not go on");
    ensure!(context(&evidence.conversation).contains("read them again"), "the agent was not told");
    evidence.journal.map(drop)
}

/// Plays these calls and then one that stops the session; gives the session's id.
fn stop(scratch: &Scratch, programs: &Programs, before: Vec<Block>) -> Result<String> {
    let calls = before.into_iter().chain([bash("toolu_fatal", FATAL)]);
    let session = Session { prompt: "Free some space.".to_owned(), turns: calls.map(|call| vec![call]).collect(), ..Session::default() };
    let evidence = run::run(&session, scratch, programs)?;
    let id = evidence.stream.iter().find_map(|line| line["session_id"].as_str());
    Ok(id.context("the client names no session")?.to_owned())
}

/// The same session, taken up again.
fn play(scratch: &Scratch, programs: &Programs, session: &str, calls: Vec<Block>) -> Result<Evidence> {
    let end = vec![Block::Text { text: "Done.".to_owned() }];
    let session = Session {
        prompt: "Go on.".to_owned(),
        turns: calls.into_iter().map(|call| vec![call]).chain([end]).collect(),
        arguments: vec!["--resume".to_owned(), session.to_owned()],
        ..Session::default()
    };
    run::run(&session, scratch, programs)
}

fn bash(id: &str, command: &str) -> Block {
    Block::Tool { tool: "Bash".to_owned(), id: id.to_owned(), input: json!({ "command": command }) }
}

fn newest(scratch: &Scratch, programs: &Programs) -> Result<Value> {
    let mut show = Command::new(&programs.portcullis);
    show.args(["incident", "show", "last", "--json"]).current_dir(scratch.project()).env_clear().envs(run::environment(scratch));
    let output = show.output().context("cannot start `portcullis incident`")?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("it said `{}`", String::from_utf8_lossy(&output.stderr).trim()))
}
