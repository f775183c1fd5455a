//! Reads the catalogue (`catalogue/*.toml`) and writes it as one sorted table for the guest. Every
//! mistake is a build error that names file, line, entry and fix; all of them are reported at once.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo that way")]

use portcullis_programs::{File, Table, list_files};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// The size of the guest's stack in bytes. A parser recurses with its input, and needs more than
/// the 64 KiB of the plugins.
const STACK: u32 = 1024 * 1024;

#[allow(clippy::print_stderr, reason = "cargo shows what a build script says there")]
fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=catalogue");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_CFG_TARGET_FAMILY").is_some_and(|family| family == "wasm") {
        println!("cargo:rustc-cdylib-link-arg=-zstack-size={STACK}");
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            for problem in problems {
                eprintln!("error: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Vec<String>> {
    let variable = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or_else(|| vec![format!("`{name}` is not set: cargo runs this program")])
    };
    let files = read(&variable("CARGO_MANIFEST_DIR")?.join("catalogue"))
        .map_err(|problem| vec![problem])?;
    let table = Table::combine(&files)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let to = variable("OUT_DIR")?.join("catalogue.rs");
    fs::write(&to, table.to_rust())
        .map_err(|error| vec![format!("cannot write `{}`: {error}", to.display())])
}

/// Returns the files of the catalogue, sorted by name.
fn read(folder: &Path) -> Result<Vec<File>, String> {
    let failed = |path: &Path, error| format!("cannot read `{}`: {error}", path.display());
    let mut files = Vec::new();
    for path in list_files(folder).map_err(|error| failed(folder, error))? {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.push(File { name: format!("catalogue/{name}"), text });
    }
    Ok(files)
}
