//! Compiles the builtin plugins to components and embeds them.
//!
//! Guests -> core modules (`compile`) -> checked components (`encode`) -> Rust that embeds them
//! (`generate`). A release ships the components: if `PORTCULLIS_BUILTIN_DIR` names their folder,
//! nothing is compiled, and its contents pass the same checks. Nothing here runs a guest.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo that way")]

mod compile;
mod encode;
mod generate;
mod guests;

use anyhow::{Context, Result, ensure};
use guests::{GUESTS, Guest};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// Names a folder with every component as `<name>.wasm`, to be embedded in place of compiling them.
const PREBUILT: &str = "PORTCULLIS_BUILTIN_DIR";

#[allow(clippy::print_stderr, reason = "cargo shows what a build script says there")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let out = PathBuf::from(
        env::var_os("OUT_DIR").context("`OUT_DIR` is not set: cargo runs this program")?,
    );
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-env-changed={PREBUILT}");
    let components = match env::var_os(PREBUILT) {
        Some(folder) => prebuilt(Path::new(&folder))?,
        None => compiled(&out)?,
    };
    generate::embed(&out, &components)
}

fn prebuilt(folder: &Path) -> Result<Vec<(&'static Guest, Vec<u8>)>> {
    ensure!(
        folder.is_absolute(),
        "`{PREBUILT}` names `{}`: give the whole path, since cargo builds in a folder of its own",
        folder.display()
    );
    let read = |guest: &'static Guest| {
        let path = folder.join(guest.name).with_extension("wasm");
        println!("cargo:rerun-if-changed={}", path.display());
        let bytes = fs::read(&path).with_context(|| {
            format!(
                "cannot read `{}`: `{PREBUILT}` has to name a folder with every builtin plugin",
                path.display()
            )
        })?;
        encode::check(guest, &bytes).with_context(|| {
            format!("`{}`, named by `{PREBUILT}`, cannot be used", path.display())
        })?;
        Ok((guest, bytes))
    };
    GUESTS.iter().map(read).collect()
}

fn compiled(out: &Path) -> Result<Vec<(&'static Guest, Vec<u8>)>> {
    let modules = compile::modules(out)?;
    let encode = |(guest, module): (&'static Guest, Vec<u8>)| {
        let component = encode::component(&module).with_context(|| {
            format!("cannot encode the guest `{}` as a component", guest.package)
        })?;
        encode::check(guest, &component)
            .with_context(|| format!("the guest `{}` cannot be used", guest.package))?;
        Ok((guest, component))
    };
    modules.into_iter().map(encode).collect()
}
