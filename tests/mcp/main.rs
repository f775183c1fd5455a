//! Tests of the gateway for servers of the Model Context Protocol.
//!
//! Each file in `cases` is a test with a scripted server (`server.py`): the client's lines, what
//! the client and the server get, and what the journal holds. The others use real clients and
//! servers from the npm registry, pinned, which `npm` installs the first time.
//!
//! They need the release binary (or `PORTCULLIS_BIN`) and python3; those with real parts need `npm`
//! and Node 20. If something is missing, the tests say so and are skipped; with `CI=true` they
//! fail. Nothing is sent beyond this machine, and only scratch folders are written.

#![allow(clippy::indexing_slicing, reason = "a program of tests")]

mod address;
mod case;
mod front;
mod gateway;
mod http;
mod joined;
mod lifetime;
mod mutations;
mod packages;
mod pins;
mod real;
mod site;
mod wrapped;

use anyhow::{Result, anyhow, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use portcullis_tests::compiled::prepare_state;
use portcullis_tests::programs::{find_portcullis, list_cases};
use site::Site;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A test: its name, and the test in a site of its own.
pub(crate) type Test = (&'static str, fn(&Site) -> Result<()>);

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    if arguments.list {
        return Ok(libtest_mimic::run(&arguments, trials(None, None)?).exit_code());
    }
    let portcullis = needed_programs();
    let packages = portcullis.as_ref().ok().map(|_| packages::find_packages());
    let packages = packages.unwrap_or_else(|| Err(anyhow!("the program is missing")));
    let mut missing = false;
    for error in [portcullis.as_ref().err(), packages.as_ref().err()].into_iter().flatten() {
        tell(&format!("tests cannot run: {error:#}"));
        missing = true;
    }
    if missing && env::var_os("CI").is_some_and(|value| value == "true") {
        return Ok(ExitCode::FAILURE);
    }
    let (portcullis, packages) = (portcullis.ok(), packages.ok());
    if let Some(portcullis) = &portcullis {
        prepare_state(portcullis, Path::new(env!("CARGO_TARGET_TMPDIR")), &site::compiled()?)?;
    }
    let conclusion = libtest_mimic::run(&arguments, trials(portcullis, packages)?);
    if !conclusion.has_failed() {
        // Another run may have removed it.
        let _ = fs::remove_dir_all(site::scratch()?);
    }
    Ok(conclusion.exit_code())
}

fn trials(portcullis: Option<PathBuf>, packages: Option<PathBuf>) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for (name, file) in list_cases("mcp/cases")? {
        for (by_address, kind) in [(false, "case"), (true, "case by address")] {
            if by_address && !case::fits_address(&file)? {
                continue;
            }
            let (portcullis, file) = (portcullis.clone(), file.clone());
            let ignored = portcullis.is_none();
            let name = format!("{kind}: {name}");
            let folder = name.clone();
            let test = move || {
                let site = Site::create(&folder, portcullis.as_deref(), None)?;
                case::play_case(&site, &file, by_address)
            };
            trials.push(trial(name, ignored, test));
        }
    }
    let scripted = [
        address::TESTS,
        joined::TESTS,
        lifetime::TESTS,
        mutations::TESTS,
        pins::TESTS,
        wrapped::TESTS,
    ]
    .concat();
    for (name, test) in scripted {
        let portcullis = portcullis.clone();
        let ignored = portcullis.is_none();
        let test = move || test(&Site::create(name, portcullis.as_deref(), None)?);
        trials.push(trial(name.to_owned(), ignored, test));
    }
    for (name, test) in real::TESTS {
        let (portcullis, packages) = (portcullis.clone(), packages.clone());
        let ignored = portcullis.is_none() || packages.is_none();
        let test = move || test(&Site::create(name, portcullis.as_deref(), packages.as_deref())?);
        trials.push(trial((*name).to_owned(), ignored, test));
    }
    Ok(trials)
}

fn trial(name: String, ignored: bool, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let test = move || test().map_err(|error| Failed::from(format!("{error:#}")));
    Trial::test(name, test).with_ignored_flag(ignored)
}

fn needed_programs() -> Result<PathBuf> {
    let portcullis = find_portcullis()?;
    let python = Command::new("python3").arg("--version").output();
    ensure!(python.is_ok_and(|ended| ended.status.success()), "there is no `python3`: install it");
    Ok(portcullis)
}

#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
fn tell(line: &str) {
    eprintln!("{line}");
}
