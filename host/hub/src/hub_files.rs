//! The files of a hub's folder, read within bounds.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_fs::{Links, read_file};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The most bytes of each file.
const MOST: u64 = 64 << 10;

/// Reads a file that only its owner may read.
pub fn read_secret(path: &Path) -> Result<String> {
    if let Ok(found) = fs::metadata(path)
        && found.mode() & 0o077 != 0
    {
        bail!(HintedFailure {
            message: format!("others may read `{}`", path.display()),
            hint: format!("run `chmod 600 {}`, and replace what it holds", path.display()),
        });
    }
    read_text(path)
}

/// Reads a file of text.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = read_file(path, MOST, Links::Follow)
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let Some(bytes) = bytes else {
        let missing = KnownFailure::NotFound(format!("there is no `{}`", path.display()));
        let hint = "`portcullis hub init` makes a hub's folder; name another one with `--folder`";
        return Err(
            anyhow::Error::new(HintedFailure::new(missing.to_string(), hint)).context(missing)
        );
    };
    String::from_utf8(bytes).with_context(|| format!("`{}` is not text", path.display()))
}
