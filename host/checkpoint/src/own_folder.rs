//! A folder of this process's user, by a handle: each is opened from the one above, one name at a
//! time, never through a link. So swapping a path in between cannot redirect anything here.

use crate::entry::{EntryInfo, as_mode};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// An open folder.
#[derive(Debug)]
pub(crate) struct OwnFolder(OwnedFd);

/// The flags of a handle for traversal only: it needs no permission to read the folder, on systems
/// that have such handles.
#[cfg(target_os = "linux")]
const TRAVERSE_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE_ONLY: OFlags = OFlags::RDONLY;

/// The bytes of names that are read at once.
#[cfg(target_os = "linux")]
const NAMES: usize = 32 << 10;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl OwnFolder {
    /// Opens an absolute path, starting from `/`.
    pub(crate) fn absolute(path: &Path) -> io::Result<Self> {
        let top = Self(rustix::fs::open("/", TRAVERSE_ONLY | FOLDER, Mode::empty())?);
        let names = path.components().filter_map(|part| match part {
            std::path::Component::Normal(name) => Some(name),
            _ => None,
        });
        names.into_iter().try_fold(top, |folder, name| folder.enter(name))
    }

    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(&self.0, name, TRAVERSE_ONLY | FOLDER, Mode::empty())?))
    }

    /// Opens a folder in it in order to read its names.
    pub(crate) fn enter_to_list(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(&self.0, name, OFlags::RDONLY | FOLDER, Mode::empty())?))
    }

    /// Returns the names in a folder that was opened for listing; works once.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        let mut add = |name: &[u8]| {
            if !matches!(name, b"." | b"..") {
                names.push(OsString::from_vec(name.to_vec()));
            }
        };
        #[cfg(target_os = "linux")]
        {
            // Use this very handle: the portable function opens each folder once more.
            let mut buffer = Vec::with_capacity(NAMES);
            let mut entries = rustix::fs::RawDir::new(&self.0, buffer.spare_capacity_mut());
            while let Some(entry) = entries.next() {
                add(entry?.file_name().to_bytes());
            }
        }
        #[cfg(not(target_os = "linux"))]
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            add(entry?.file_name().to_bytes());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the metadata of a name; none if it does not exist.
    pub(crate) fn find(&self, name: &OsStr) -> io::Result<Option<EntryInfo>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(EntryInfo::of(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading; does not block if something else has replaced it.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Opens a file that was created here for writing.
    pub(crate) fn write(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o600))?))
    }

    pub(crate) fn link_text(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    pub(crate) fn make_link(&self, name: &OsStr, text: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(OsStr::from_bytes(text), &self.0, name)?)
    }

    pub(crate) fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?)
    }

    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a name into another folder, replacing an existing file.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, name, &to.0, new)?)
    }

    /// Sets the permission bits of a file or folder, never those of a link's destination.
    pub(crate) fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(as_mode(mode));
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            // The link in /proc leads to the very file that was opened; no other call can refer to
            // it here.
            let there = rustix::fs::openat(
                &self.0,
                name,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            use rustix::fs::FileType;
            if FileType::from_raw_mode(rustix::fs::fstat(&there)?.st_mode) == FileType::Symlink {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", there.as_raw_fd()), mode)?)
        }
        #[cfg(not(target_os = "linux"))]
        Ok(rustix::fs::chmodat(&self.0, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Flushes its entries. This is impossible for a folder without read permission.
    pub(crate) fn flush(&self) -> io::Result<()> {
        match rustix::fs::openat(&self.0, ".", OFlags::RDONLY | FOLDER, Mode::empty()) {
            Err(rustix::io::Errno::ACCESS) => Ok(()),
            other => Ok(rustix::fs::fsync(other?)?),
        }
    }
}
