//! Every known way in which the client continues without a review, reproduced with our hooks
//! installed. Each row tests whether the call runs, whether a record says so, and whether the
//! documented table is correct.
//!
//! The harmful call deletes a folder outside the project, which a healthy reviewer blocks and which
//! runs without a hook (the first part of the table shows both). A row marked `closed` fails if the
//! call ran, one marked `open` or `found` fails if it did not: the table has to be corrected in
//! both cases.

pub(crate) mod data;
pub(crate) mod document;
pub(crate) mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::case::{Block, Turn};
use crate::evidence::tool_results;
use crate::machine;
use crate::run::{self, Evidence, Programs, Session};
use crate::scratch::{Installed, Scratch};
use data::{Edit, Happens, Part, Play, Row, Trace};

/// Returns a test for each session of the table, and one for the table itself.
pub(crate) fn trials(parent: &Path, programs: &Result<Programs>) -> Result<Vec<Trial>> {
    let folder = parent.to_owned();
    let mut trials = vec![
        Trial::test("fail-open: document", || document::check().map_err(failed)),
        Trial::test("fail-open: handlers", move || handlers(&folder).map_err(failed)),
    ];
    for id in data::parts()?.into_iter().flat_map(|part| part.sessions).map(|play| play.id) {
        let name = format!("fail-open: {id}");
        let parent = parent.to_owned();
        trials.push(match programs {
            Ok(programs) => {
                let programs = programs.clone();
                Trial::test(name, move || play(&id, &parent, &programs).map_err(failed))
            }
            Err(why) => {
                let why = format!("{why:#}");
                Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
            }
        });
    }
    Ok(trials)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn failed(error: anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

/// Checks that our handlers are of the kind that `onFailure` closes best: programs that the client
/// starts itself and waits for, for every tool. Its behaviour with other kinds (HTTP, MCP, prompts,
/// agents, asynchronous ones) does not concern us.
fn handlers(parent: &Path) -> Result<()> {
    for installed in [Installed::Project, Installed::User, Installed::Managed] {
        let scratch = Scratch::create(parent, &format!("fail-open-handlers-{installed:?}"))?;
        let program = portcullis_tests::programs::find_portcullis()?;
        scratch.install(&program, &program, installed)?;
        let file = scratch.settings(installed).ok_or_else(|| anyhow!("no settings"))?;
        let settings: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let events =
            settings.get("hooks").and_then(Value::as_object).ok_or_else(|| anyhow!("no hooks"))?;
        for (event, group) in events.iter().flat_map(|(event, groups)| {
            groups.as_array().into_iter().flatten().map(move |group| (event, group))
        }) {
            ensure!(
                group.get("matcher").is_none_or(|matcher| matcher == "*"),
                "{event}: some tools are left out: {group}"
            );
            for handler in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                let kind = handler.get("type").is_some_and(|kind| kind == "command")
                    && handler.get("args").is_some_and(Value::is_array);
                let waits = ["async", "asyncRewake", "shell", "if"]
                    .iter()
                    .all(|key| handler.get(key).is_none());
                let closes = event != "PreToolUse"
                    || handler.get("onFailure").is_some_and(|value| value == "block");
                ensure!(kind && waits && closes, "{event}: {handler}");
            }
        }
        scratch.remove()?;
    }
    Ok(())
}

/// Plays one session. Its folders are kept if it fails.
fn play(id: &str, parent: &Path, programs: &Programs) -> Result<()> {
    let scratch = Scratch::create(parent, &format!("fail-open-{id}"))?;
    let parts: Vec<Part> = data::parts_in(&scratch)?;
    let play = parts
        .into_iter()
        .flat_map(|part| part.sessions)
        .find(|play| play.id == id)
        .ok_or_else(|| anyhow!("no session `{id}`"))?;
    prepare(&play, &scratch, programs)?;
    let evidence = run::run(&session(&play, &scratch), &scratch, programs)?;
    let wrong: Vec<String> = play
        .rows
        .iter()
        .filter_map(|row| judge(row, &scratch, &evidence).err())
        .map(|why| format!("{why:#}"))
        .collect();
    ensure!(
        wrong.is_empty(),
        "{}\nall that the run left is in `{}`",
        wrong.join("\n"),
        scratch.root().display()
    );
    scratch.remove()
}

fn prepare(play: &Play, scratch: &Scratch, programs: &Programs) -> Result<()> {
    let letters =
        play.rows.iter().map(|row| (letter(scratch, &row.id), "dear friend\n".to_owned()));
    scratch.furnish(&BTreeMap::new(), &letters.chain(play.files.clone()).collect())?;
    let program = stand_in(play, scratch, &programs.portcullis)?;
    scratch.install(&programs.portcullis, &program, play.installed)?;
    for edit in &play.edits {
        change(edit, scratch.settings(play.installed).as_deref())?;
    }
    if play.installed == Installed::Managed {
        machine::permitted(&scratch.machine())
    } else {
        Ok(())
    }
}

/// Copies our program to a path of its own; if a row wants it to fail, a script replaces it.
fn stand_in(play: &Play, scratch: &Scratch, binary: &Path) -> Result<PathBuf> {
    let folder = scratch.root().join("bin");
    let (program, whole) = (folder.join("portcullis"), folder.join("portcullis-whole"));
    fs::create_dir_all(&folder)?;
    let script = script(play, &whole);
    fs::copy(binary, if script.is_some() { &whole } else { &program })
        .context("cannot copy our program")?;
    if let Some(script) = script {
        fs::write(&program, script)?;
        fs::set_permissions(&program, fs::metadata(&whole)?.permissions())?;
    }
    Ok(program)
}

/// Returns a script that fails if a row says so and otherwise runs the real program.
fn script(play: &Play, whole: &Path) -> Option<String> {
    let arm = |event: &str, mark: &str, run: &str| {
        format!(
            "case $input in *'\"hook_event_name\":\"{event}\"'*) case $input in *{mark}*)\n{run}\n;; esac ;; esac\n"
        )
    };
    let by_row = play.rows.iter().filter_map(|row| {
        Some(arm(
            &row.event,
            &format!("toolu_{}\\\"", row.id),
            &format!("{}\nexit", row.answer.as_ref()?),
        ))
    });
    let by_event = play.program.iter().map(|stand_in| arm(&stand_in.event, "", &stand_in.run));
    let arms: String = by_row.chain(by_event).collect();
    let script = format!(
        "#!/bin/sh\nwhole={}\ninput=$(cat)\n{arms}printf %s \"$input\" | \"$whole\" \"$@\"\n",
        whole.display()
    );
    (!arms.is_empty()).then_some(script)
}

/// Sets one value of a JSON file, which begins as an empty object.
fn change(edit: &Edit, installed: Option<&Path>) -> Result<()> {
    let file =
        edit.file.as_deref().or(installed).ok_or_else(|| anyhow!("an edit names no file"))?;
    let mut document: Value = match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Object(serde_json::Map::new()),
    };
    let (place, name) = edit
        .pointer
        .rsplit_once('/')
        .ok_or_else(|| anyhow!("`{}` is not a pointer", edit.pointer))?;
    match document.pointer_mut(place) {
        Some(Value::Object(object)) if edit.value.is_null() => drop(object.remove(name)),
        Some(Value::Object(object)) => drop(object.insert(name.to_owned(), edit.value.clone())),
        Some(Value::Array(array)) if name == "-" => array.push(edit.value.clone()),
        _ => return Err(anyhow!("`{}` has no place for `{}`", file.display(), edit.pointer)),
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, document.to_string())
        .with_context(|| format!("cannot write `{}`", file.display()))
}

