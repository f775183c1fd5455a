//! Tests of a stopped session of the real client: its incident, and the effect of a person's
//! decision when the client resumes the session.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::case::{Block, Turn};
use crate::evidence::{context, tool_results};
use crate::installed::install;
use crate::model::Model;
use crate::person::{at_a_terminal, watching};
use crate::run::{self, Evidence, Programs, Session};
use crate::scratch::Scratch;
use crate::staying::Staying;

/// A command that stops the session.
const FATAL: &str = "rm -rf ~";

/// Stricter limits and no dangerous actions, until they are lifted.
pub(crate) fn resumed(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    let (made, letter) = (scratch.project().join("made.txt"), scratch.home().join("letter.txt"));
    fs::write(&letter, "dear friend\n")?;
    let session = stop(scratch, programs, Vec::new())?;
    ensure!(letter.exists(), "it was not stopped");
    let incident = newest(scratch, programs)?;
    ensure!(
        incident["session"] == session.as_str() && incident["standing"] == "stopped",
        "{incident}"
    );
    ensure!(incident["state"]["goals"].to_string().contains("Free some space."), "{incident}");
    let still = play(scratch, programs, &session, vec![bash("toolu_1", "ls")])?;
    ensure!(
        still.stream.iter().any(|line| line["terminal_reason"] == "hook_stopped"),
        "it went on: {:?}",
        still.stream.last()
    );
    let said = at_a_terminal(scratch, programs, "incident resume last")?;
    ensure!(said.contains("the session goes on") && said.contains(&session), "{said}");
    let steps = vec![
        bash("toolu_2", "echo made > made.txt"),
        bash("toolu_3", "rm made.txt"),
        bash("toolu_4", "cat made.txt"),
    ];
    let evidence = play(scratch, programs, &session, steps)?;
    let results = tool_results(&evidence.conversation);
    let failed = |id: &str| results.get(id).map(|result| result.error);
    ensure!(
        failed("toolu_2") == Some(false)
            && failed("toolu_3") == Some(true)
            && failed("toolu_4") == Some(false),
        "{results:?}"
    );
    ensure!(made.exists(), "a dangerous action ran");
    ensure!(
        context(&evidence.conversation).contains("a person let it go on"),
        "the agent was not told"
    );
    at_a_terminal(scratch, programs, "incident lift last")?;
    let evidence = play(scratch, programs, &session, vec![bash("toolu_5", "rm made.txt")])?;
    ensure!(
        tool_results(&evidence.conversation).get("toolu_5").is_some_and(|result| !result.error)
            && !made.exists(),
        "it was not lifted"
    );
    evidence.journal.map(drop)
}

/// The session's changes before its stop are reverted.
pub(crate) fn rolled_back(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    fs::write(scratch.state().join("config.toml"), "[checkpoints]\nenabled = true\n")?;
    let (notes, made) = (scratch.project().join("notes.txt"), scratch.project().join("made.txt"));
    fs::write(&notes, "before\n")?;
    let session = stop(
        scratch,
        programs,
        vec![bash("toolu_1", "sed -i s/before/after/ notes.txt && echo made > made.txt")],
    )?;
    ensure!(fs::read_to_string(&notes)? == "after\n" && made.exists(), "the command did not run");
    ensure!(
        newest(scratch, programs)?["recovery"][1]["checkpoint"] == "toolu_1",
        "no checkpoint is named"
    );
    let said = at_a_terminal(scratch, programs, "incident rollback last")?;
    ensure!(
        said.contains("2 paths were put back") && said.contains("the session goes on"),
        "{said}"
    );
    ensure!(
        fs::read_to_string(&notes)? == "before\n" && !made.exists(),
        "the files are not as before"
    );
    let evidence = play(scratch, programs, &session, vec![bash("toolu_2", "cat notes.txt")])?;
    ensure!(
        tool_results(&evidence.conversation).get("toolu_2").is_some_and(|result| !result.error),
        "it does not go on"
    );
    ensure!(context(&evidence.conversation).contains("read them again"), "the agent was not told");
    evidence.journal.map(drop)
}

