//! Tests with the real, pinned clients other than the first one, a scripted model, and our hooks as
//! `install` writes them. Each file in `cases/CLIENT` is a test: the model's calls, and what runs,
//! what the model is told, what the journal holds. Afterwards `uninstall` has to leave every file of
//! the client as it was, byte for byte.
//!
//! They need the release binary (or `PORTCULLIS_BIN`), `git`, and the clients, which `npm` installs
//! the first time. If one of them is missing, the tests say so and are skipped; with `CI=true` they
//! fail. Nothing is sent beyond this machine, and only scratch folders are written.

#![allow(clippy::indexing_slicing, reason = "a program of tests")]

mod case;
mod client;
mod codex;
mod copilot;
mod gemini;
mod model;
mod opencode;
mod play;
mod qwen;
mod wire;

#[path = "../client/offline.rs"]
mod offline;
#[path = "../client/process.rs"]
#[allow(dead_code, reason = "the other target uses all of it")]
mod process;

use crate::client::{CLIENTS, ClientKind};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let mut obstacles = Vec::new();
    for client in CLIENTS {
        let programs = if arguments.list {
            Err(anyhow!("the cases are listed, not run"))
        } else {
            programs(client)
        };
        if let Err(error) = &programs {
            obstacles.push(format!("{}: {error:#}", client.name));
        }
        for (name, file) in cases(client)? {
            trials.push(trial(client, &name, &file, &programs));
        }
    }
    if !arguments.list {
        if obstacles.is_empty() && !offline::enter()? {
            tell(
                "no network namespace can be had here: tools are held back by a closed proxy alone",
            );
        }
        for obstacle in &obstacles {
            tell(&format!("tests cannot run: {obstacle}"));
        }
        if !obstacles.is_empty() && env::var_os("CI").is_some_and(|value| value == "true") {
            return Ok(ExitCode::FAILURE);
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // It remains if a case kept its folders.
    let _ = fs::remove_dir(parent()?);
    Ok(conclusion.exit_code())
}

/// The programs of one client's tests.
#[derive(Clone, Debug)]
struct Programs {
    portcullis: PathBuf,
    client: PathBuf,
}

fn programs(client: &ClientKind) -> Result<Programs> {
    Ok(Programs { portcullis: portcullis()?, client: client::find_program(client)? })
}

fn trial(
    client: &'static ClientKind,
    name: &str,
    file: &Path,
    programs: &Result<Programs>,
) -> Trial {
    let name = format!("{}: {name}", client.name);
    match programs {
        Ok(programs) => {
            let (programs, file) = (programs.clone(), file.to_owned());
            let folder = name.replace(": ", "-");
            Trial::test(name, move || {
                parent()
                    .and_then(|parent| play::play(client, &parent.join(folder), &file, &programs))
                    .map_err(|error| Failed::from(format!("{error:#}")))
            })
        }
        Err(why) => {
            let why = format!("{why:#}");
            Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
        }
    }
}

fn cases(client: &ClientKind) -> Result<Vec<(String, PathBuf)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/cases").join(client.name);
    let mut cases = Vec::new();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?
    {
        let file = entry?.path();
        let name = file.file_stem().ok_or_else(|| anyhow!("`{}` has no name", file.display()))?;
        cases.push((name.to_string_lossy().into_owned(), file));
    }
    cases.sort();
    Ok(cases)
}

fn portcullis() -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let built = || workspace.join(target).join("release/portcullis");
    let binary = env::var_os("PORTCULLIS_BIN").map_or_else(built, PathBuf::from);
    ensure!(
        binary.is_file(),
        "there is no `{}`: run `cargo build --release`, or set PORTCULLIS_BIN",
        binary.display()
    );
    Ok(binary.canonicalize()?)
}

/// Returns the parent of this process's scratch folders: cargo's folder for tests, or the person's
/// cache if that one is in a temporary folder, whose files the reviewer considers in scope.
fn parent() -> Result<PathBuf> {
    let own = format!("clients-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let temporary = [env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    if !temporary.iter().any(|temporary| folder.starts_with(temporary)) {
        return Ok(folder.join(own));
    }
    let home = env::var_os("HOME").ok_or_else(|| anyhow!("HOME is not set"))?;
    Ok(Path::new(&home).join(".cache/portcullis-tests").join(own))
}

#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
fn tell(line: &str) {
    eprintln!("{line}");
}
