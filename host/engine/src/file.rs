//! Reads a plugin's file: never more bytes than a plugin may have, and never blocking on a pipe.
//!
//! A link is followed, since people keep their components where they build them. Its target is
//! checked after it is opened, so that it cannot be swapped in between.

use crate::cache::Stamp;
use crate::limits::MAX_COMPONENT_BYTES;
use crate::load_error::LoadError;
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
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
    // Without this flag, opening a pipe would block until its other side is opened.
    let flags = i32::from_ne_bytes(OFlags::NONBLOCK.bits().to_ne_bytes());
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_a_file(path));
    }
    if metadata.len() > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { size: metadata.len() });
    }
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes, Stamp::of(&metadata)))
}

pub(crate) fn not_a_file(path: &Path) -> LoadError {
    LoadError::Unreadable { path: path.to_owned(), reason: "it is not a file".into() }
}
