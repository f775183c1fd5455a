//! Reads a plugin's file: never more bytes than a plugin may have, and never blocking on a pipe.
//!
//! A link is followed, since people keep their components where they build them. Its target is
//! checked after it is opened, so that it cannot be swapped in between.

use crate::cache::Stamp;
use crate::limits::MAX_COMPONENT_BYTES;
use crate::load_error::LoadError;
use portcullis_fs::{Links, ReadError, open_file};
use rustix::io::Errno;
use std::path::Path;

/// Reads the bytes of a file that may hold a component.
///
/// # Errors
/// Fails if the file cannot be read, is not a regular file (a folder, a pipe, a device), or is
/// larger than a plugin may be.
pub fn read_component(path: &Path) -> Result<Vec<u8>, LoadError> {
    read(path).map(|(bytes, _)| bytes)
}

/// Reads a file and returns the stamp of the very file that was read.
pub(crate) fn read(path: &Path) -> Result<(Vec<u8>, Stamp), LoadError> {
    let unreadable = |error: std::io::Error| LoadError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let failed = |error| match error {
        ReadError::Io(error) => unreadable(error),
        ReadError::NotAFile | ReadError::Link => not_a_file(path),
        ReadError::TooLarge(size) => LoadError::TooLarge { size },
    };
    let open = open_file(path, Links::Follow)
        .map_err(failed)?
        .ok_or_else(|| unreadable(Errno::NOENT.into()))?;
    let size = open.metadata.len();
    if size > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { size });
    }
    let bytes = open.read_rest(MAX_COMPONENT_BYTES).map_err(failed)?;
    Ok((bytes, Stamp::of(&open.metadata)))
}

pub(crate) fn not_a_file(path: &Path) -> LoadError {
    LoadError::Unreadable { path: path.to_owned(), reason: "it is not a file".into() }
}
