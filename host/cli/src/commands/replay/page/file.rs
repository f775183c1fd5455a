//! Writes a page atomically, to a new file or over an earlier page of this program.

use crate::error::{Context, Error, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The text that each page of this program begins with.
pub const BEGINNING: &str = "<!doctype html>\n<!-- a page of portcullis replay -->\n";

/// Checks that a page may be written there, before the work, so that nobody waits in vain.
///
/// # Errors
/// Fails if another kind of file has that name, or if the folder does not exist.
pub fn check_target(path: &Path) -> Result<()> {
    let folder = folder(path);
    if !folder.is_dir() {
        return Err(Error::not_found(format!(
            "cannot write the page `{}`: there is no folder `{}`",
            path.display(),
            folder.display()
        )));
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look at `{}`", path.display())),
        Ok(found) if found.is_file() && is_ours(path)? => Ok(()),
        Ok(_) => Err(Error::invalid(format!(
            "`{}` already exists and is not a page of a replay",
            path.display()
        ))
        .with_hint("remove it, or give another name")),
    }
}

/// Writes the page atomically: a reader sees the old one or the new one.
///
/// # Errors
/// Fails if the system refuses; the previous content is then unchanged.
pub fn write_page(path: &Path, page: &str) -> Result<()> {
    portcullis_fs::replace_bytes(path, 0o666, page.as_bytes())
        .with_context(|| format!("cannot write the page `{}`", path.display()))
}

fn is_ours(path: &Path) -> Result<bool> {
    let mut beginning = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    file.take(BEGINNING.len() as u64)
        .read_to_end(&mut beginning)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(beginning == BEGINNING.as_bytes())
}

fn folder(path: &Path) -> PathBuf {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
