//! Finds the installed client.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "claude";

/// The paths used by the client's own installers, below the home folder.
const USUAL: &[&str] = &[".local/bin/claude", ".claude/local/claude"];

/// Returns the client that a person would start: from `PATH`, else from an installer's usual path.
#[must_use]
pub fn client(home: &Path) -> Option<PathBuf> {
    let named = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<_>>());
    let named = named.filter(|folder| folder.is_absolute()).map(|folder| folder.join(PROGRAM));
    named.chain(USUAL.iter().map(|path| home.join(path))).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
