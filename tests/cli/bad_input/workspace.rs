//! Tests of project contents with which an agent could make a scan never end: the hook answers all
//! the same, and files that it could not see are never considered restorable.

use super::{shell, system};
use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

/// The name, the location in the project, and the function that creates the trap.
type Trap = (&'static str, &'static str, fn(&str) -> Result<()>);

const TRAPS: &[Trap] = &[
    ("an index that is a pipe", ".git/index", pipe),
    ("an index that never ends", ".git/index", endless),
    ("a repository that is a pipe", ".git", pipe),
    ("a repository that never ends", ".git", endless),
    ("ignore rules that are a pipe", ".gitignore", pipe),
    ("ignore rules that never end", ".gitignore", endless),
    ("excludes that are a pipe", ".git/info/exclude", pipe),
    ("excludes that never end", ".git/info/exclude", endless),
    ("a tracked file that is a pipe", "kept/empty", pipe),
    ("a tracked file that never ends", "kept/empty", endless),
];

pub fn tests() -> Vec<Trial> {
    let mut tests =
        vec![trial("workspace: files in git may be deleted, others are protected", untouched)];
    tests
        .extend(TRAPS.iter().map(|trap| trial(format!("workspace: {}", trap.0), || trapped(trap))));
    tests.push(trial("workspace: globs over the whole disk", globs));
    tests
}

/// Without a trap the verdict depends on git, so the traps are in relevant places.
fn untouched() -> Result<()> {
    let site = repository("workspace untouched")?;
    ensure!(restorable(&site, "kept")?, "what git holds is not restorable");
    ensure!(restorable(&site, "node_modules")?, "what an install makes again is not restorable");
    ensure!(!restorable(&site, "loose")?, "what git does not hold is restorable");
    Ok(())
}

fn trapped((name, path, set): &Trap) -> Result<()> {
    let site = repository(&format!("workspace {name}"))?;
    let path = site.project().join(path);
    if path.is_dir() {
        fs::remove_dir_all(&path)?;
    } else if path.exists() {
        fs::remove_file(&path)?;
    }
    set(&path.to_string_lossy())?;
    for folder in ["kept", "loose"] {
        let found = restorable(&site, folder).with_context(|| format!("removing `{folder}`"))?;
        ensure!(
            !found || !(folder == "loose" || path.starts_with(site.project().join("kept"))),
            "`{folder}` is taken for restorable"
        );
    }
    site.verify()
}

fn globs() -> Result<()> {
    let site = repository("workspace globs")?;
    for (id, command) in
        ["cat /**/none", "cat /*/*/*/*/*/*/none", "ls /proc/*/task/*/fd/*"].iter().enumerate()
    {
        let reply = site.hook(&site.calls("globs").bash(&id.to_string(), command))?;
        ensure!(matches!(reply.answer, Answer::Quiet | Answer::Informed), "`{command}`: {reply:?}");
    }
    for (id, command) in ["rm -f /**/none", "rm -f /*/*/*/*/*/*/none"].iter().enumerate() {
        let reply = site.hook(&site.calls(&format!("globs {id}")).bash("rm", command))?;
        ensure!(
            !matches!(reply.answer, Answer::Quiet | Answer::Informed),
            "`{command}`: {reply:?}"
        );
    }
    site.verify()
}

/// Creates a project under git with a tracked, an ignored and an untracked folder.
fn repository(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let project = site.project();
    let write = |path: &str, text: &str| -> Result<()> {
        let path = project.join(path);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        Ok(fs::write(path, text)?)
    };
    [
        ("kept/1.txt", "one\n"),
        ("kept/empty", ""),
        (".gitignore", "node_modules/\n"),
        ("package.json", "{}\n"),
    ]
    .iter()
    .try_for_each(|(path, text)| write(path, text))?;
    let folder = project.to_string_lossy().into_owned();
    let git = |arguments: &[&str]| {
        system(
            "git",
            &[
                &["-C", &folder, "-c", "user.name=Test", "-c", "user.email=test@localhost"],
                arguments,
            ]
            .concat(),
        )
    };
    git(&["init", "--quiet"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message=start"])?;
    write("loose/1.txt", "loose\n")?;
    write("node_modules/tree/index.js", "")?;
    Ok(site)
}

/// Returns true if the review of its removal considered a folder restorable.
fn restorable(site: &Site, folder: &str) -> Result<bool> {
    let removal = site.calls(&format!("remove {folder}")).bash(folder, &format!("rm -r {folder}"));
    // A hook with an endless read must end the test, not the machine.
    let hook = shell(site, &[], "ulimit -d 2000000; exec \"$0\" hook claude");
    site.ask(hook, "PreToolUse", removal.to_string().as_bytes())?;
    let records = site.shown(&["--session", &format!("remove {folder}"), "--kind", "review"])?;
    let paths = records
        .last()
        .and_then(|record| record.pointer("/action/facts/paths"))
        .and_then(Value::as_array)
        .cloned();
    let whole = site.project().join(folder).to_string_lossy().into_owned();
    let path = paths.unwrap_or_default().into_iter().find(|path| path["text"] == whole.as_str());
    let path = path.with_context(|| format!("the review does not name `{whole}`"))?;
    path["restorable"].as_bool().context("`restorable` is not a boolean")
}

fn pipe(path: &str) -> Result<()> {
    system("mkfifo", &[path])
}

fn endless(path: &str) -> Result<()> {
    Ok(symlink("/dev/zero", path)?)
}
