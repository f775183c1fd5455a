//! A home's state in which the builtin plugins are compiled. Compiling takes both cores for some
//! seconds, and each test with a fresh home would wait for it.

use crate::process;
use anyhow::{Context, Result, anyhow, ensure};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The timeout of the command that compiles every plugin.
const LIMIT: Duration = Duration::from_secs(120);

/// Makes the folder `state` with a key and the compiled plugins of `portcullis`, by its demo.
///
/// # Errors
/// Fails if the demo does, or a file cannot be copied.
pub fn prepare_state(portcullis: &Path, state: &Path) -> Result<()> {
    let work = state.with_extension("demo");
    fs::create_dir_all(&work).with_context(|| format!("cannot make `{}`", work.display()))?;
    let mut demo = Command::new(portcullis);
    demo.args(["demo", "--keep"]).env_clear().env("TMPDIR", &work);
    let ended = process::run(demo, &work.join("output"), LIMIT)?;
    ensure!(ended.success, "`portcullis demo --keep` failed: {}{}", ended.stdout, ended.stderr);
    let left = fs::read_dir(&work)?
        .flatten()
        .map(|entry| entry.path().join("state"))
        .find(|path| path.is_dir())
        .ok_or_else(|| anyhow!("`portcullis demo --keep` left no state below TMPDIR"))?;
    copy_state(&left, state)?;
    fs::remove_dir_all(&work).with_context(|| format!("cannot remove `{}`", work.display()))
}

/// Copies key and compiled plugins, and no journal, into the folder `to`, which need not exist.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn copy_state(from: &Path, to: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(to.join("cache"))?;
    fs::copy(from.join("key"), to.join("key")).context("cannot copy the key")?;
    for entry in fs::read_dir(from.join("cache"))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join("cache").join(entry.file_name()))?;
    }
    Ok(())
}
