//! Access to the user's files by handles: each folder is opened from the one above, one name at a
//! time, never through a link. So swapping a path in between cannot redirect anything here.

use crate::node::{NodeStamp, Time};
use crate::path::Rel;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// An open folder.
#[derive(Debug)]
pub(crate) struct OpenFolder(OwnedFd);

/// The metadata of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryInfo {
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    pub(crate) stamp: NodeStamp,
    pub(crate) links: u64,
    pub(crate) sparse: bool,
}

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

impl OpenFolder {
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

#[allow(clippy::cast_possible_truncation, reason = "permission bits are twelve")]
fn as_mode(mode: u32) -> rustix::fs::RawMode {
    (mode & 0o7777) as rustix::fs::RawMode
}

impl EntryInfo {
    #[allow(
        clippy::allow_attributes,
        clippy::unnecessary_cast,
        reason = "the fields' types differ between systems"
    )]
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "sizes are not negative, nanoseconds are small"
    )]
    fn of(stat: &Stat) -> Self {
        let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: stat.st_mode as u32 & 0o7777,
            stamp: NodeStamp {
                device: stat.st_dev as u64,
                inode: stat.st_ino as u64,
                size: stat.st_size as u64,
                modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
                changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            },
            links: stat.st_nlink as u64,
            sparse: (stat.st_blocks as u64).saturating_mul(512) < stat.st_size as u64,
        }
    }

    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }
}

/// Sets permission bits and time of a written file.
pub(crate) fn finish_file(file: &File, mode: u32, modified: Time) -> io::Result<()> {
    let when =
        rustix::fs::Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanoseconds.into() };
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    rustix::fs::fchmod(file, Mode::from_raw_mode(as_mode(mode)))?;
    Ok(rustix::fs::futimens(
        file,
        &rustix::fs::Timestamps { last_access: now, last_modification: when },
    )?)
}

/// A root, and a cache for reaching paths in it.
#[derive(Debug)]
pub(crate) struct Root<'a> {
    path: &'a Path,
    /// The folder that was opened last, for many paths of one folder; none stands for the root's
    /// parent.
    last: Option<(Option<Rel>, OpenFolder)>,
}

/// The way to a path below a root.
pub(crate) enum PathAccess<'a> {
    /// The folder that holds it exists; the name in it.
    Open(&'a OpenFolder, OsString),
    /// A folder above it is missing.
    Missing,
    /// Something that is not a folder is in the place of a folder above it.
    Barred,
}

impl<'a> Root<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self { path, last: None }
    }

    pub(crate) fn way(&mut self, to: &Rel) -> io::Result<PathAccess<'_>> {
        let (holder, name) = match to.split() {
            Some((holder, name)) => (Some(holder), name.to_owned()),
            None => (None, self.path.file_name().unwrap_or(OsStr::new(".")).to_owned()),
        };
        if self.last.as_ref().is_none_or(|(known, _)| *known != holder) {
            self.last = match self.open(holder.as_ref()) {
                Ok(folder) => Some((holder, folder)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(PathAccess::Missing);
                }
                Err(error) if is_barred(&error) => return Ok(PathAccess::Barred),
                Err(error) => return Err(error),
            };
        }
        Ok(self
            .last
            .as_ref()
            .map_or(PathAccess::Missing, |(_, folder)| PathAccess::Open(folder, name)))
    }

    fn open(&self, holder: Option<&Rel>) -> io::Result<OpenFolder> {
        match holder {
            None => OpenFolder::absolute(self.path.parent().unwrap_or(self.path)),
            Some(holder) => holder
                .names()
                .try_fold(OpenFolder::absolute(self.path)?, |folder, name| folder.enter(name)),
        }
    }
}

/// Returns true if a folder could not be entered because it is a link or not a folder.
fn is_barred(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP)
    )
}
