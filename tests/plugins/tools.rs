//! Finds the languages' tools and makes them available to a project.

use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;

/// Returns the folder of a language's tools, and the name under which a project finds them.
fn lent(language: &str) -> Option<(&'static str, &'static str)> {
    match language {
        "c" => Some(("c", ".venv")),
        "python" => Some(("python", ".venv")),
        "go" => Some(("go", ".venv")),
        "js" => Some(("js/node_modules", "node_modules")),
        "ts" => Some(("ts/node_modules", "node_modules")),
        _ => None,
    }
}

/// Returns the folder in which `.ci/run languages` installs them.
fn folder() -> Result<PathBuf> {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Ok(tmp.parent().context("cargo's folder has no parent")?.join("languages"))
}

/// Returns the parts of this process's environment that the tools need: the search path, and Rust's
/// own folders.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let home = env::home_dir().unwrap_or_default();
    let or = |name: &'static str, usual: &str| {
        (name, env::var_os(name).unwrap_or_else(|| home.join(usual).into()))
    };
    let given =
        ["PATH", "RUSTUP_TOOLCHAIN"].iter().filter_map(|name| Some((*name, env::var_os(name)?)));
    let mut found: Vec<_> =
        given.chain([or("CARGO_HOME", ".cargo"), or("RUSTUP_HOME", ".rustup")]).collect();
    // Code that all programs in Go or C need is compiled once: a site's person has no cache.
    if let Ok(folder) = folder() {
        found.push(("GOCACHE", folder.join("go-cache").into_os_string()));
        found.push(("ZIG_GLOBAL_CACHE_DIR", folder.join("zig-cache").into_os_string()));
    }
    found
}

/// Returns why a language cannot be tested here, if it cannot; in CI that is a failure.
pub fn missing(language: &str) -> Result<Option<String>> {
    let Some((place, _)) = lent(language) else { return Ok(None) };
    let place = folder()?.join(place);
    if place.is_dir() {
        return Ok(None);
    }
    let reason = format!("there is no `{}`: `.ci/run languages` makes it", place.display());
    if common::in_ci() { bail!("{reason}") } else { Ok(Some(reason)) }
}

/// Returns Go's formatter, which is among Go's own files.
pub fn gofmt() -> Result<PathBuf> {
    let ended = Command::new(folder()?.join("go/bin/go")).args(["env", "GOROOT"]).output()?;
    let root = String::from_utf8(ended.stdout).context("Go's folder is not text")?;
    let formatter = Path::new(root.trim()).join("bin/gofmt");
    ensure!(formatter.is_file(), "there is no `{}`", formatter.display());
    Ok(formatter)
}

/// Makes a project find its tools, instead of running the command that installs them.
pub fn lend(language: &str, project: &Path) -> Result<()> {
    if language == "rust" {
        // The dependencies of all projects are compiled once. A person's project has a folder of
        // its own for that.
        let shared = folder()?.join("rust");
        std::fs::create_dir_all(project.join(".cargo"))?;
        let path = project.join(".cargo/config.toml");
        let had = std::fs::read_to_string(&path)
            .context("a project in Rust has a `.cargo/config.toml`")?;
        std::fs::write(
            &path,
            format!("{had}\n[build]\ntarget-dir = {:?}\n", shared.display().to_string()),
        )?;
    }
    if language == "go" {
        // The module that its bindings need, instead of `go mod tidy`.
        let path = project.join("go.mod");
        let had = std::fs::read_to_string(&path)?;
        let module = folder()?.join("go/pkg");
        std::fs::write(
            &path,
            format!("{had}\nreplace go.bytecodealliance.org/pkg => {}\n", module.display()),
        )?;
    }
    if let Some((place, name)) = lent(language) {
        symlink(folder()?.join(place), project.join(name)).context("cannot lend the tools")?;
    }
    Ok(())
}
