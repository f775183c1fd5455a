//! Reads and checks the catalogue of programs (`plugins/shell/catalogue`): the build of the shell
//! reader writes its table with it, and `portcullis catalogue check` reports mistakes with it.
//!
//! Files -> `document` (their contents) -> `items` (each item checked and encoded) -> `table`
//! (duplicate or missing names, blocks, aliases). All mistakes are reported at once, each with
//! file, line, entry and fix.

pub mod document;
pub mod items;
pub mod names;
mod problem;
mod table;

pub use problem::{Mistake, Problem};
pub use table::{File, Table};

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The file whose folder is a whole catalogue: the forms, which the entries name.
pub const FORMS: &str = "forms.toml";

/// Returns the paths of the TOML files of a folder, sorted.
///
/// # Errors
///
/// The folder cannot be listed.
pub fn list_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
