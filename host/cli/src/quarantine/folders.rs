//! The two places of something that was moved, reached from the folder that holds both without following a link.

use portcullis_core::record::Moved;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// So many folders may lie within each other.
const DEEPEST: usize = 512;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where something stood, and where it stands while it is in a quarantine.
pub struct Place {
    /// The folder that holds both.
    root: PathBuf,
    /// From there.
    from: PathBuf,
    /// From there.
    to: PathBuf,
}

/// What stands in the way of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing; its folders may be missing too.
    Nothing,
    /// Something stands there.
    Something,
    /// A folder above it is a link, or no folder.
    Barred,
}

impl Place {
    /// Both places.
    pub fn of(moved: &Moved) -> io::Result<Self> {
        let (from, to) = (Path::new(&moved.from), Path::new(&moved.to));
        let plain = |path: &Path| path.is_absolute() && path.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
        let root: PathBuf = from.components().zip(to.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
        let (Ok(below), Ok(kept)) = (from.strip_prefix(&root), to.strip_prefix(&root)) else { return Err(bad()) };
        let inside = !below.as_os_str().is_empty() && !kept.as_os_str().is_empty();
        if !plain(from) || !plain(to) || !inside {
            return Err(bad());
        }
        Ok(Self { from: below.to_owned(), to: kept.to_owned(), root })
    }

    /// Whether it stands in the quarantine.
    pub fn is_kept(&self) -> bool {
        self.find(&self.to) == Found::Something
    }

    /// What stands where it stood.
    pub fn in_the_way(&self) -> Found {
        self.find(&self.from)
    }

    fn find(&self, path: &Path) -> Found {
        match self.folder(path, false).and_then(|(folder, name)| Ok(rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?)) {
            Ok(_) => Found::Something,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(_) => Found::Barred,
        }
    }

    /// Moves it into the quarantine; its folders there are made.
    pub fn put_away(&self) -> io::Result<()> {
        self.rename(&self.from, &self.to)
    }

    /// Moves it back; missing folders above it are made. Never replaces anything.
    pub fn put_back(&self) -> io::Result<()> {
        self.rename(&self.to, &self.from)
    }

    fn rename(&self, old: &Path, new: &Path) -> io::Result<()> {
        let (source, name) = self.folder(old, false)?;
        rustix::fs::statat(&source, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let (target, new) = self.folder(new, true)?;
        Ok(rustix::fs::renameat_with(&source, &name, &target, &new, RenameFlags::NOREPLACE)?)
    }

    /// Deletes what is in the quarantine, for good.
    pub fn delete(&self) -> io::Result<()> {
        match self.folder(&self.to, false).and_then(|(folder, name)| delete(&folder, &name, 0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The bytes of what is in the quarantine.
    pub fn size(&self) -> io::Result<u64> {
        let (folder, name) = self.folder(&self.to, false)?;
        size(&folder, &name, 0)
    }

    /// Removes the quarantine's own folders where nothing is left in them. That one stays is no harm.
    pub fn tidy(&self, id: &str) {
        let mut path = self.to.parent();
        while let Some(folder) = path.filter(|path| path.components().any(|part| part.as_os_str() == id)) {
            let gone = self.folder(folder, false).and_then(|(above, name)| Ok(rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR)?));
            if gone.is_err() {
                return;
            }
            path = folder.parent();
        }
    }

    /// The folder that holds a path, and the path's name in it.
    fn folder(&self, path: &Path, make: bool) -> io::Result<(OwnedFd, OsString)> {
        let name = path.file_name().ok_or_else(bad)?;
        let mut folder = rustix::fs::openat(CWD, &self.root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
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
    io::Error::new(io::ErrorKind::InvalidInput, "the two places are no plain absolute paths")
}

fn too_deep() -> io::Error {
    io::Error::other("folders lie too deep within each other")
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
    names(&folder)?.iter().try_fold(0_u64, |sum, below| Ok(sum.saturating_add(size(&folder, below, depth + 1)?)))
}
