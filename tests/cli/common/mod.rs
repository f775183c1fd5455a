//! Shared support for tests of the built binary: the binary, a warm home to copy, and one folder
//! per test.
//!
//! The binary is `PORTCULLIS_BIN`, else the workspace's release build. All files are written below
//! one temporary folder, which is removed at the end.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod browser;
pub mod calls;
pub mod documents;
pub mod guests;
pub mod process;
pub mod reply;
pub mod site;
pub mod snapshot;
pub mod terminal;

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use portcullis_tests::compiled::prepare_state;
use portcullis_tests::programs::find_portcullis;
use serde_json::Value;
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The files shared by all tests of one program.
#[derive(Debug)]
pub struct Ground {
    /// The folder of everything that is written.
    pub root: PathBuf,
    /// A copy of the binary that every user of this machine can run.
    pub binary: PathBuf,
    /// A home with key and compiled plugins, without a journal.
    pub warm: PathBuf,
}

static GROUND: OnceLock<std::result::Result<Ground, String>> = OnceLock::new();

impl Ground {
    /// Returns the shared files, which are created on first use.
    pub fn get() -> Result<&'static Self> {
        GROUND
            .get_or_init(|| lay().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
    }
}

/// Tests that take longer are named, so that it is known where the time goes.
const LONG: Duration = Duration::from_secs(5);

/// Creates a test of that name.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let name = name.into();
    Trial::test(name.clone(), move || {
        let begun = Instant::now();
        let tested = test().map_err(|error| Failed::from(format!("{error:#}")));
        let took = begun.elapsed();
        if took > LONG {
            tell(&format!("{} s: {name}", took.as_secs()));
        }
        tested
    })
}

/// Runs the tests and removes what they wrote.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    judge(&Arguments::from_args(), trials)
}

/// Runs the tests one after the other and removes what they wrote.
pub fn run_in_turn(trials: Vec<Trial>) -> ExitCode {
    judge(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials)
}

fn judge(arguments: &Arguments, trials: Vec<Trial>) -> ExitCode {
    let all = trials.len() as u64;
    let conclusion = libtest_mimic::run(arguments, trials);
    if let Some(Ok(ground)) = GROUND.get() {
        // A leftover temporary folder does not fail a test.
        let _ = fs::remove_dir_all(&ground.root);
    }
    if conclusion.num_passed == all
        && let Err(error) = snapshot::check_all_used()
    {
        // As the harness prints its own, so that a summary finds it.
        tell(&format!("\nfailures:\n\n---- snapshots ----\n{error:#}\n\nfailures:\n"));
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Returns true in continuous integration, where a test that cannot run is a failure.
pub fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}

/// A test over data that is not ours to publish, which there is only where the variable names the
/// data's folder: it comes in addition to tests over what this repository holds.
pub fn outside(variable: &str, name: &str, test: fn(&Path) -> Result<()>) -> Option<Trial> {
    let folder = PathBuf::from(env::var_os(variable)?);
    let variable = variable.to_owned();
    // One filter finds all of them (`.ci/run outside`).
    Some(trial(name, move || {
        ensure!(folder.is_dir(), "{variable} is `{}`, which is not a folder", folder.display());
        test(&folder)
    }))
}

/// The sessions that this repository ships (`tests/sessions`), by path.
pub fn sessions() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort();
    ensure!(!paths.is_empty(), "`{}` holds no session", folder.display());
    Ok(paths)
}

/// The hook payloads of these sessions, as the client would send them.
pub fn payloads() -> Result<Vec<Value>> {
    let mut payloads = Vec::new();
    for path in sessions()? {
        for line in fs::read_to_string(&path)?.lines() {
            let mut line: Value =
                serde_json::from_str(line).with_context(|| format!("`{}`", path.display()))?;
            let Some(object) =
                line.as_object_mut().filter(|object| object.contains_key("hook_event_name"))
            else {
                continue;
            };
            object.remove("at");
            payloads.push(line);
        }
    }
    Ok(payloads)
}

/// Prints a line for readers of the test output.
#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
pub fn tell(line: &str) {
    eprintln!("{line}");
}

fn lay() -> Result<Ground> {
    let built = find_portcullis()?;
    let root = tempfile::Builder::new()
        .prefix("portcullis-cli-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir()?
        .keep();
    let binary = root.join("portcullis");
    lay_program(&built, &binary)?;
    for name in BESIDE {
        lay_program(&built.with_file_name(name), &root.join(name))?;
    }
    let warm = root.join("warm");
    prepare_state(&binary, Path::new(env!("CARGO_TARGET_TMPDIR")), &warm)?;
    Ok(Ground { root, binary, warm })
}

/// The programs beside the first: the one that `plugin new` and `plugin build` run in, and the
/// small hook.
const BESIDE: &[&str] = &["portcullis-plugin", "portcullis-hook", "portcullis-hub"];

fn lay_program(built: &Path, to: &Path) -> Result<()> {
    fs::copy(built, to).with_context(|| {
        format!("cannot copy `{}`: run `cargo build --release`", built.display())
    })?;
    fs::set_permissions(to, Permissions::from_mode(0o755)).context("cannot give it away")
}
