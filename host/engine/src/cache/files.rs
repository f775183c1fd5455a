//! A private folder and the files in it: opened without following links, replaced atomically.

use portcullis_fs::{
    Flush, Links, OpenFile, ReadError, Replacement, create_private_folder, open_file,
};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The largest file that is read back, in bytes: the compiled form of the largest component is some
/// 3 times its size.
const MAX_BYTES: u64 = 512 << 20;

/// Distinguishes a file's content from any other that was or will be under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns true if the last change was at least `age` ago.
    pub(crate) fn settled(&self, age: Duration) -> bool {
        let (Ok(seconds), Ok(nanos)) =
            (u64::try_from(self.changed.0), u32::try_from(self.changed.1))
        else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        SystemTime::now().duration_since(changed).is_ok_and(|passed| passed >= age)
    }
}

/// The reason why a file or folder is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("it is not there")]
    Absent,
    #[error("it belongs to user {0}, not to user {1} who runs this")]
    Owner(u32, u32),
    #[error("its mode is {0:o}, so that others can reach it; it must be {1:o}")]
    Mode(u32, u32),
    #[error("it is not a {0}")]
    Type(&'static str),
    #[error("it has {0} bytes, more than any compiled plugin")]
    Size(u64),
    #[error("{0}")]
    Io(String),
}

impl From<ReadError> for Unusable {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotAFile => Self::Type("file"),
            ReadError::Link => Self::Io(error.to_string()),
            ReadError::TooLarge(size) => Self::Size(size),
            ReadError::Io(error) => error.into(),
        }
    }
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            Self::Absent
        } else {
            Self::Io(error.to_string())
        }
    }
}

/// The files that a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepStats {
    /// The number of files.
    pub files: u64,
    /// Their total size, in bytes.
    pub bytes: u64,
}

/// A folder that only this user can enter.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, Unusable> {
        create_private_folder(path)?;
        let metadata = std::fs::symlink_metadata(path)?;
        if !metadata.is_dir() {
            return Err(Unusable::Type("folder"));
        }
        is_private(&metadata, 0o700)?;
        Ok(Self(path.to_owned()))
    }

    pub(crate) fn file(&self, name: &str) -> Result<(OpenFile, Stamp), Unusable> {
        let opened = open_file(&self.0.join(name), Links::Refuse)?;
        let open = opened.ok_or(Unusable::Absent)?;
        is_private(&open.metadata, 0o600)?;
        let size = open.metadata.size();
        if size > MAX_BYTES {
            return Err(Unusable::Size(size));
        }
        let stamp = Stamp::of(&open.metadata);
        Ok((open, stamp))
    }

    /// Opens a file to hold a lock on, and creates it if it does not exist.
    pub(crate) fn own(&self, name: &str) -> Result<File, Unusable> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(open_flags())
            .open(self.0.join(name))?;
        is_private(&file.metadata()?, 0o600)?;
        Ok(file)
    }

    /// Replaces a file as a whole, so that a mapped old one never changes.
    pub(crate) fn replace(&self, name: &str, parts: &[&[u8]]) -> Result<(), Unusable> {
        let path = self.0.join(name);
        // Each file has a signature, so a torn one is as good as none.
        let replacement = Replacement::new(&path, 0o600).with_flush(Flush::Nothing);
        replacement.write_with(|file| -> io::Result<()> {
            parts.iter().try_for_each(|part| file.write_all(part))
        })?;
        Ok(())
    }

    /// Removes files that were last written at least `age` ago and are not `needed`. A file that
    /// cannot be removed stays; another process may have been quicker.
    pub(crate) fn sweep(
        &self,
        needed: &dyn Fn(&str) -> bool,
        age: Duration,
    ) -> io::Result<SweepStats> {
        let mut swept = SweepStats::default();
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            let Ok(found) = entry.metadata() else { continue };
            let old = found.modified().is_ok_and(|at| {
                SystemTime::now().duration_since(at).is_ok_and(|passed| passed >= age)
            });
            let spared = entry.file_name().to_str().is_none_or(needed);
            if found.is_file() && old && !spared && std::fs::remove_file(entry.path()).is_ok() {
                swept.files += 1;
                swept.bytes = swept.bytes.saturating_add(found.size());
            }
        }
        Ok(swept)
    }
}

pub(crate) fn read_all(open: &OpenFile) -> Result<Vec<u8>, Unusable> {
    Ok(open.read_rest(MAX_BYTES)?)
}

fn is_private(metadata: &Metadata, mode: u32) -> Result<(), Unusable> {
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        return Err(Unusable::Owner(metadata.uid(), user));
    }
    let found = metadata.mode() & 0o7777;
    if found & !mode != 0 { Err(Unusable::Mode(found, mode)) } else { Ok(()) }
}

/// Returns open flags that follow no link and do not block on a pipe.
fn open_flags() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    // The flags are a C `int`; the bits stay as they are.
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}
