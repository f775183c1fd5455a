//! Where a page is written: a new file, or one of our own pages; never a part of one.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What each of our pages begins with.
pub const BEGINNING: &str = "<!doctype html>\n<!-- a page of portcullis replay -->\n";

/// Whether a page may be written there. It is asked before the work, so that nobody waits in vain.
///
/// # Errors
/// Something else lies there already, or there is no such folder.
pub fn check(path: &Path) -> Result<()> {
    let folder = folder(path);
    if !folder.is_dir() {
        bail!("cannot write the page `{}`: there is no folder `{}`", path.display(), folder.display());
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look at `{}`", path.display())),
        Ok(found) if found.is_file() && is_ours(path)? => Ok(()),
        Ok(_) => bail!("`{}` is there already and is no page of a replay: remove it, or give another name", path.display()),
    }
}

/// Writes the page in one step: whoever opens it sees the old or the new.
///
/// # Errors
/// The system refuses; then what was there is as before.
pub fn write(path: &Path, page: &str) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder(path).join(format!(".{name}.portcullis-{}", std::process::id()));
    let written = put(&draft, page).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What could not be made need not be removed.
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("cannot write the page `{}`", path.display()))
}

fn put(draft: &Path, page: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(draft)?;
    file.write_all(page.as_bytes())?;
    file.sync_all()
}

fn is_ours(path: &Path) -> Result<bool> {
    let mut beginning = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    file.take(BEGINNING.len() as u64).read_to_end(&mut beginning).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(beginning == BEGINNING.as_bytes())
}

fn folder(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
