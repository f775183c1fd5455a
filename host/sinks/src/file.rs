//! A file that grows, and is put aside when it is full or old.
//!
//! The position of the last acknowledged byte is kept with the cursor. Bytes after it were written by
//! a process that was killed before it moved the cursor: they are cut off, and the same records are
//! written again.

use crate::delivery::Accepted;
use crate::failure::SinkFailure;
use crate::settings::FileSink;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How far a file is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    /// The file's number on its disk: another file may have taken its name.
    pub inode: u64,
    /// The acknowledged bytes.
    pub length: u64,
    /// The time of its first byte, in milliseconds since 1970.
    pub begun_at: u64,
}

/// A file of a sink. It is created with the first delivery.
#[derive(Debug)]
pub(crate) struct OpenFile {
    settings: FileSink,
    place: String,
    current: Option<(File, FilePosition)>,
}

impl OpenFile {
    /// Checks what can be checked before the file is there.
    pub(crate) fn check(settings: &FileSink) -> Result<(), SinkFailure> {
        let place = settings.path.display();
        if !settings.path.is_absolute() || settings.path.file_name().is_none() {
            return Err(SinkFailure::settings(
                format!("the path `{place}` is not absolute"),
                "write the path of a file, from `/` or `~/` on",
            ));
        }
        let folder = settings.path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            return Err(SinkFailure::settings(
                format!("there is no folder `{}`", folder.display()),
                "create it, for yourself alone",
            ));
        }
        Ok(())
    }

    pub(crate) fn open(
        settings: &FileSink,
        acknowledged: Option<&FilePosition>,
    ) -> Result<Self, SinkFailure> {
        Self::check(settings)?;
        let place = settings.path.display().to_string();
        let mut opened = Self { settings: settings.clone(), place, current: None };
        let Some(file) = opened.open_file(OFlags::empty())? else { return Ok(opened) };
        let found = file.metadata().map_err(|error| opened.broken("read", &error))?;
        let known = acknowledged
            .filter(|known| known.inode == found.ino() && known.length <= found.len())
            .copied();
        let position = known.unwrap_or(FilePosition {
            inode: found.ino(),
            // A file that somebody else began, or whose position is lost, keeps what it has.
            length: found.len(),
            begun_at: u64::try_from(found.mtime()).unwrap_or(0).saturating_mul(1000),
        });
        if found.len() > position.length {
            file.set_len(position.length).map_err(|error| opened.broken("write", &error))?;
        }
        opened.current = Some((file, position));
        Ok(opened)
    }

    pub(crate) fn position(&self) -> Option<FilePosition> {
        self.current.as_ref().map(|(_, position)| *position)
    }

    pub(crate) fn starts_document(&mut self, now: u64) -> Result<bool, SinkFailure> {
        let is_gone =
            self.current.as_ref().is_some_and(|(_, position)| !self.is_in_place(position));
        if is_gone {
            // Somebody else put it aside, as `logrotate` does.
            self.current = None;
        }
        let is_due = self.current.as_ref().is_some_and(|(_, position)| self.is_due(position, now));
        if is_due {
            self.rotate_files().map_err(|error| self.broken("rotate", &error))?;
            self.current = None;
        }
        Ok(self.current.as_ref().is_none_or(|(_, position)| position.length == 0))
    }

    pub(crate) fn append(&mut self, bytes: &[u8], now: u64) -> Result<Accepted, SinkFailure> {
        if self.current.is_none() {
            self.current = Some(self.begin(now)?);
        }
        let outcome = match &mut self.current {
            Some((file, position)) => write_after(file, position.length, bytes),
            None => Err(io::Error::other("it is not open")),
        };
        outcome.map_err(|error| self.broken("write", &error))?;
        if let Some((_, position)) = &mut self.current {
            if position.length == 0 {
                position.begun_at = now;
            }
            position.length = position.length.saturating_add(bytes.len() as u64);
        }
        Ok(Accepted { what: format!("written to `{}`", self.place), rejected: 0 })
    }

    fn begin(&self, now: u64) -> Result<(File, FilePosition), SinkFailure> {
        let gone =
            || self.broken("create", &io::Error::new(io::ErrorKind::NotFound, "it is gone again"));
        let file = self.open_file(OFlags::CREATE)?.ok_or_else(gone)?;
        let found = file.metadata().map_err(|error| self.broken("read", &error))?;
        let position = FilePosition { inode: found.ino(), length: found.len(), begun_at: now };
        Ok((file, position))
    }

    /// Opens the file for appending; none if it is not there and is not to be created.
    fn open_file(&self, more: OFlags) -> Result<Option<File>, SinkFailure> {
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC
            | OFlags::NOCTTY
            | more;
        let descriptor = match open(&self.settings.path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOENT) if !more.contains(OFlags::CREATE) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(SinkFailure::settings(
                    format!("the file `{}` is a link", self.place),
                    "name the file that it leads to",
                ));
            }
            Err(error) => return Err(self.broken("open", &error.into())),
        };
        let found = fstat(&descriptor).map_err(|error| self.broken("read", &error.into()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(SinkFailure::settings(
                format!("`{}` is not a file", self.place),
                "name a file",
            ));
        }
        // Who writes there could have records cut off, or read them.
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o022 != 0 {
            return Err(SinkFailure::settings(
                format!(
                    "the file `{}` belongs to somebody else, or others can write it",
                    self.place
                ),
                "name a file of your own, which nobody else can write",
            ));
        }
        Ok(Some(File::from(descriptor)))
    }

    /// Returns true if the file still has its name.
    fn is_in_place(&self, position: &FilePosition) -> bool {
        fs::symlink_metadata(&self.settings.path).is_ok_and(|found| found.ino() == position.inode)
    }

    fn is_due(&self, position: &FilePosition, now: u64) -> bool {
        let age = u128::from(now.saturating_sub(position.begun_at));
        position.length > 0
            && (position.length >= self.settings.rotate_bytes
                || self.settings.rotate_after.is_some_and(|after| age >= after.as_millis()))
    }

    /// Renames the full files by one, the oldest first, and the current one to `PATH.1`.
    fn rotate_files(&self) -> io::Result<()> {
        let numbered = |number: u32| -> PathBuf {
            let mut name = self.settings.path.clone().into_os_string();
            name.push(format!(".{number}"));
            name.into()
        };
        let keep = self.settings.keep.max(1);
        for number in (1..keep).rev() {
            match fs::rename(numbered(number), numbered(number.saturating_add(1))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.settings.path, numbered(1))
    }

    fn broken(&self, action: &str, error: &io::Error) -> SinkFailure {
        SinkFailure::later(
            format!("cannot {action} the file `{}` ({error})", self.place),
            "check its folder and the room on its disk",
        )
    }
}

/// Writes and flushes bytes after those that are acknowledged; nothing of them is left after an
/// error.
fn write_after(file: &mut File, length: u64, bytes: &[u8]) -> io::Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // If this fails too, the next opener cuts them off.
        let _cut = file.set_len(length);
    }
    written
}
