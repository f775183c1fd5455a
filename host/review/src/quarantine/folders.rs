//! The two locations of a moved file, accessed from the folder that holds both without following a
//! link.

use super::OURS;
use portcullis_core::record::MovedEntry;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// The deepest nesting of folders.
const DEEPEST: usize = 512;
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The original location of something, and its location while it is in a quarantine.
pub(super) struct MovePaths {
    /// The folder that holds both.
    root: PathBuf,
    /// The original location, relative to the root.
    from: PathBuf,
    /// The location in the quarantine, relative to the root.
    to: PathBuf,
}

/// The result of looking at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occupant {
    /// Nothing; its folders may be missing too.
    Nothing,
    /// Something exists there.
    Something,
    /// A parent folder is a link, or not a folder.
    Barred,
}

impl MovePaths {
    /// Returns both locations.
    pub(super) fn of(moved: &MovedEntry) -> io::Result<Self> {
        let (from, to) = (Path::new(&moved.from), Path::new(&moved.to));
        let plain = |path: &Path| {
            path.is_absolute()
                && path.components().skip(1).all(|part| matches!(part, Component::Normal(_)))
        };
        let root: PathBuf = from
            .components()
            .zip(to.components())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a)
            .collect();
        let (Ok(below), Ok(kept)) = (from.strip_prefix(&root), to.strip_prefix(&root)) else {
            return Err(bad());
        };
        let inside = !below.as_os_str().is_empty() && !kept.as_os_str().is_empty();
        if !plain(from) || !plain(to) || !inside {
            return Err(bad());
        }
        Ok(Self { from: below.to_owned(), to: kept.to_owned(), root })
    }

    /// Returns true if it is in the quarantine.
    pub(super) fn is_kept(&self) -> bool {
        self.find(&self.to) == Occupant::Something
    }

    /// Returns what exists at its original location.
    pub(super) fn in_the_way(&self) -> Occupant {
        self.find(&self.from)
    }

    fn find(&self, path: &Path) -> Occupant {
        match self.folder(path, false).and_then(|(folder, name)| {
            Ok(rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?)
        }) {
            Ok(_) => Occupant::Something,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Occupant::Nothing,
            Err(_) => Occupant::Barred,
        }
    }

    /// Moves it into the quarantine; creates the folders there.
    pub(super) fn put_away(&self) -> io::Result<()> {
        let (source, name) = self.folder(&self.from, false)?;
        rustix::fs::statat(&source, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        self.hide()?;
        self.rename(&self.from, &self.to)
    }

    /// Keeps git from committing quarantined files, like the rewrite of a command does. A file that
    /// a person put there stays unchanged.
    fn hide(&self) -> io::Result<()> {
        let Some(quarantine) = self.to.ancestors().find(|folder| folder.ends_with(OURS)) else {
            return Ok(());
        };
        let (folder, name) = self.folder(&quarantine.join(".gitignore"), true)?;
        let new =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&folder, &name, new, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => Ok(()),
            file => rustix::io::write(file?, b"*\n").map(drop).map_err(io::Error::from),
        }
    }

    /// Moves it back and creates missing parent folders. Never replaces anything.
    pub(super) fn put_back(&self) -> io::Result<()> {
        self.rename(&self.to, &self.from)
    }

    fn rename(&self, old: &Path, new: &Path) -> io::Result<()> {
        let (source, name) = self.folder(old, false)?;
        // Nothing may be created at the target for a source that is gone.
        rustix::fs::statat(&source, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let (target, new) = self.folder(new, true)?;
        Ok(rustix::fs::renameat_with(&source, &name, &target, &new, RenameFlags::NOREPLACE)?)
    }

    /// Deletes the quarantined file or folder permanently.
    pub(super) fn delete(&self) -> io::Result<()> {
        match self.folder(&self.to, false).and_then(|(folder, name)| delete(&folder, &name, 0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Returns the size in bytes of what is in the quarantine.
    pub(super) fn size(&self) -> io::Result<u64> {
        let (folder, name) = self.folder(&self.to, false)?;
        size(&folder, &name, 0)
    }

    /// Removes the quarantine's own folders if they are empty. A remaining folder is harmless.
    pub(super) fn tidy(&self, id: &str) {
        let mut path = self.to.parent();
        while let Some(folder) =
            path.filter(|path| path.components().any(|part| part.as_os_str() == id))
        {
            let gone = self.folder(folder, false).and_then(|(above, name)| {
                Ok(rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR)?)
            });
            if gone.is_err() {
                return;
            }
            path = folder.parent();
        }
    }

    /// Returns the folder that contains a path, and the path's name in it.
    fn folder(&self, path: &Path, make: bool) -> io::Result<(OwnedFd, OsString)> {
        let name = path.file_name().ok_or_else(bad)?;
        let mut folder = rustix::fs::openat(
            CWD,
            &self.root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        for part in path.parent().into_iter().flat_map(Path::components) {
            let part = part.as_os_str();
            folder = match rustix::fs::openat(&folder, part, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                        Err(Errno::EXIST) => {}
                        made => made?,
                    }
                    rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok((folder, name.to_owned()))
    }
}

fn bad() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the two places are not plain absolute paths")
}

fn too_deep() -> io::Error {
    io::Error::other("folders are nested too deep")
}

fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStrExt;
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn delete(above: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
    let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(rustix::fs::unlinkat(above, name, AtFlags::empty())?);
    }
    if depth == DEEPEST {
        return Err(too_deep());
    }
    let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty())?;
    names(&folder)?.iter().try_for_each(|below| delete(&folder, below, depth + 1))?;
    Ok(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?)
}

fn size(above: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<u64> {
    let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(u64::try_from(found.st_size).unwrap_or_default());
    }
    if depth == DEEPEST {
        return Err(too_deep());
    }
    let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty())?;
    names(&folder)?
        .iter()
        .try_fold(0_u64, |sum, below| Ok(sum.saturating_add(size(&folder, below, depth + 1)?)))
}
