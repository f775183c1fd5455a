//! Tests that an agent's changes to files through the real client are reverted byte for byte: each
//! command runs in the client with our hooks, and a person undoes it.

mod shapes;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Failed, Trial};
use portcullis_tests::differing;
use portcullis_tests::process;
use portcullis_tests::shapes::read_project;
use serde_json::{Value, json};

use crate::case::{Block, Turn};
use crate::evidence::{ToolResult, tool_results};
use crate::run::{self, Programs, Session};
use crate::scratch::{Installed, Scratch};

/// The actions of an agent, from a person's perspective.
struct Case {
    name: &'static str,
    /// The commands, in order.
    commands: &'static [&'static str],
    /// The minimum number of paths that differ afterwards.
    changes: usize,
}

const CASES: &[Case] = &[
    Case {
        name: "undo: git clean with what git ignores",
        commands: &["git clean -fdx"],
        changes: 14,
    },
    Case {
        name: "undo: four actions by the first one's name, and redone",
        commands: &[
            "sed -i 's/main/other/' src/main.rs",
            "sh rewrite.sh",
            "rm -r src",
            "git clean -fdx",
        ],
        changes: 310,
    },
];

/// Rules and thresholds that would object are disabled: the test is about the consequences of
/// running it. Undo is on by default.
const CONFIGURATION: &str = "[rules]\nbuiltin = \"none\"\n[risk]\nmedium = 0.95\nhigh = 0.95\n";

/// The timeout of a restore.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns all tests.
pub(crate) fn trials(parent: &Path, programs: &Result<Programs>) -> Vec<Trial> {
    let cases = CASES.iter().map(|case| {
        trial(case.name, parent, programs, move |scratch, programs| shown(case, scratch, programs))
    });
    cases.chain(shapes::trials(parent, programs)).collect()
}

/// Creates a test in folders of its own, which are kept if it fails.
fn trial(
    name: &str,
    parent: &Path,
    programs: &Result<Programs>,
    check: impl Fn(&Scratch, &Programs) -> Result<()> + Send + 'static,
) -> Trial {
    let (name, parent) = (name.to_owned(), parent.to_owned());
    match programs {
        Ok(programs) => {
            let programs = programs.clone();
            Trial::test(name.clone(), move || {
                play(&name, &parent, |scratch| check(scratch, &programs))
                    .map_err(|error| Failed::from(format!("{error:#}")))
            })
        }
        Err(why) => {
            let why = format!("{why:#}");
            Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
        }
    }
}

fn play(name: &str, parent: &Path, check: impl Fn(&Scratch) -> Result<()>) -> Result<()> {
    let scratch = Scratch::create(parent, &name.replace([' ', ':', ','], "-"))?;
    check(&scratch).map_err(|error| {
        anyhow!("{error:#}\nall that it left is in `{}`", scratch.root().display())
    })?;
    scratch.remove()
}

fn shown(case: &Case, scratch: &Scratch, programs: &Programs) -> Result<()> {
    furnish(scratch)?;
    scratch.install(&programs.portcullis, &programs.portcullis, Installed::User)?;
    let before = read_project(&scratch.project())?;
    let session = Session {
        prompt: "Clean up.".to_owned(),
        turns: commands("toolu", case.commands),
        ..Session::default()
    };
    let evidence = run::run(&session, scratch, programs)?;
    all_ran(&tool_results(&evidence.conversation), case.commands.len())?;
    let after = read_project(&scratch.project())?;
    let changed = differing(&before, &after).len();
    ensure!(changed >= case.changes, "{changed} paths changed, not {}", case.changes);
    let records = evidence.journal?;
    let kept = records
        .iter()
        .filter(|record| record["kind"] == "review" && record["checkpoint"]["complete"] == true)
        .count();
    ensure!(
        kept == case.commands.len(),
        "{kept} of {} actions have a whole checkpoint",
        case.commands.len()
    );
    let restored = restore(scratch, &programs.portcullis, "toolu_0")?;
    ensure!(restored["outcome"] == "restored" && restored["not_kept"] == json!([]), "{restored}");
    let back = read_project(&scratch.project())?;
    ensure!(before == back, "not as it was: {:?}", differing(&before, &back));
    let undo = restored["undo"].as_str().context("no undo")?;
    restore(scratch, &programs.portcullis, undo)?;
    let redone = read_project(&scratch.project())?;
    ensure!(after == redone, "not redone: {:?}", differing(&after, &redone));
    Ok(())
}

/// Checks that all commands ran without an error.
fn all_ran(results: &BTreeMap<String, ToolResult>, count: usize) -> Result<()> {
    let refused: Vec<_> = results.iter().filter(|(_, result)| result.error).collect();
    ensure!(results.len() == count && refused.is_empty(), "it did not run: {results:?}");
    Ok(())
}

/// Returns a model's turns that run commands, one each; `id` begins the names of the calls.
fn commands(id: &str, lines: &[&str]) -> Vec<Turn> {
    let call = |(at, line): (usize, &&str)| {
        vec![Block::Tool {
            tool: "Bash".to_owned(),
            id: format!("{id}_{at}"),
            input: json!({ "command": line }),
        }]
    };
    let mut turns: Vec<_> = lines.iter().enumerate().map(call).collect();
    turns.push(vec![Block::Text { text: "Done.".to_owned() }]);
    turns
}

/// Creates a project with something of every kind: little of it is in git, some of it is ignored.
fn furnish(scratch: &Scratch) -> Result<()> {
    let project = scratch.project();
    let committed = [
        (project.join(".gitignore"), "cache/\n.env\nnode_modules/\n".to_owned()),
        (
            project.join("rewrite.sh"),
            "for f in many/*.txt; do echo \"rewritten $f\" > \"$f\"; done\n".to_owned(),
        ),
    ];
    let many = (0..300)
        .map(|number| (project.join(format!("many/{number}.txt")), format!("number {number}\n")));
    scratch.furnish(
        &committed.into_iter().chain(many).collect(),
        &[(scratch.state().join("config.toml"), CONFIGURATION.to_owned())].into(),
    )?;
    for (path, bytes) in [
        ("src/main.rs", b"fn main() {}\n".as_slice()),
        ("src/deep/data.bin", &[0, 159, 146, 150, 10, 0]),
        ("src/deep/run.sh", b"#!/bin/sh\necho run\n"),
        ("notes.txt", b"untracked\n"),
        (".env", b"NAME=value\n"),
        ("cache/deep/entry", b"ignored\n"),
        ("node_modules/left/index.js", b"module.exports = 1\n"),
    ] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, bytes)?;
    }
    fs::create_dir_all(project.join("src/empty"))?;
    fs::set_permissions(project.join("src/deep/run.sh"), Permissions::from_mode(0o755))?;
    symlink("../main.rs", project.join("src/deep/link"))?;
    symlink("/nowhere/at/all", project.join("src/dangling"))?;
    Ok(())
}

/// Runs a person's restore command.
fn restore(scratch: &Scratch, portcullis: &Path, id: &str) -> Result<Value> {
    let mut command = Command::new(portcullis);
    command.args(["checkpoint", "restore", id, "--yes", "--json"]);
    command.current_dir(scratch.project()).env_clear().envs(run::environment(scratch));
    let ended = process::run(command, &scratch.root().join("restore"), LIMIT)?;
    ensure!(ended.success, "the restore failed: {} {}", ended.stdout, ended.stderr);
    Ok(serde_json::from_str(&ended.stdout)?)
}