/// Each change waits for a person: without one it is refused, and at a terminal it follows their
/// answer.
pub(crate) fn supervised(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    let project = scratch.project();
    let (notes, made) = (project.join("notes.txt"), project.join("made.txt"));
    fs::write(&notes, "before\n")?;
    let session = stop(scratch, programs, Vec::new())?;
    let said = at_a_terminal(scratch, programs, "incident supervise last")?;
    ensure!(said.contains("ask you about each write") && said.contains(&session), "{said}");
    let write = Block::Tool {
        tool: "Write".to_owned(),
        id: "toolu_2".to_owned(),
        input: json!({ "file_path": made, "content": "made\n" }),
    };
    let changes = [
        write,
        bash("toolu_3", "echo after > notes.txt"),
        bash("toolu_4", "rm notes.txt"),
        bash("toolu_5", "mkdir folder"),
    ];
    let calls = std::iter::once(bash("toolu_1", "cat notes.txt"))
        .chain(changes)
        .chain([bash("toolu_6", "ls")])
        .collect();
    let evidence = play(scratch, programs, &session, calls)?;
    ensure!(
        context(&evidence.conversation).contains("under supervision"),
        "the agent was not told"
    );
    let results = tool_results(&evidence.conversation);
    for (id, refused) in ["toolu_1", "toolu_2", "toolu_3", "toolu_4", "toolu_5", "toolu_6"]
        .iter()
        .zip([false, true, true, true, true, false])
    {
        let result = results.get(*id).with_context(|| format!("{id} has no result"))?;
        let asked = result.text.contains("a person approves each write, deletion and command");
        ensure!((result.error, asked) == (refused, refused), "{id}: {result:?}");
    }
    ensure!(
        fs::read_to_string(&notes)? == "before\n"
            && !made.exists()
            && !project.join("folder").exists(),
        "a change was made"
    );
    let asked = evidence
        .journal?
        .iter()
        .filter(|record| record["kind"] == "review" && record["decision"]["verdict"] == "ask")
        .count();
    ensure!(asked == 4, "{asked} reviews ask");
    let turns = [
        call(bash("toolu_7", "echo yes > made.txt")),
        call(bash("toolu_8", "rm notes.txt")),
        done(),
    ];
    let model = Model::start(&turns, &BTreeMap::new())?;
    let client = ["-p", "--resume", &session, "--permission-mode", "bypassPermissions", "Go on."];
    let shown = watching(scratch, programs, &model.url(), &client, &["y\n", "n\n"]);
    let results = tool_results(&model.finish()?);
    shown?.ended(0, &["wants to use Bash", "a person approves each write", "rm notes.txt"])?;
    ensure!(
        results.get("toolu_7").is_some_and(|result| !result.error)
            && results.get("toolu_8").is_some_and(|result| result.error),
        "{results:?}"
    );
    ensure!(
        fs::read_to_string(&made)? == "yes\n" && notes.exists(),
        "it is not as the person answered"
    );
    at_a_terminal(scratch, programs, "incident lift last")?;
    let evidence = play(scratch, programs, &session, vec![bash("toolu_9", "rm notes.txt")])?;
    ensure!(
        tool_results(&evidence.conversation).get("toolu_9").is_some_and(|result| !result.error)
            && !notes.exists(),
        "it was not lifted"
    );
    evidence.journal.map(drop)
}

