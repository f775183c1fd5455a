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
/// The time after which the state of another build is removed. A test that copies it takes seconds.
const STALE: Duration = Duration::from_secs(60 * 60);
/// The names of kept states begin with it.
const KEPT: &str = "compiled-";

/// Makes the folder `state` with a key and the compiled plugins of `portcullis`, by its demo. They
/// are kept below `folder`, so that only the first test program of a build waits for them.
///
/// # Errors
/// Fails if the demo does, or a file cannot be copied.
pub fn prepare_state(portcullis: &Path, folder: &Path, state: &Path) -> Result<()> {
    let program =
        fs::read(portcullis).with_context(|| format!("cannot read `{}`", portcullis.display()))?;
    let kept = folder.join(format!("{KEPT}{}", blake3::hash(&program).to_hex()));
    if !kept.is_dir() {
        remove_stale(folder)?;
        let unfinished = folder.join(format!("unfinished-{}", std::process::id()));
        compile(portcullis, &unfinished)?;
        match fs::rename(&unfinished, &kept) {
            // Another program was faster.
            Err(_) if kept.is_dir() => fs::remove_dir_all(&unfinished)?,
            moved => moved.with_context(|| format!("cannot keep `{}`", kept.display()))?,
        }
    }
    copy_state(&kept, state)
}

/// Removes the states of earlier builds.
fn remove_stale(folder: &Path) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?
    {
        let entry = entry?;
        let age = entry
            .metadata()
            .and_then(|found| found.modified())
            .ok()
            .and_then(|at| at.elapsed().ok());
        if entry.file_name().to_string_lossy().starts_with(KEPT)
            && age.is_some_and(|age| age > STALE)
        {
            // Another program may remove it too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn compile(portcullis: &Path, state: &Path) -> Result<()> {
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
