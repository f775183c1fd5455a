//! Runs the commands of the guide's part about registries and locks in its order, at a terminal,
//! and checks that they print the output that the guide shows.

use crate::common::documents::{Shown, commands, settled, words};
use crate::common::terminal::Answer;
use crate::common::trial;
use crate::machine::{ASKS, Machine};
use crate::real::{Kind, Registry};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;

pub fn trials() -> Vec<Trial> {
    vec![trial("locked: the guide's commands about registries and locks do what it shows", guide)]
}

/// The registry of the guide's bundle, for its readers.
const THEIRS: &str = "ghcr.io";

fn guide() -> Result<()> {
    let Some(registry) = Registry::start(Kind::Plain) else { return Ok(()) };
    let host = format!("127.0.0.1:{}", registry.port);
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/bundles.md"))?;
    let part = page
        .split_once("\n## Publish\n")
        .and_then(|(_, rest)| rest.split_once("\n## Revoke\n"))
        .context("the guide lacks a part")?
        .0;
    let shown = commands(part);
    ensure!(shown.len() >= 5, "the guide shows only {} commands", shown.len());
    let machine = Machine::new("lock guide")?;
    let folder = machine.publish("1.0.0", ASKS)?.replace("/bundle.tar", "");
    let archive = machine.site.project().join("acme-checks-1.0.0.tar").display().to_string();
    let (key, passphrase) = (machine.made("release.key"), machine.made("passphrase"));
    machine.done(&["bundle", "build", &folder, "--output", &archive])?;
    machine.done(&[
        "bundle",
        "sign",
        &archive,
        "--key",
        &key,
        "--passphrase-file",
        &passphrase,
        "--expires",
        "365",
    ])?;
    for Shown { command, output } in &shown {
        let all = words(command);
        let Some((program, arguments)) = all.split_first() else { continue };
        ensure!(program == "portcullis", "the guide runs `{program}`");
        if command.ends_with(" install") {
            // Another machine with a clone of the repository.
            fs::remove_dir_all(machine.bundles_folder())?;
        }
        let mut arguments: Vec<String> =
            arguments.iter().map(|word| word.replace(THEIRS, &host)).collect();
        arguments.extend(["--plain-http".to_owned(), host.clone()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = machine.site.at_a_terminal(&arguments, Answer::Word, &[])?;
        ensure!(ended.code == Some(0), "`{command}` ended with {:?}: {}", ended.code, ended.text);
        let folder = format!("{}/", machine.site.project().display());
        // The guide's plugin has another name than the one here.
        let printed = ended
            .text
            .replace(&host, THEIRS)
            .replace(&folder, "")
            .replace("released  ", "no-old-migrations  ");
        let text = dated(&printed);
        for line in dated(output).lines() {
            ensure!(
                text.lines().any(|printed| printed == line),
                "`{command}` prints\n{text}\nand the guide shows\n{line}"
            );
        }
    }
    drop(registry);
    machine.runs()
}

/// Removes text that differs from day to day.
fn dated(text: &str) -> String {
    let is_date = |word: &str| {
        word.len() >= 8
            && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':'))
    };
    let line = |line: &str| {
        line.split(' ')
            .map(|word| if is_date(word) { "<time>" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    settled(text).lines().map(|one| line(one.trim_end())).collect::<Vec<_>>().join("\n")
}
