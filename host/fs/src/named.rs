//! Reads a small file that is named in a configuration.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A named file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {fix}")]
pub struct NamedFileError {
    /// The error, with the file's path.
    pub what: String,
    /// The fix, for a person.
    pub fix: String,
}

impl NamedFileError {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// The access that other users may have to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// No other user may read or write it.
    OwnerOnly,
    /// Others may read but not write it.
    OwnerWrites,
}

/// Reads a regular file of this user (or of root, if others may read it), not through a link, of at
/// most `most` bytes.
///
/// # Errors
/// Fails if there is no such file, it is a link or no file, others have more access than `owner`
/// allows, or it is larger.
pub fn read_named_file(
    path: &Path,
    most: usize,
    owner: FileAccess,
) -> Result<Vec<u8>, NamedFileError> {
    let name = format!("the file `{}`", path.display());
    if !path.is_absolute() {
        return Err(NamedFileError::new(
            format!("{name} is not an absolute path"),
            "write the path from `/` on",
        ));
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let descriptor = open(path, flags, Mode::empty()).map_err(|error| refused(&name, error))?;
    let found = fstat(&descriptor).map_err(|error| refused(&name, error))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(NamedFileError::new(format!("{name} is not a file"), "name a file"));
    }
    let user = rustix::process::geteuid().as_raw();
    if found.st_uid != user && (owner == FileAccess::OwnerOnly || found.st_uid != 0) {
        return Err(NamedFileError::new(
            format!("{name} belongs to somebody else"),
            "name a file of your own",
        ));
    }
    let (open_to_others, fix) = match owner {
        FileAccess::OwnerOnly => (0o077, "chmod 600"),
        FileAccess::OwnerWrites => (0o022, "chmod go-w"),
    };
    if found.st_mode & open_to_others != 0 {
        let mode = found.st_mode & 0o777;
        return Err(NamedFileError::new(
            format!("{name} is open to others (mode {mode:o})"),
            format!("run `{fix} {}`", path.display()),
        ));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::from(descriptor).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| {
        NamedFileError::new(format!("{name} cannot be read ({error})"), "look at the file")
    })?;
    if bytes.len() > most {
        return Err(NamedFileError::new(
            format!("{name} holds more than {most} bytes"),
            "check that it is the right file",
        ));
    }
    Ok(bytes)
}

fn refused(name: &str, error: Errno) -> NamedFileError {
    match error {
        Errno::LOOP => {
            NamedFileError::new(format!("{name} is a link"), "name the file that it leads to")
        }
        Errno::NOENT => {
            NamedFileError::new(format!("{name} does not exist"), "create it, or correct its path")
        }
        error => NamedFileError::new(
            format!("{name} cannot be opened ({error})"),
            "look at the file and its folder",
        ),
    }
}
