//! Generates Rust that embeds the files of the catalogue of programs, for `catalogue check`.

use std::path::PathBuf;
use std::{env, fs};

/// The catalogue, relative to the repository's root.
const CATALOGUE: &str = "plugins/shell/catalogue";

/// Writes `catalogue.rs` to cargo's folder: a list of pairs of name and text, in order.
pub(crate) fn embed() -> anyhow::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let folder = root.join(CATALOGUE).canonicalize()?;
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for file in fs::read_dir(&folder)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            let path = file.path().display().to_string();
            files.push(format!("({name:?}, include_str!({path:?}))"));
        }
    }
    files.sort();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("catalogue.rs"), format!("&[{}]", files.join(",")))?;
    Ok(())
}
