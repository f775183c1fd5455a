//! Files that a person names on the command line: how messages show their paths, and the content of
//! small ones, some with secrets.

use crate::error::{Error, Result};
use portcullis_core::text::one_line;
use portcullis_fs::{Links, ReadError, open_file};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The most bytes of a path in a message.
const MOST_PATH: usize = 400;

/// Formats a path for messages.
#[must_use]
pub fn display_path(path: &Path) -> String {
    one_line(&path.display().to_string(), MOST_PATH)
}

/// Reads a file of at most `most` bytes. A secret is taken only from a file that nobody else may
/// read.
///
/// # Errors
/// Fails if it does not exist, is too large, or is a secret that others may read.
pub fn read_given_file(file: &Path, most: u64, is_secret: bool) -> Result<Vec<u8>> {
    let shown = display_path(file);
    let failed = |error: ReadError| Error::invalid(format!("cannot read `{shown}`: {error}"));
    let Some(open) = open_file(file, Links::Follow).map_err(failed)? else {
        return Err(Error::not_found(format!("there is no `{shown}`")));
    };
    if is_secret && open.metadata.mode() & 0o077 != 0 {
        return Err(Error::invalid(format!("others may read `{shown}`, which holds secrets"))
            .with_hint(format!("run `chmod 600 {shown}`")));
    }
    open.read_rest(most).map_err(failed)
}
