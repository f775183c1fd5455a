//! Tests with the real, pinned Claude Code client, a scripted model, and our hooks: which calls
//! run, what model and person receive, and the contents of the journal. There is one test for each
//! file in `cases`.
//!
//! They need the release binary (or `PORTCULLIS_BIN`), `git`, and the client, which `npm` installs
//! the first time. If one of them is missing, the tests say so and are skipped; with `CI=true` they
//! fail. Nothing is sent beyond this machine, and only scratch folders are written. The client's
//! reaction to replies that we never give is not tested here.

#![allow(clippy::indexing_slicing, reason = "a program of tests")]

mod case;
mod check;
mod evidence;
mod fail_open;
mod install;
mod installed;
mod machine;
mod model;
mod offline;
mod person;
mod run;
mod scratch;
mod staying;
mod stopped;
mod undo;
mod watched;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use libtest_mimic::{Arguments, Failed, Trial};
use portcullis_tests::compiled::prepare_state;
use portcullis_tests::programs::{count_threads, find_portcullis, list_cases, scratch_folder};

use crate::case::Case;
use crate::run::Programs;
use crate::scratch::{Installed, Scratch};

fn main() -> Result<ExitCode> {
    if fail_open::tools::wanted() {
        fail_open::tools::serve()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(count_threads);
    let programs =
        if arguments.list { Err(anyhow!("the cases are listed, not run")) } else { programs() };
    if !arguments.list && !ready(&programs)? {
        return Ok(ExitCode::FAILURE);
    }
    let cases =
        list_cases("client/cases")?.into_iter().map(|(name, file)| trial(name, file, &programs));
    let parent = scratch()?;
    if let (false, Ok(programs)) = (arguments.list, &programs) {
        prepare_state(
            &programs.portcullis,
            Path::new(env!("CARGO_TARGET_TMPDIR")),
            &scratch::compiled(&parent),
        )?;
    }
    let rest = [
        fail_open::trials(&parent, &programs)?,
        installed::trials(&parent, &programs),
        undo::trials(&parent, &programs),
        watched::trials(&parent, &programs),
    ];
    let trials = cases.chain(rest.into_iter().flatten()).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list && arguments.filter.is_none() && programs.is_ok() {
        tell(&fail_open::document::summary()?);
    }
    drop(fs::remove_dir_all(scratch::compiled(&parent)));
    // It remains if a case kept its folders.
    let _ = fs::remove_dir(parent);
    Ok(conclusion.exit_code())
}

/// Reports obstacles, and goes offline if there are none. Returns false if the run is to fail.
fn ready(programs: &Result<Programs>) -> Result<bool> {
    let Err(why) = programs else {
        if !offline::enter()? {
            tell(
                "no network namespace can be had here: tools are held back by a closed proxy alone",
            );
        }
        return Ok(true);
    };
    tell(&format!("the client's tests cannot run: {why:#}"));
    let fails = env::var_os("CI").is_some_and(|value| value == "true");
    if !fails {
        tell("they are SKIPPED; with CI=true this is a failure");
    }
    Ok(!fails)
}

fn trial(name: String, file: PathBuf, programs: &Result<Programs>) -> Trial {
    match programs {
        Ok(programs) => {
            let programs = programs.clone();
            Trial::test(name.clone(), move || {
                play(&name, &file, &programs).map_err(|error| Failed::from(format!("{error:#}")))
            })
        }
        Err(why) => {
            let why = format!("{why:#}");
            Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
        }
    }
}

/// Plays one case. Its folders are kept if it fails.
fn play(name: &str, file: &Path, programs: &Programs) -> Result<()> {
    let scratch = Scratch::create(&scratch()?, name)?;
    let case = Case::read(file, &scratch)?;
    scratch.furnish(&case.committed, &case.files)?;
    scratch.install(&programs.portcullis, &programs.portcullis, Installed::Project)?;
    let evidence = run::run(&case.session(), &scratch, programs);
    let judged = evidence.and_then(|evidence| check::check(&case, &scratch, &evidence));
    judged.map_err(|error| {
        anyhow!("{error:#}\nall that the run left is in `{}`", scratch.root().display())
    })?;
    scratch.remove()
}

fn scratch() -> Result<PathBuf> {
    scratch_folder(env!("CARGO_TARGET_TMPDIR"), "client")
}

fn programs() -> Result<Programs> {
    Ok(Programs { portcullis: find_portcullis()?, client: install::client()? })
}

#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
fn tell(line: &str) {
    eprintln!("{line}");
}