/// Nothing continues: neither in the running client, nor when it resumes the session.
pub(crate) fn aborted(scratch: &Scratch, programs: &Programs) -> Result<()> {
    install(scratch, programs, &[], None)?;
    let after = scratch.project().join("after.txt");
    let make = |id: &str| bash(id, "echo after > after.txt");
    let calls =
        [bash("toolu_1", "echo made > made.txt"), bash("toolu_fatal", FATAL), make("toolu_2")];
    let mut client = Staying::start(scratch, programs, &calls.map(call))?;
    let said = client.prompt("Free some space.")?;
    let ended = said.last().context("it said nothing")?;
    ensure!(ended["terminal_reason"] == "hook_stopped", "{ended}");
    let session = ended["session_id"].as_str().context("the client names no session")?.to_owned();
    let shown = at_a_terminal(scratch, programs, "incident abort last")?;
    ensure!(
        shown.contains("the session stays stopped")
            && shown.contains("files that it made (1)")
            && shown.contains("made.txt"),
        "{shown}"
    );
    let said = client.prompt("Go on.")?;
    ensure!(
        said.last().is_some_and(|line| line["terminal_reason"] == "hook_stopped"),
        "it went on: {:?}",
        said.last()
    );
    let result = |line: &Value| line["message"]["content"][0].clone();
    let action_result = said
        .iter()
        .map(result)
        .find(|result| result["tool_use_id"] == "toolu_2")
        .context("the action has no result")?;
    ensure!(
        action_result["is_error"] == true
            && action_result.to_string().contains("portcullis incident show")
            && !after.exists(),
        "it ran: {action_result}"
    );
    let conversation = client.end()?;
    ensure!(
        conversation.unplayed == 0 && conversation.overrun == 0,
        "the model was asked once more: {conversation:?}"
    );
    let evidence = play(scratch, programs, &session, vec![make("toolu_3")])?;
    ensure!(
        evidence.stream.iter().any(|line| line["terminal_reason"] == "hook_stopped"),
        "it went on: {:?}",
        evidence.stream.last()
    );
    ensure!(
        evidence.conversation.unplayed == 1 && !after.exists(),
        "the agent went on: {:?}",
        evidence.conversation
    );
    ensure!(
        newest(scratch, programs)?["standing"] == "aborted"
            && scratch.project().join("made.txt").exists()
    );
    evidence.journal.map(drop)
}

/// Plays these calls and then one that stops the session; returns the session's id.
fn stop(scratch: &Scratch, programs: &Programs, before: Vec<Block>) -> Result<String> {
    let calls = before.into_iter().chain([bash("toolu_fatal", FATAL)]);
    let session = Session {
        prompt: "Free some space.".to_owned(),
        turns: calls.map(call).collect(),
        ..Session::default()
    };
    let evidence = run::run(&session, scratch, programs)?;
    let id = evidence.stream.iter().find_map(|line| line["session_id"].as_str());
    Ok(id.context("the client names no session")?.to_owned())
}

/// Resumes the same session and plays these calls.
fn play(
    scratch: &Scratch,
    programs: &Programs,
    session: &str,
    calls: Vec<Block>,
) -> Result<Evidence> {
    let session = Session {
        prompt: "Go on.".to_owned(),
        turns: calls.into_iter().map(call).chain([done()]).collect(),
        arguments: vec!["--resume".to_owned(), session.to_owned()],
        ..Session::default()
    };
    run::run(&session, scratch, programs)
}

fn call(block: Block) -> Turn {
    vec![block]
}

fn done() -> Turn {
    vec![Block::Text { text: "Done.".to_owned() }]
}

fn bash(id: &str, command: &str) -> Block {
    Block::Tool { tool: "Bash".to_owned(), id: id.to_owned(), input: json!({ "command": command }) }
}

fn newest(scratch: &Scratch, programs: &Programs) -> Result<Value> {
    let mut show = Command::new(&programs.portcullis);
    show.args(["incident", "show", "last", "--json"])
        .current_dir(scratch.project())
        .env_clear()
        .envs(run::environment(scratch));
    let output = show.output().context("cannot start `portcullis incident`")?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("it said `{}`", String::from_utf8_lossy(&output.stderr).trim()))
}
