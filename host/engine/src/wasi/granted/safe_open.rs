//! Opens a file in a granted folder, and makes sure that it has no other name.
//!
//! A file from elsewhere can be in a folder in only one way: as a hard link. The link count reveals
//! that; but if the second name is removed between the opening and the check of the count, the file
//! has one name left, which is not the one that it was opened by. So the name is checked before and
//! after, and accepted only if it led to the same file each time and the links of that file did not
//! change.

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions};
use std::io;

/// The number of attempts for a file that changes meanwhile; one that is being written may come to
/// rest.
const TRIES: u32 = 3;

/// The result of opening.
pub(super) enum OpenOutcome {
    /// A file with this one name, or something that is not a file.
    Whole(File, Metadata),
    /// A file that has another name.
    Linked,
    /// A file that was another one, or had other names, a moment ago.
    Changing,
}

/// Opens the object at the path.
pub(super) fn open(dir: &Dir, path: &str, options: &OpenOptions) -> io::Result<OpenOutcome> {
    for _ in 0..TRIES {
        let before = dir.metadata(path)?;
        let file = dir.open_with(path, options)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Ok(OpenOutcome::Whole(file, meta));
        }
        if meta.nlink() > 1 {
            return Ok(OpenOutcome::Linked);
        }
        let after = dir.metadata(path)?;
        if [before, after].iter().all(|other| state(other) == state(&meta)) {
            return Ok(OpenOutcome::Whole(file, meta));
        }
    }
    Ok(OpenOutcome::Changing)
}

/// Returns the identity of a file and the time of its last status change: adding and removing a
/// name is such a change.
fn state(meta: &Metadata) -> [i128; 5] {
    [
        meta.dev().into(),
        meta.ino().into(),
        meta.nlink().into(),
        meta.ctime().into(),
        meta.ctime_nsec().into(),
    ]
}
