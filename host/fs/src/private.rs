//! Folders and lock files that only their owner can open.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder with access for its owner alone, and its missing parents alike. An existing
/// folder stays as it is.
///
/// # Errors
/// The name is taken by something else, or the system refuses.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file to hold a lock on, and creates it with access for its owner alone.
///
/// # Errors
/// The system refuses.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    // Read access is needed too: opening a pipe of that name for writing only would block until it
    // is read.
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
