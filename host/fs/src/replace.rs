//! Atomic replacement: a reader sees the old bytes or the new ones, also while the file is replaced
//! and after a crash.

use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of a draft's name. Drafts begin with a dot.
const DRAFT: &str = ".draft";

/// The part of a replacement that survives a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// File and folder are on the disk before the replacement returns.
    FileAndFolder,
    /// The file is; its new name may be lost, and then the old file is there.
    File,
    /// Nothing: after a power cut the file may be empty. For data that its reader verifies and that
    /// can be made again.
    Nothing,
}

/// A replacement of one file. The new bytes go to a draft in the same folder, which then takes the
/// file's name. A link at the path is replaced, not followed.
#[derive(Debug)]
pub struct Replacement<'p> {
    path: &'p Path,
    mode: u32,
    like: Option<&'p Metadata>,
    exact: bool,
    locked: bool,
    flush: Flush,
}

impl<'p> Replacement<'p> {
    /// Creates or replaces the file at `path`, with these permission bits, from which the process's
    /// umask is taken.
    #[must_use]
    pub const fn new(path: &'p Path, mode: u32) -> Self {
        let flush = Flush::FileAndFolder;
        Self { path, mode, like: None, exact: false, locked: false, flush }
    }

    /// Gives the file exactly its permission bits, whatever the umask. With `like`, the metadata of
    /// the old file, it gets that owner, group and mode instead.
    #[must_use]
    pub const fn like_original(mut self, like: Option<&'p Metadata>) -> Self {
        (self.exact, self.like) = (true, like);
        self
    }

    /// Replaces the draft that a killed process left. The caller must hold the lock under which
    /// every writer replaces the file, since all of them use one draft.
    #[must_use]
    pub const fn under_lock(mut self) -> Self {
        self.locked = true;
        self
    }

    /// Flushes less than file and folder.
    #[must_use]
    pub const fn with_flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// Writes the new content and puts it in place.
    ///
    /// # Errors
    /// `write` fails, or the draft cannot be created, written or renamed. The file is then
    /// unchanged and the draft is removed.
    pub fn write_with<E: From<io::Error>>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let draft = if self.locked { locked_draft_of(self.path) } else { draft_of(self.path) };
        self.write_through(&draft, write).inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    fn write_through<E: From<io::Error>>(
        &self,
        draft: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        // A killed process may have left it: an earlier one with this number, or any with the lock.
        let _left_over = fs::remove_file(draft);
        // Until its owner is set, nobody else may read a file whose mode is exact.
        let mode = if self.exact { 0o600 } else { self.mode };
        let file = OpenOptions::new().create_new(true).write(true).mode(mode).open(draft)?;
        let mut buffered = BufWriter::new(file);
        write(&mut buffered)?;
        let file = buffered.into_inner().map_err(IntoInnerError::into_error)?;
        if self.exact {
            self.set_owner_and_mode(&file)?;
        }
        if self.flush != Flush::Nothing {
            file.sync_all()?;
        }
        fs::rename(draft, self.path)?;
        if self.flush == Flush::FileAndFolder {
            sync_folder(folder_of(self.path))?;
        }
        Ok(())
    }

    fn set_owner_and_mode(&self, file: &File) -> io::Result<()> {
        if let Some(like) = self.like {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
                fchown(file, Some(like.uid()), Some(like.gid()))?;
            }
        }
        let mode = self.like.map_or(self.mode, |like| like.mode() & 0o7777);
        file.set_permissions(Permissions::from_mode(mode))
    }
}

/// Replaces the file at `path`, or creates it, with these permission bits. Returns after file and
/// folder are on the disk. See [`Replacement`].
///
/// # Errors
/// As for [`Replacement::write_with`].
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    Replacement::new(path, mode).write_with(write)
}

/// Replaces the file at `path` by these bytes. See [`replace_file`].
///
/// # Errors
/// As for [`Replacement::write_with`].
pub fn replace_bytes(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    replace_file(path, mode, |file| file.write_all(bytes))
}

/// Makes new, changed and removed names in a folder durable.
///
/// # Errors
/// The folder cannot be opened, or its file system cannot sync folders.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Overwrites a file with zeros, under each name that it has, and removes it; a link or anything else that
/// is no file is only removed.
/// On a disk that writes to new blocks the old ones remain until they are used again.
///
/// # Errors
/// Nothing has that name, or the system refuses.
pub fn destroy_file(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_file() {
        let follow_no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new().write(true).custom_flags(follow_no_link).open(path)?;
        let zeros = [0; 4096];
        let mut left = found.len();
        while left > 0 {
            let part = left.min(zeros.len() as u64);
            let length = usize::try_from(part).unwrap_or(zeros.len());
            file.write_all(zeros.get(..length).unwrap_or_default())?;
            left -= part;
        }
        file.sync_all()?;
    }
    fs::remove_file(path)
}

/// Removes the drafts of a file that killed processes left. The caller must hold the lock under
/// which the file is written, or a draft that is being written disappears.
///
/// # Errors
/// The folder cannot be read, or a draft cannot be removed.
pub fn remove_drafts(path: &Path) -> io::Result<()> {
    let begin = draft_begin(path);
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(begin.as_encoded_bytes()) && name.ends_with(DRAFT.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn draft_begin(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name
}

/// The one name for all writers that hold the file's lock.
fn locked_draft_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(DRAFT);
    path.with_file_name(name)
}

/// A name that no other writer of this file uses: threads of one process get different ones, and so
/// do processes.
fn draft_of(path: &Path) -> PathBuf {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let mut name = draft_begin(path);
    name.push(format!("{}-{number}{DRAFT}", std::process::id()));
    path.with_file_name(name)
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

    #[test]
    fn an_exact_mode_does_not_depend_on_the_umask_and_a_like_mode_wins() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o646)).unwrap();
        let like = fs::metadata(&old).unwrap();
        for (like, expected) in [(None, 0o666), (Some(&like), 0o646)] {
            for flush in [Flush::FileAndFolder, Flush::File, Flush::Nothing] {
                let replacement =
                    Replacement::new(&new, 0o666).like_original(like).with_flush(flush);
                replacement.write_with(|file| file.write_all(b"new")).unwrap();
                assert_eq!(fs::metadata(&new).unwrap().mode() & 0o7777, expected);
                assert_eq!(fs::read(&new).unwrap(), b"new");
            }
        }
        assert_eq!(names(folder.path()), ["new", "old"]);
    }

    #[test]
    fn a_locked_writer_replaces_the_draft_of_a_killed_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(locked_draft_of(&path), "a longer draft").unwrap();
        Replacement::new(&path, 0o600)
            .under_lock()
            .write_with(|file| file.write_all(b"new"))
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn only_the_drafts_of_one_file_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let other = draft_of(&folder.path().join("b.json"));
        for left in [&path, &draft_of(&path), &draft_of(&path), &other] {
            fs::write(left, "x").unwrap();
        }
        remove_drafts(&path).unwrap();
        let other = other.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(names(folder.path()), [other, "a.json".to_owned()]);
    }
}
