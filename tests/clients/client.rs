//! The clients under test, as data, and their installation from the npm registry. An existing
//! client is never updated.

use crate::play::Scene;
use crate::process;
use crate::wire::Wire;
use anyhow::{Context, Result, anyhow, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A client under test.
#[derive(Debug)]
pub(crate) struct ClientKind {
    /// Its name on our command line.
    pub(crate) name: &'static str,
    /// Its npm package.
    pub(crate) package: &'static str,
    /// The version with which the cases were measured.
    pub(crate) version: &'static str,
    /// Other npm packages that it needs, with their versions.
    pub(crate) companions: &'static [&'static str],
    /// Its program below the folder of the installation.
    pub(crate) program: &'static str,
    /// Its folder below the home folder.
    pub(crate) folder: &'static str,
    /// The API of models that it speaks.
    pub(crate) wire: &'static Wire,
    /// Writes the settings with which it uses the scripted model at that URL.
    pub(crate) furnish: fn(&Scene, url: &str) -> Result<()>,
    /// Returns its command for a prompt, with the scripted model at that URL.
    pub(crate) command: fn(&Scene, program: &Path, prompt: &str, url: &str) -> Command,
}

/// All clients under test.
pub(crate) const CLIENTS: &[&ClientKind] = &[
    &crate::codex::CODEX,
    &crate::copilot::COPILOT,
    &crate::gemini::GEMINI,
    &crate::opencode::OPENCODE,
    &crate::qwen::QWEN,
];

/// Returns the client's program, from the folder of clients (`AGENT_CLIENTS`, by default
/// `~/.cache/agent-clients`), or newly installed there.
pub(crate) fn find_program(client: &ClientKind) -> Result<PathBuf> {
    let clients = env::var_os("AGENT_CLIENTS")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache/agent-clients")))
        .ok_or_else(|| anyhow!("neither AGENT_CLIENTS nor HOME is set"))?;
    let folder = clients.join(format!("{}-{}", client.name, client.version));
    let program = folder.join(client.program);
    if !program.is_file() {
        install(client, &clients, &folder)?;
    }
    ensure!(program.is_file(), "`{}` has no `{}`", client.package, client.program);
    Ok(program)
}

/// Installs into a sibling folder and then moves it, so that an incomplete installation never
/// counts.
fn install(client: &ClientKind, clients: &Path, folder: &Path) -> Result<()> {
    let own = format!("{}-{}.{}", client.name, client.version, std::process::id());
    let unfinished = clients.join(own);
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make `{}`", unfinished.display()))?;
    fs::write(unfinished.join("package.json"), "{\"private\": true}")?;
    let package = format!("{}@{}", client.package, client.version);
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", &package])
        .args(client.companions)
        .current_dir(&unfinished);
    let installed =
        process::run(npm, &unfinished.join("npm"), Duration::from_secs(300)).and_then(|ended| {
            ensure!(
                ended.success,
                "`npm install {package}` failed: {}",
                ended.stderr.trim().replace('\n', "; ")
            );
            match fs::rename(&unfinished, folder) {
                Err(_) if folder.exists() => Ok(()),
                moved => moved
                    .with_context(|| format!("cannot move the client to `{}`", folder.display())),
            }
        });
    if unfinished.exists() {
        drop(fs::remove_dir_all(&unfinished));
    }
    installed
}
