//! Tests with the real, pinned clients other than the first one, a scripted model, and our hooks as
//! `install` writes them. Each file in `cases/CLIENT` is a test: the model's calls, and what runs,
//! what the model is told, what the journal holds. Afterwards `uninstall` has to leave every file
//! of the client as it was, byte for byte.
//!
//! They need the release binary (or `PORTCULLIS_BIN`), `git`, `chromium`, and the clients, which `npm`
//! installs the first time. If one of them is missing, the tests say so and are skipped; with `CI=true` they
//! fail. Nothing is sent beyond this machine, and only scratch folders are written.

#![allow(clippy::indexing_slicing, reason = "a program of tests")]

mod case;
mod client;
mod cline;
mod codex;
mod copilot;
mod coverage;
mod failures;
mod first_refusal;
mod gemini;
mod model;
mod opencode;
mod play;
mod qwen;
mod wire;

#[path = "../client/offline.rs"]
mod offline;

use crate::client::{CLIENTS, ClientKind};
use anyhow::{Context, Result, anyhow};
use libtest_mimic::{Arguments, Failed, Measurement, Trial};
use portcullis_tests::compiled::prepare_state;
use portcullis_tests::driven::{find_browser, find_packages};
use portcullis_tests::programs::{count_threads, find_portcullis, list_cases, scratch_folder};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The case in which a person answers in a browser.
const PAGE_CASE: &str = "approved-on-page";

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(count_threads);
    let mut trials = vec![
        page("page of failing hooks", failures::check_page),
        page("page of subagents", coverage::check_page),
    ];
    let mut obstacles = Vec::new();
    // Before the network is left: packages may have to be fetched.
    let is_driven = match find_browser().context("there is no browser: install `chromium`") {
        Ok(_) if !arguments.list => find_packages().map(drop),
        other => other.map(drop),
    };
    if let Err(error) = &is_driven {
        obstacles.push(format!("{PAGE_CASE}: {error:#}"));
    }
    for client in CLIENTS {
        let programs = if arguments.list {
            Err(anyhow!("the cases are listed, not run"))
        } else {
            programs(client)
        };
        if let Err(error) = &programs {
            obstacles.push(format!("{}: {error:#}", client.name));
        }
        for (name, file) in list_cases(&format!("clients/cases/{}", client.name))? {
            if name == REFUSED_CASE {
                trials.push(first_refusal(client, &file, &programs));
            }
            let ignored = name == PAGE_CASE && is_driven.is_err();
            let played = trial(client, &name, &file, &programs, play::play);
            trials.push(if ignored { played.with_ignored_flag(true) } else { played });
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
    if !arguments.list
        && let Ok(portcullis) = find_portcullis()
    {
        prepare_state(&portcullis, Path::new(env!("CARGO_TARGET_TMPDIR")), &compiled()?)?;
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(fs::remove_dir_all(compiled()?));
    // It remains if a case kept its folders.
    let _ = fs::remove_dir(scratch()?);
    Ok(conclusion.exit_code())
}

/// Checks a page of the book that the cases are the source of.
fn page(name: &str, check: fn() -> Result<()>) -> Trial {
    Trial::test(name, move || check().map_err(|error| Failed::from(format!("{error:#}"))))
}

/// The programs of one client's tests.
#[derive(Clone, Debug)]
struct Programs {
    portcullis: PathBuf,
    client: PathBuf,
}

fn scratch() -> Result<PathBuf> {
    scratch_folder(env!("CARGO_TARGET_TMPDIR"), "clients")
}

/// Returns the state with the compiled plugins, which each case's state begins with.
fn compiled() -> Result<PathBuf> {
    Ok(scratch()?.join("compiled"))
}

fn programs(client: &ClientKind) -> Result<Programs> {
    Ok(Programs { portcullis: find_portcullis()?, client: client::find_program(client)? })
}

/// Plays a case of a client in a folder.
type Play = fn(&ClientKind, &Path, &Path, &Programs) -> Result<()>;

/// The case in which a command is refused.
const REFUSED_CASE: &str = "block";

/// Measures how long it takes from our `install` to the first refused command; as a test, only
/// compares the commands with the page.
fn first_refusal(client: &'static ClientKind, file: &Path, programs: &Result<Programs>) -> Trial {
    let name = format!("{}: first refusal", client.name);
    let file = file.to_owned();
    let programs = programs.as_ref().cloned().map_err(|why| format!("{why:#}"));
    Trial::bench(name, move |is_test| {
        let measure = || {
            first_refusal::check_row(client)?;
            if is_test {
                return Ok(None);
            }
            let programs = programs.map_err(|why| anyhow!("{why}"))?;
            let root = scratch()?.join(format!("{}-first-refusal", client.name));
            let took = first_refusal::measure(client, &root, &file, &programs)?;
            let avg = u64::try_from(took.as_nanos())?;
            Ok(Some(Measurement { avg, variance: 0 }))
        };
        measure().map_err(|error: anyhow::Error| Failed::from(format!("{error:#}")))
    })
}

fn trial(
    client: &'static ClientKind,
    name: &str,
    file: &Path,
    programs: &Result<Programs>,
    play: Play,
) -> Trial {
    let name = format!("{}: {name}", client.name);
    match programs {
        Ok(programs) => {
            let (programs, file) = (programs.clone(), file.to_owned());
            let folder = name.replace(": ", "-").replace(' ', "-");
            Trial::test(name, move || {
                scratch()
                    .and_then(|parent| play(client, &parent.join(folder), &file, &programs))
                    .map_err(|error| Failed::from(format!("{error:#}")))
            })
        }
        Err(why) => {
            let why = format!("{why:#}");
            Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
fn tell(line: &str) {
    eprintln!("{line}");
}
