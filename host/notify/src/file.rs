//! Reads a small file that a configuration names.

use crate::failure::Failure;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Who else may touch a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody may read or write it.
    Alone,
    /// Others may read, not write it.
    Writes,
}

/// A regular file of this user's (or of root's, where others may read it), not through a link, of at most so many bytes.
pub(crate) fn read(path: &Path, most: usize, owner: Owner) -> Result<Vec<u8>, Failure> {
    let name = format!("the file `{}`", path.display());
    if !path.is_absolute() {
        return Err(Failure::give_up(format!("{name} is no absolute path"), "write the path from `/` on"));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let descriptor = open(path, flags, Mode::empty()).map_err(|error| refused(&name, error))?;
    let found = fstat(&descriptor).map_err(|error| refused(&name, error))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Failure::give_up(format!("{name} is no file"), "name a file"));
    }
    let user = rustix::process::geteuid().as_raw();
    if found.st_uid != user && (owner == Owner::Alone || found.st_uid != 0) {
        return Err(Failure::give_up(format!("{name} belongs to somebody else"), "name a file of your own"));
    }
    let (open_to_others, mend) = match owner {
        Owner::Alone => (0o077, "chmod 600"),
        Owner::Writes => (0o022, "chmod go-w"),
    };
    if found.st_mode & open_to_others != 0 {
        let mode = found.st_mode & 0o777;
        return Err(Failure::give_up(format!("{name} is open to others (mode {mode:o})"), format!("run `{mend} {}`", path.display())));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::from(descriptor).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Failure::give_up(format!("{name} cannot be read ({error})"), "look at the file"))?;
    if bytes.len() > most {
        return Err(Failure::give_up(format!("{name} holds more than {most} bytes"), "look whether it is the right file"));
    }
    Ok(bytes)
}

fn refused(name: &str, error: Errno) -> Failure {
    match error {
        Errno::LOOP => Failure::give_up(format!("{name} is a link"), "name the file that it leads to"),
        Errno::NOENT => Failure::give_up(format!("{name} does not exist"), "create it, or correct its path"),
        error => Failure::give_up(format!("{name} cannot be opened ({error})"), "look at the file and its folder"),
    }
}
