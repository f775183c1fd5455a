//! Finds installed clients.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the program that a person would start: from `PATH`, else from an installer's usual path
/// below the home folder.
#[must_use]
pub(crate) fn find_program(name: &str, usual: &[&str], home: &Path) -> Option<PathBuf> {
    let named = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<_>>());
    let named = named.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    named.chain(usual.iter().map(|path| home.join(path))).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
