//! The programs under test, and where tests of real clients keep their files.

use crate::process;
use anyhow::{Context, Result, anyhow, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The version of Claude Code with which its cases were measured.
pub const CLAUDE_VERSION: &str = "2.1.329";
/// The timeout of an installation.
const LIMIT: Duration = Duration::from_secs(300);

/// Returns our program: `PORTCULLIS_BIN`, otherwise the workspace's release build.
///
/// # Errors
/// Fails if there is no such file.
pub fn find_portcullis() -> Result<PathBuf> {
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

/// Returns the number of cases with real clients that run at a time: two for each core, since a
/// client mostly waits, for its model and for its own timers.
#[must_use]
pub fn count_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, Into::into)
}

/// Returns the file `needed` below the installation `name` in the folder of clients
/// (`AGENT_CLIENTS`, by default `~/.cache/agent-clients`). If it is missing, npm installs
/// `packages` there first. An existing installation is never updated.
///
/// # Errors
/// Fails if npm does, or if its installation has no such file.
pub fn find_installed(name: &str, needed: &str, packages: &[&str]) -> Result<PathBuf> {
    let clients = env::var_os("AGENT_CLIENTS")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache/agent-clients")))
        .ok_or_else(|| anyhow!("neither AGENT_CLIENTS nor HOME is set"))?;
    let folder = clients.join(name);
    let file = folder.join(needed);
    if !file.is_file() {
        install(&clients, &folder, packages)?;
    }
    ensure!(file.is_file(), "`{}` has no `{needed}`: remove that folder", folder.display());
    Ok(file)
}

/// Installs into a sibling folder and then moves it, so that an incomplete installation never
/// counts.
fn install(clients: &Path, folder: &Path, packages: &[&str]) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = clients.join(format!("{name}.{}", std::process::id()));
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make `{}`", unfinished.display()))?;
    fs::write(unfinished.join("package.json"), "{\"private\": true}")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(packages)
        .current_dir(&unfinished);
    let installed = process::run(npm, &unfinished.join("npm"), LIMIT).and_then(|ended| {
        let problem = ended.stderr.trim().replace('\n', "; ");
        ensure!(ended.success, "`npm install {}` failed: {problem}", packages.join(" "));
        match fs::rename(&unfinished, folder) {
            Err(_) if folder.exists() => Ok(()),
            moved => {
                moved.with_context(|| format!("cannot move packages to `{}`", folder.display()))
            }
        }
    });
    if unfinished.exists() {
        drop(fs::remove_dir_all(&unfinished));
    }
    installed
}

/// Returns the folder for the files of this process: below `folder`, cargo's folder for tests, or
/// in the person's cache if that one is in a temporary folder, whose files the reviewer considers
/// in scope. `kind` names the tests.
///
/// # Errors
/// Fails if it has to be in the cache and `HOME` is not set.
pub fn scratch_folder(folder: &str, kind: &str) -> Result<PathBuf> {
    let own = format!("{kind}-{}", std::process::id());
    let folder = Path::new(folder);
    let temporary = [env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    if !temporary.iter().any(|temporary| folder.starts_with(temporary)) {
        return Ok(folder.join(own));
    }
    let home = env::var_os("HOME").ok_or_else(|| anyhow!("HOME is not set"))?;
    Ok(Path::new(&home).join(".cache/portcullis-tests").join(own))
}

/// Returns the files in a folder below this crate, with their names without the end, in order.
///
/// # Errors
/// Fails if the folder cannot be listed.
pub fn list_cases(folder: &str) -> Result<Vec<(String, PathBuf)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
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
