//! Finds the pinned client, or installs it from the npm registry. An existing client is never
//! updated.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::process;

/// The version with which the cases were measured.
pub(crate) const PINNED: &str = "2.1.329";

/// Returns the client's program, from `PORTCULLIS_TEST_CLAUDE`, from the folder of clients
/// (`AGENT_CLIENTS`, by default `~/.cache/agent-clients`), or newly installed there.
pub(crate) fn client() -> Result<PathBuf> {
    if let Some(path) = env::var_os("PORTCULLIS_TEST_CLAUDE").map(PathBuf::from) {
        ensure!(
            path.is_file(),
            "there is no file `{}`: set PORTCULLIS_TEST_CLAUDE to the client's native program",
            path.display()
        );
        return Ok(path);
    }
    let clients = clients()?;
    let folder = clients.join(format!("claude-{PINNED}"));
    let program = folder.join(program()?);
    if !program.is_file() {
        install(&clients, &folder)?;
    }
    let version = version(&program)?;
    ensure!(
        version.starts_with(PINNED),
        "`{}` is version `{version}`, not {PINNED}: remove the folder `{}`",
        program.display(),
        folder.display()
    );
    Ok(program)
}

fn clients() -> Result<PathBuf> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache/agent-clients"));
    env::var_os("AGENT_CLIENTS")
        .map(PathBuf::from)
        .or_else(home)
        .ok_or_else(|| anyhow!("neither AGENT_CLIENTS nor HOME is set"))
}

fn program() -> Result<String> {
    let system = match env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => {
            return Err(anyhow!(
                "the client is not packaged for `{other}` in a way this test knows"
            ));
        }
    };
    let processor = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(anyhow!("the client is not packaged for `{other}`")),
    };
    Ok(format!("node_modules/@anthropic-ai/claude-code-{system}-{processor}/claude"))
}

/// Installs into a sibling folder and then moves it, so that an incomplete installation never
/// counts.
fn install(clients: &Path, folder: &Path) -> Result<()> {
    let unfinished = clients.join(format!("claude-{PINNED}.{}", std::process::id()));
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot make `{}`", unfinished.display()))?;
    fs::write(unfinished.join("package.json"), "{\"private\": true}")?;
    let package = format!("@anthropic-ai/claude-code@{PINNED}");
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", &package])
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

fn version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
