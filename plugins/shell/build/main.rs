//! Reads the catalogue (`catalogue/*.toml`) and writes it as one sorted table for the guest.
//!
//! Files -> `document` (their contents) -> `items` (each item checked and encoded) -> `table`
//! (duplicate or missing names, blocks, aliases) -> Rust in `OUT_DIR`. Every mistake is a build
//! error that names file, entry and fix; all of them are reported at once.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo that way")]

mod document;
mod items;
mod names;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

#[allow(clippy::print_stderr, reason = "cargo shows what a build script says there")]
fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=catalogue");
    println!("cargo:rerun-if-changed=build");
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
    let table = table::Table::of(&files)?;
    let to = variable("OUT_DIR")?.join("catalogue.rs");
    fs::write(&to, table.to_rust())
        .map_err(|error| vec![format!("cannot write `{}`: {error}", to.display())])
}

/// Returns the files of the catalogue with their names, sorted.
fn read(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let failed =
        |path: &Path, error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    let mut files = Vec::new();
    for file in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let path = file.map_err(|error| failed(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            files.push((name, fs::read_to_string(&path).map_err(|error| failed(&path, error))?));
        }
    }
    files.sort();
    Ok(files)
}
