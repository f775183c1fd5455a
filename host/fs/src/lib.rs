//! Files that are replaced whole or not at all.
//!
//! A reader of such a file sees the old bytes or the new ones, also while it is replaced and after a crash. This crate
//! knows nothing of what the files hold.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the file at `path`, or creates it, with these permission bits. Returns after file and folder are on the disk.
///
/// The new bytes go to a draft in the same folder, which then takes the file's name. A link at `path` is replaced, not
/// followed.
///
/// # Errors
/// `write` fails, or the draft cannot be created, written or renamed. The file at `path` is then unchanged and the draft
/// is removed.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let draft = draft_of(path);
    replace_through(&draft, path, mode, write).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Replaces the file at `path` by these bytes. See [`replace_file`].
///
/// # Errors
/// As for [`replace_file`].
pub fn replace_bytes(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    replace_file(path, mode, |file| file.write_all(bytes))
}

fn replace_through<E: From<io::Error>>(
    draft: &Path,
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // A process with this number may have been killed before its draft took the file's name.
    let _left_over = fs::remove_file(draft);
    let file = OpenOptions::new().create_new(true).write(true).mode(mode).open(draft)?;
    let mut buffered = BufWriter::new(file);
    write(&mut buffered)?;
    let file = buffered.into_inner().map_err(IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// A name that no other writer of this file uses: threads of one process get different ones, and so do processes.
fn draft_of(path: &Path) -> PathBuf {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    path.with_added_extension(format!("{}-{number}.draft", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_no_draft_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for (mode, bytes) in [(0o600, b"one".as_slice()), (0o644, b"two"), (0o600, b"")] {
            replace_bytes(&path, mode, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            assert_eq!(names(folder.path()), ["a.json"]);
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "old").unwrap();
        let failed = replace_file(&path, 0o600, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn a_link_is_replaced_and_its_target_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "target").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace_bytes(&link, 0o600, b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "target");
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn writers_side_by_side_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::thread::scope(|scope| {
            for letter in b'a'..b'i' {
                let path = &path;
                scope.spawn(move || {
                    (0..20).for_each(|_| replace_bytes(path, 0o600, &[letter; 9000]).unwrap())
                });
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 9000 && bytes.iter().all(|byte| Some(byte) == bytes.first()));
        assert_eq!(names(folder.path()), ["a.json"]);
    }
}
