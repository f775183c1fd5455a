//! Finds changes in git's own folder since a time: a checkpoint of a whole tree leaves it out.

use crate::entry::EntryInfo;
use crate::files::FileAccess;
use std::io;
use std::path::Path;

/// The folders in it whose entries are looked at; those of other branches change with these.
const FOLDERS: &[&str] = &["hooks", "logs", "refs/heads", "refs/tags"];
/// The time by which a file system's clock may be behind the system's, in milliseconds.
const BEHIND: u64 = 10;

/// Returns true if nothing that a person would miss was changed in a repository's folder since a
/// time, in milliseconds since 1970. What cannot be looked at may have been.
pub(crate) fn is_unchanged(files: &FileAccess, git: &Path, since: u64) -> bool {
    let is_older = |found: &EntryInfo| {
        let changed = found.stamp.changed;
        let seconds = u64::try_from(changed.seconds).unwrap_or(u64::MAX);
        let at = seconds.saturating_mul(1000) + u64::from(changed.nanoseconds / 1_000_000);
        at.saturating_add(BEHIND) < since
    };
    let all_older = |folder: &Path| -> io::Result<bool> {
        let Some((parent, name)) = folder.parent().zip(folder.file_name()) else {
            return Ok(false);
        };
        let listed = files.open(parent)?.enter_to_list(name)?;
        for name in listed.names()? {
            if listed.find(&name)?.is_some_and(|found| !is_older(&found)) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let below = FOLDERS.iter().all(|folder| match all_older(&git.join(folder)) {
        Ok(is_older) => is_older,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    });
    below && all_older(git).unwrap_or(false)
}