fn session(play: &Play, scratch: &Scratch) -> Session {
    let calls = play.rows.iter().filter(|row| !row.silent).map(|row| vec![call(row, scratch)]);
    let turns: Vec<Turn> = play
        .first
        .iter()
        .cloned()
        .chain(calls)
        .chain([vec![Block::Text { text: "Done.".to_owned() }]])
        .collect();
    Session {
        prompt: play.prompt.clone(),
        turns,
        subagents: BTreeMap::new(),
        arguments: play.arguments.clone(),
        environment: play.environment.clone(),
        machine: (play.installed == Installed::Managed).then(|| scratch.machine()),
    }
}

fn call(row: &Row, scratch: &Scratch) -> Block {
    let id = format!("toolu_{}", row.id);
    match &row.call {
        Some(call) => Block::Tool { tool: call.tool.clone(), id, input: call.input.clone() },
        None => {
            let command =
                format!("rm -rf {}", scratch.home().join("letters").join(&row.id).display());
            Block::Tool {
                tool: "Bash".to_owned(),
                id,
                input: serde_json::json!({ "command": command }),
            }
        }
    }
}

fn letter(scratch: &Scratch, id: &str) -> PathBuf {
    scratch.home().join("letters").join(id).join("letter.txt")
}

/// Compares a row with the evidence of the run.
fn judge(row: &Row, scratch: &Scratch, evidence: &Evidence) -> Result<()> {
    let call = format!("toolu_{}", row.id);
    let results = tool_results(&evidence.conversation);
    let result = results.get(&call).map(|result| result.text.as_str());
    let records = records(&call, evidence)?;
    let happened = match &result {
        _ if ran(row, scratch, evidence) => Happens::Runs,
        Some(_) => Happens::Refused,
        None if evidence.conversation.requests.is_empty() => Happens::Unstarted,
        None => Happens::Ended,
    };
    let seen = || {
        format!(
            "the model was told {result:?}, the client ended well: {}, and said `{}`",
            evidence.success,
            evidence.stderr.trim()
        )
    };
    ensure!(
        happened == row.happens,
        "`{}`: {happened:?} instead of {:?}; records {records:?}; {}",
        row.id,
        row.happens,
        seen()
    );
    ensure!(
        records == row.records,
        "`{}`: the records are {records:?} instead of {:?}; {}",
        row.id,
        row.records,
        seen()
    );
    let heard = result.unwrap_or_default();
    for text in &row.messages {
        ensure!(
            heard.contains(text) || evidence.stderr.contains(text),
            "`{}`: nobody was told {text:?}; {}",
            row.id,
            seen()
        );
    }
    Ok(())
}

/// Returns true if the row's call had its effect.
fn ran(row: &Row, scratch: &Scratch, evidence: &Evidence) -> bool {
    match &row.trace {
        Trace::Gone => !letter(scratch, &row.id).exists(),
        Trace::Written(path) => path.exists(),
        Trace::Heard(text) => evidence
            .conversation
            .requests
            .iter()
            .any(|request| request.to_string().contains(text.as_str())),
    }
}

/// Returns the kinds of records about the call, oldest first.
fn records(call: &str, evidence: &Evidence) -> Result<Vec<String>> {
    let journal = evidence.journal.as_ref().map_err(|error| anyhow!("{error:#}"))?;
    let of_call =
        journal.iter().filter(|record| record.get("call").is_some_and(|value| value == call));
    let kinds =
        of_call.filter_map(|record| record.get("kind").and_then(Value::as_str)).map(str::to_owned);
    Ok(kinds.filter(|kind| ["review", "outcome", "unreviewed"].contains(&kind.as_str())).collect())
}
