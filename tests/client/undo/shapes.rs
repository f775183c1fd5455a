//! Undo of the shapes in which commands change many files, by a person at a terminal.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_tests::shapes::{SHAPES, Shape, create_project, read_project};
use portcullis_tests::{Tree, differing};

use super::{CONFIGURATION, all_ran, commands, trial};
use crate::evidence::tool_results;
use crate::person::confirm;
use crate::run::{self, Programs, Session};
use crate::scratch::{Installed, Scratch};

/// The number of shapes that one client plays, one after the other.
const TOGETHER: usize = 6;

/// The commands of two requests.
const FIRST: &[&str] = &["sed -i s/number/other/ src/*.txt"];
const SECOND: &[&str] =
    &["sh rewrite.sh", "chmod -R 700 src", "mv src elsewhere", "cat rewrite.sh"];

/// Returns the tests.
pub(super) fn trials(parent: &Path, programs: &Result<Programs>) -> Vec<Trial> {
    let mut trials: Vec<Trial> = SHAPES
        .chunks(TOGETHER)
        .map(|shapes| {
            let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
            let name = format!("undo: at a terminal, each after it ran: {}", names.join(", "));
            trial(&name, parent, programs, move |scratch, programs| {
                undo_each(shapes, scratch, programs)
            })
        })
        .collect();
    trials.push(trial("undo: everything since the last of two requests", parent, programs, prompt));
    trials
}

/// Plays shapes in one session: the person undoes each before the model hears of it.
fn undo_each(shapes: &'static [Shape], scratch: &Scratch, programs: &Programs) -> Result<()> {
    let before = prepare(scratch, programs)?;
    let lines: Vec<&str> = shapes.iter().map(|shape| shape.command).collect();
    let session = Session {
        prompt: "Clean up.".to_owned(),
        turns: commands("toolu_shape", &lines),
        ..Session::default()
    };
    let person = {
        let (scratch, programs) = (scratch.clone(), programs.clone());
        move |played: usize| {
            let Some(shape) = played.checked_sub(1).and_then(|last| shapes.get(last)) else {
                return Ok(());
            };
            undo_one(shape, &before, &scratch, &programs).context(shape.name)
        }
    };
    let evidence = run::run_with(&session, scratch, programs, Box::new(person))?;
    all_ran(&tool_results(&evidence.conversation), lines.len())?;
    ensure!(evidence.conversation.unplayed == 0, "{:?}", evidence.stderr);
    evidence.journal.map(drop)
}

fn undo_one(shape: &Shape, before: &Tree, scratch: &Scratch, programs: &Programs) -> Result<()> {
    let changed = differing(before, &read_project(&scratch.project())?).len();
    ensure!(changed >= shape.changes, "{changed} paths changed, not {}", shape.changes);
    undo("undo", scratch, programs)?;
    same(before, scratch)
}

/// Undoes what the second of two requests did, whatever the first did.
fn prompt(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let start = prepare(scratch, programs)?;
    let play = |prompt: &str, id: &str, lines: &[&str], arguments: &[&str]| {
        let session = Session {
            prompt: prompt.to_owned(),
            turns: commands(id, lines),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            ..Session::default()
        };
        let evidence = run::run(&session, scratch, programs)?;
        let mut results = tool_results(&evidence.conversation);
        results.retain(|call, _| call.starts_with(id));
        all_ran(&results, lines.len())?;
        evidence.journal.map(drop)
    };
    play("Rename them.", "toolu_first", FIRST, &[])?;
    let between = read_project(&scratch.project())?;
    ensure!(differing(&start, &between).len() >= 300, "the first request changed too little");
    play("Move everything.", "toolu_second", SECOND, &["--continue"])?;
    ensure!(differing(&between, &read_project(&scratch.project())?).len() >= 300);
    let shown = undo("undo --prompt", scratch, programs)?;
    for words in ["3 actions since your request", "Move everything."] {
        ensure!(shown.contains(words), "no `{words}`: {shown}");
    }
    same(&between, scratch)
}

/// Creates the project, installs our hooks, and returns the project.
fn prepare(scratch: &Scratch, programs: &Programs) -> Result<Tree> {
    let configuration = (scratch.state().join("config.toml"), CONFIGURATION.to_owned());
    scratch.furnish(&BTreeMap::new(), &[configuration].into())?;
    create_project(&scratch.project())?;
    scratch.install(&programs.portcullis, &programs.portcullis, Installed::User)?;
    read_project(&scratch.project())
}

/// Runs an undo for a person who confirms it, and returns what the terminal showed.
fn undo(arguments: &str, scratch: &Scratch, programs: &Programs) -> Result<String> {
    let shown = confirm(scratch, programs, arguments)?;
    shown.ended(0, &["put back", "To undo this: portcullis checkpoint restore undo-"])?;
    ensure!(!shown.text.contains("not restored"), "{}", shown.text);
    Ok(shown.text)
}

fn same(before: &Tree, scratch: &Scratch) -> Result<()> {
    let after = read_project(&scratch.project())?;
    let lost = differing(before, &after);
    ensure!(lost.is_empty(), "{} paths are not as before: {lost:?}", lost.len());
    Ok(())
}
