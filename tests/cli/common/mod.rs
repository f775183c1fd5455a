//! What the tests of the built binary share: the binary, a warm home to copy, one folder a test.
//!
//! The binary is `PORTCULLIS_BIN`, else the workspace's release build. Nothing is written but below one
//! temporary folder, which is removed at the end.

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
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Duration;

/// What all tests of one program stand on.
#[derive(Debug)]
pub struct Ground {
    /// Holds all that is written.
    pub root: PathBuf,
    /// A copy of the binary that every user of this machine can run.
    pub binary: PathBuf,
    /// A home with key and compiled plugins, without a journal.
    pub warm: PathBuf,
}

static GROUND: OnceLock<std::result::Result<Ground, String>> = OnceLock::new();

impl Ground {
    /// The ground, laid when it is first needed.
    pub fn get() -> Result<&'static Self> {
        GROUND.get_or_init(|| lay().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))
    }
}

/// A test of that name.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(|error| Failed::from(format!("{error:#}"))))
}

/// Runs the tests and removes what they wrote.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    judge(&Arguments::from_args(), trials)
}

/// The same, one test after the other.
pub fn run_in_turn(trials: Vec<Trial>) -> ExitCode {
    judge(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials)
}

fn judge(arguments: &Arguments, trials: Vec<Trial>) -> ExitCode {
    let conclusion = libtest_mimic::run(arguments, trials);
    if let Some(Ok(ground)) = GROUND.get() {
        // A folder that stays behind in the temporary folder fails no test.
        let _ = fs::remove_dir_all(&ground.root);
    }
    conclusion.exit_code()
}

/// Whether this is the continuous integration, where what cannot be tested is a failure.
pub fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}

/// A folder that a variable names. Where it names none the test is an empty one, except in CI.
pub fn folder_of(variable: &str) -> Result<Option<PathBuf>> {
    match env::var_os(variable).map(PathBuf::from) {
        Some(folder) => {
            ensure!(folder.is_dir(), "{variable} is `{}`, which is no folder", folder.display());
            Ok(Some(folder))
        }
        None => {
            ensure!(!in_ci(), "{variable} is not set: in CI it must name the folder");
            tell(&format!("{variable} is not set: the part that needs it is skipped"));
            Ok(None)
        }
    }
}

/// A line for whoever reads the run.
#[expect(clippy::print_stderr, reason = "the test harness prints; this is what it cannot say")]
pub fn tell(line: &str) {
    eprintln!("{line}");
}

fn lay() -> Result<Ground> {
    let built = built()?;
    let root = tempfile::Builder::new().prefix("portcullis-cli-").permissions(Permissions::from_mode(0o755)).tempdir()?.keep();
    let binary = root.join("portcullis");
    fs::copy(&built, &binary).with_context(|| format!("cannot copy `{}`", built.display()))?;
    fs::set_permissions(&binary, Permissions::from_mode(0o755))?;
    let warm = warm(&root, &binary)?;
    Ok(Ground { root, binary, warm })
}

fn built() -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let release = || workspace.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("release/portcullis");
    let binary = env::var_os("PORTCULLIS_BIN").map_or_else(release, PathBuf::from);
    ensure!(binary.is_file(), "there is no `{}`: run `cargo build --release -p portcullis`, or set PORTCULLIS_BIN", binary.display());
    Ok(binary)
}

/// The demo compiles every plugin; what it leaves is an installation.
fn warm(root: &Path, binary: &Path) -> Result<PathBuf> {
    let mut demo = Command::new(binary);
    demo.args(["demo", "--keep"]).env_clear().env("TMPDIR", root);
    let ended = process::run(demo, b"", Duration::from_secs(120))?;
    ensure!(ended.code == Some(0), "`portcullis demo --keep` failed: {}", ended.all());
    let left = fs::read_dir(root)?.flatten().map(|entry| entry.path().join("state")).find(|path| path.is_dir());
    let left = left.ok_or_else(|| anyhow!("`portcullis demo --keep` left no state below TMPDIR"))?;
    let warm = root.join("warm");
    site::copy_home(&left, &warm)?;
    fs::remove_dir_all(left.parent().unwrap_or(&left))?;
    Ok(warm)
}
