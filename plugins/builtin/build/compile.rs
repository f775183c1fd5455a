//! Guests to core modules: cargo once for all of them, in a target folder of its own.
//!
//! The outer build's wrappers, flags and profile settings do not reach the guests, and no path of
//! this machine reaches their bytes: the same sources and toolchain give the same digests anywhere.

use crate::guests::{GUESTS, Guest};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "guest";

/// The stack size in bytes. A small stack is a small memory to set up for each call. A guest that
/// needs more asks for it in its build script, as the shell reader does: its flag comes later and
/// takes precedence.
const STACK: u32 = 64 * 1024;

/// The variables of the outer build's environment that the inner one must not see. All variables
/// with one of [`FOREIGN_PREFIXES`] are removed too.
const FOREIGN: &[&str] = &[
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTDOCFLAGS",
    "CARGO_INCREMENTAL",
    "TARGET",
    "HOST",
    "PROFILE",
    "OPT_LEVEL",
    "DEBUG",
];
const FOREIGN_PREFIXES: &[&str] = &[
    "CARGO_TARGET_",
    "CARGO_PROFILE_",
    "CARGO_CFG_",
    "CARGO_FEATURE_",
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BUILD_",
];
/// Empty rather than absent, so that a wrapper from a configuration file is not used either.
const WRAPPERS: &[&str] = &["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];

/// Compiles every guest.
pub(crate) fn modules(out: &Path) -> Result<Vec<(&'static Guest, Vec<u8>)>> {
    let root = workspace()?;
    watch(&root)?;
    require_target()?;
    let target_dir = out.join("guests");
    compile(&root, &target_dir)?;
    let mut modules = GUESTS
        .iter()
        .map(|guest| Ok((guest, read(&target_dir, guest)?)))
        .collect::<Result<Vec<_>>>()?;
    modules.sort_by_key(|(guest, _)| guest.name);
    Ok(modules)
}

fn workspace() -> Result<PathBuf> {
    let manifest = PathBuf::from(
        env::var_os("CARGO_MANIFEST_DIR")
            .context("`CARGO_MANIFEST_DIR` is not set: cargo runs this program")?,
    );
    let root = manifest
        .ancestors()
        .nth(2)
        .context("the crate does not lie in the workspace's folder `plugins/builtin`")?;
    Ok(root.to_owned())
}

/// Watches all sources of the guests.
fn watch(root: &Path) -> Result<()> {
    for path in ["wit", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    let plugins = root.join("plugins");
    for entry in
        fs::read_dir(&plugins).with_context(|| format!("cannot list `{}`", plugins.display()))?
    {
        let entry = entry.with_context(|| format!("cannot list `{}`", plugins.display()))?;
        if !["builtin", "catalogue", "examples", "publishing", "templates"]
            .iter()
            .any(|other| entry.file_name() == *other)
        {
            println!("cargo:rerun-if-changed={}", entry.path().display());
        }
    }
    Ok(())
}

fn require_target() -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .with_context(|| format!("cannot start the compiler `{}`", rustc.display()))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if !output.status.success() || !folder.is_dir() {
        bail!(
            "the target `{TARGET}`, which the builtin plugins are compiled to, is not installed; \
             run `rustup target add {TARGET}`"
        );
    }
    Ok(())
}

fn compile(root: &Path, target_dir: &Path) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .current_dir(root)
        .args([
            "build",
            "--locked",
            "--lib",
            "--profile",
            PROFILE,
            "--target",
            TARGET,
            "--target-dir",
        ])
        .arg(target_dir);
    for guest in GUESTS {
        command.args(["-p", guest.package]);
    }
    isolate(&mut command);
    command.env("CARGO_ENCODED_RUSTFLAGS", flags(root)?);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}` for the builtin plugins", cargo.display()))?;
    if !output.status.success() {
        bail!(
            "the builtin plugins do not compile to `{TARGET}`:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

fn isolate(command: &mut Command) {
    let foreign = |name: &str| {
        name != "CARGO_BUILD_JOBS"
            && (FOREIGN.contains(&name)
                || FOREIGN_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
    };
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(foreign) {
            command.env_remove(name);
        }
    }
    for wrapper in WRAPPERS {
        command.env(wrapper, "");
    }
}

fn flags(root: &Path) -> Result<String> {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")));
    let mut flags = vec![
        format!("-Clink-arg=-zstack-size={STACK}"),
        format!("--remap-path-prefix={}=/portcullis", text(root)?),
    ];
    if let Some(home) = cargo_home {
        flags.push(format!("--remap-path-prefix={}=/cargo", text(&home)?));
    }
    Ok(flags.join("\x1f"))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the path `{}` is not UTF-8: move the folder", path.display()))
}

fn read(target_dir: &Path, guest: &Guest) -> Result<Vec<u8>> {
    let file = format!("{}.wasm", guest.package.replace('-', "_"));
    let path = target_dir.join(TARGET).join(PROFILE).join(file);
    fs::read(&path).with_context(|| {
        format!(
            "cannot read `{}`: the guest `{}` needs the crate type `cdylib`",
            path.display(),
            guest.package
        )
    })
}
