//! Opens what lies in a granted folder, and makes sure that it lies nowhere else.
//!
//! A file from elsewhere can lie in a folder in one way alone: as another name of it. How many names a file has is
//! told by its count of links; but whoever takes the second name away between the opening and the look at the count
//! leaves a file with one name, which is not the one that it was opened by. So the name is looked at before and
//! after, and counts only if it led to the same file all the while, to one whose links did not change.

use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions};
use std::io;

/// How often a file that changes meanwhile is tried; one that is being written may come to rest.
const TRIES: u32 = 3;

/// What was opened.
pub(super) enum Opened {
    /// A file with this one name, or something that is no file.
    Whole(File, Metadata),
    /// A file that has another name.
    Linked,
    /// A file that was another one, or had other names, a moment ago.
    Changing,
}

/// Opens what the path leads to.
pub(super) fn open(dir: &Dir, path: &str, options: &OpenOptions) -> io::Result<Opened> {
    for _ in 0..TRIES {
        let before = dir.metadata(path)?;
        let file = dir.open_with(path, options)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Ok(Opened::Whole(file, meta));
        }
        if meta.nlink() > 1 {
            return Ok(Opened::Linked);
        }
        let after = dir.metadata(path)?;
        if [before, after].iter().all(|other| state(other) == state(&meta)) {
            return Ok(Opened::Whole(file, meta));
        }
    }
    Ok(Opened::Changing)
}

/// Which file it is and when something about it changed last: making and removing a name is such a change.
fn state(meta: &Metadata) -> [i128; 5] {
    [meta.dev().into(), meta.ino().into(), meta.nlink().into(), meta.ctime().into(), meta.ctime_nsec().into()]
}
