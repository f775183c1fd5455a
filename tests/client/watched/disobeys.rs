//! Tests with a client that disobeys our hooks, with helpers that ignore signals too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::json;

use super::{bash, document, letter, play, text};
use crate::run::{self, Programs};
use crate::scratch::Scratch;

/// A command that stops the session.
const FATAL: &str = "rm -rf ~";

/// The number of further requests of the client.
const AFTER: usize = 8;

/// The client's actions before it continues as the real one.
const FIRST: &[(&str, &str)] = &[
    ("nothing", ""),
    (
        "starts helpers that are deaf",
        "trap '' TERM HUP INT\n\
         for n in 1 2 3; do setsid sh -c 'while :; do tail -f /dev/null; done' > /dev/null 2>&1 & done\n\
         (setsid sh -c '(tail -f /dev/null > /dev/null 2>&1 < /dev/null &)' &)\n",
    ),
];

pub(super) fn ended(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let letter = letter(scratch)?;
    let deaf = deaf(scratch, programs)?;
    for (name, first) in FIRST {
        let client = wrapped(scratch, programs, &deaf, first)?;
        let programs = Programs { client, ..programs.clone() };
        let mut turns = vec![bash("toolu_home", FATAL)];
        turns.extend((0..AFTER).map(|at| bash(&format!("toolu_{at}"), "true")));
        turns.push(text("Done."));
        let (ended, _) = play(scratch, &programs, &["--json"], &turns)?;
        let document = document(&ended)?;
        ensure!(
            fs::remove_file(scratch.root().join("asked")).is_ok(),
            "{name}: its hooks are not those that lose a stop: {ended:?}"
        );
        ensure!(ended.code == Some(12) && document["outcome"] == "emergency", "{name}: {ended:?}");
        ensure!(
            document["reason"].is_string() && document["stopped"]["survivors"] == json!([]),
            "{name}: {document}"
        );
        ensure!(ended.stderr.contains("portcullis incident show"), "{name}: {ended:?}");
        ensure!(letter.exists(), "{name}: {ended:?}");
        run::journal(scratch, &programs.portcullis)?;
    }
    Ok(())
}

/// Creates our program without the message about a stop: the call is refused, and the turn goes on.
fn deaf(scratch: &Scratch, programs: &Programs) -> Result<PathBuf> {
    let folder = scratch.root().join("deaf");
    fs::create_dir_all(&folder)?;
    let script = format!(
        "#!/bin/sh\n: > '{}'\nreply=$('{}' \"$@\"); code=$?\n\
         printf '%s' \"$reply\" | sed 's/\"continue\":false/\"continue\":true/'\nexit $code\n",
        scratch.root().join("asked").display(),
        programs.portcullis.display()
    );
    script_at(&folder.join("portcullis"), &script)
}

/// Creates the client, which uses the other program for its hooks.
fn wrapped(scratch: &Scratch, programs: &Programs, hooks: &Path, first: &str) -> Result<PathBuf> {
    let (ours, theirs, client) =
        (programs.portcullis.display(), hooks.display(), programs.client.display());
    let script = format!(
        "#!/bin/bash\n[ \"$1\" = --version ] && exec '{client}' --version\n\
         ours='{ours}' theirs='{theirs}'\n{first}'{client}' \"${{@//$ours/$theirs}}\"\n",
    );
    script_at(&scratch.root().join("claude"), &script)
}

fn script_at(path: &Path, text: &str) -> Result<PathBuf> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(path.to_owned())
}
