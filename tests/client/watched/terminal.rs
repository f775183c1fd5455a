//! Tests of questions to the person at the terminal, the effect of the answer on the agent, and the
//! journal.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use portcullis_tests::terminal::{Answer, CALL, converse, script};

use super::{agents, bash, command, mark, text};
use crate::case::Turn;
use crate::evidence::{ToolResult, tool_results};
use crate::model::{Conversation, Model};
use crate::run::{self, Programs};
use crate::scratch::Scratch;
use portcullis_tests::process;

/// A command that the review asks a person about: it hides what it runs, `echo hidden > out.txt`.
const HIDDEN: &str = "echo ZWNobyBoaWRkZW4gPiBvdXQudHh0Cg== | base64 -d | sh";

/// A question and its outcome.
struct Row {
    name: &'static str,
    options: &'static [&'static str],
    /// The person's keys.
    types: &'static [&'static str],
    runs: bool,
    /// The agent's information about a refused call.
    reason: &'static str,
    /// The summary's text about it.
    said: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        name: "yes",
        options: &[],
        types: &["y\n"],
        runs: true,
        reason: "",
        said: "the person let it run",
    },
    Row {
        name: "no",
        options: &[],
        types: &["n\n"],
        runs: false,
        reason: "The person at the terminal said no.",
        said: "the person said no",
    },
    Row {
        name: "other",
        options: &[],
        types: &["yellow\n"],
        runs: false,
        reason: "said no",
        said: "the person said no",
    },
    Row {
        name: "return",
        options: &[],
        types: &["\n"],
        runs: false,
        reason: "said no",
        said: "the person said no",
    },
    Row {
        name: "late",
        options: &["--answer-time", "2s"],
        types: &[],
        runs: false,
        reason: "nobody at the terminal answered in time",
        said: "nobody answered in time",
    },
];

pub(super) fn asked(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let programs = &linked(scratch, programs)?;
    let out = scratch.project().join("out.txt");
    for Row { name, options, types, runs, reason, said } in ROWS {
        let call = format!("toolu_{name}");
        let (shown, code, conversation) = play(
            scratch,
            programs,
            options,
            types,
            &[bash(&call, HIDDEN), bash("toolu_after", "true"), text("Done.")],
        )?;
        ensure!(code == Some(0) && conversation.unplayed == 0, "{name}: {code:?}: {shown}");
        ensure!(out.exists() == *runs, "{name}: the command ran: {}: {shown}", out.exists());
        for part in [CALL, "Bash", "base64 -d", said, "1 ask"] {
            ensure!(shown.contains(part), "{name}: `{part}` is missing: {shown}");
        }
        let results = tool_results(&conversation);
        let ToolResult { error, text } =
            results.get(&call).context("the agent was told nothing")?;
        ensure!(*error != *runs && text.contains(reason), "{name}: the agent was told {text:?}");
        let records = run::journal(scratch, &programs.portcullis)?;
        let of = |kind: &str| {
            records
                .iter()
                .filter(|record| record["call"] == call.as_str() && record["kind"] == kind)
                .collect::<Vec<_>>()
        };
        ensure!(
            of("review").len() == 1 && of("review")[0]["verdict"] == "ask",
            "{name}: {records:?}"
        );
        ensure!(of("outcome").len() == usize::from(*runs), "{name}: {records:?}");
        let _ = fs::remove_file(&out);
    }
    Ok(())
}

/// The run's time ends before the person answers.
pub(super) fn ended(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let programs = &linked(scratch, programs)?;
    let (shown, code, conversation) = play(
        scratch,
        programs,
        &["--time", "8s"],
        &[],
        &[bash("toolu_ask", HIDDEN), text("Done.")],
    )?;
    ensure!(code == Some(11) && conversation.unplayed == 1, "{code:?}: {shown}");
    ensure!(shown.contains(CALL) && shown.contains("stopped: it used up its time"), "{shown}");
    ensure!(!scratch.project().join("out.txt").exists(), "it ran: {shown}");
    Ok(())
}

/// Links the client under a path that does not show its package: `script` has that path in its own
/// command line, and would be taken for a client above us.
fn linked(scratch: &Scratch, programs: &Programs) -> Result<Programs> {
    let client = scratch.root().join("claude");
    symlink(&programs.client, &client)?;
    Ok(Programs { client, ..programs.clone() })
}

/// Input typed before a question ended without an answer is not part of the answer to the next one.
pub(super) fn late(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let programs = &linked(scratch, programs)?;
    let turns = [bash("toolu_first", HIDDEN), bash("toolu_second", HIDDEN), text("Done.")];
    let (shown, code, conversation) =
        play(scratch, programs, &["--answer-time", "3s"], &["y", "\n"], &turns)?;
    ensure!(code == Some(0) && conversation.unplayed == 0, "{code:?}: {shown}");
    let results = tool_results(&conversation);
    for (call, reason) in [("toolu_first", "answered in time"), ("toolu_second", "said no")] {
        ensure!(
            results.get(call).is_some_and(|result| result.error && result.text.contains(reason)),
            "{call}: {results:?}: {shown}"
        );
    }
    ensure!(!scratch.project().join("out.txt").exists(), "it ran: {shown}");
    Ok(())
}

/// Plays the turns with a person at a terminal, who types the next of these at each question.
/// Returns the terminal's output.
fn play(
    scratch: &Scratch,
    programs: &Programs,
    options: &[&str],
    types: &[&str],
    turns: &[Turn],
) -> Result<(String, Option<i32>, Conversation)> {
    let model = Model::start(turns, &std::collections::BTreeMap::new())?;
    let shown = at_a_terminal(
        scratch,
        &command(scratch, programs, &model.url(), options),
        &model.url(),
        types,
    );
    let left = agents(scratch);
    process::end_marked(&mark(scratch));
    let conversation = model.finish()?;
    let (shown, code) = shown?;
    ensure!(left.is_empty(), "these are left: {left:?}; it said {shown}");
    Ok((shown, code, conversation))
}

fn at_a_terminal(
    scratch: &Scratch,
    wanted: &Command,
    url: &str,
    types: &[&str],
) -> Result<(String, Option<i32>)> {
    let words = std::iter::once(wanted.get_program()).chain(wanted.get_args());
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let mut script = script(&words);
    run::surround(&mut script, scratch, url);
    let shown = converse(script, Answer::Keys(types))?;
    Ok((shown.text, shown.code))
}
