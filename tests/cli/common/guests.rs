//! Guests that cargo builds as components, as a plugin's author does.
//!
//! They need the target `wasm32-wasip2`; without it the tests fail and say how to install it.

use super::process;
use anyhow::{Context, Result, ensure};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const TARGET: &str = "wasm32-wasip2";

/// Builds a folder's package or workspace and returns the folder with the components. Compiled
/// files are kept among cargo's own files under `kept`, so that the next run is quick.
pub fn built(folder: &Path, kept: &str) -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kept);
    let ended = process::run(cargo(folder, &target), b"", Duration::from_secs(600))
        .context("cannot build the plugins")?;
    let advice = "if the target is missing, run `rustup target add wasm32-wasip2`";
    ensure!(ended.code == Some(0), "the plugins do not build; {advice}: {}", ended.stderr);
    Ok(target.join(TARGET).join("release"))
}

/// Builds the guest that sends requests (`tests/hostile/web`).
pub fn web() -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/web");
    let folder =
        BUILT.get_or_init(|| built(&source, "guests").map_err(|error| format!("{error:#}")));
    Ok(folder.clone().map_err(anyhow::Error::msg)?.join("web_guest.wasm"))
}

/// Creates a cargo command as a plugin's author runs it, without the environment of this build.
fn cargo(folder: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--release", "--target", TARGET, "--target-dir"])
        .arg(target)
        .current_dir(folder);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let ours = [
            "CARGO_PKG_",
            "CARGO_BIN_",
            "CARGO_MANIFEST_",
            "CARGO_BUILD_",
            "CARGO_ENCODED_",
            "CARGO_PROFILE_",
        ];
        if ours.iter().any(|prefix| text.starts_with(prefix))
            || ["RUSTFLAGS", "CARGO_TARGET_DIR"].contains(&&*text)
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}
