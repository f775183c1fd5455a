//! Reads a file of the configuration safely, even if the path holds something unexpected.
//!
//! A project comes from anywhere, and an agent can put anything into it: pipes that wait for a
//! writer, devices that never end, links out of the project. The organisation's file only counts
//! while nobody but root could have written it. The content is not examined here.

use super::problem::Problems;
use portcullis_fs::{Links, OpenFile, ReadError, open_file};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The most bytes of a file; a real one has a few hundred.
pub const MOST_BYTES: u64 = 1 << 20;

/// The sticky bit: in such a folder nobody else can replace root's files.
const STICKY: u32 = 0o1000;
/// The mode bits that let other users write.
const OTHERS_WRITE: u32 = 0o022;

/// Reads the text of a file; returns `None` if there is no such file.
///
/// # Errors
/// Fails if it is not a file, is too large or not text, or on a system error.
pub fn read_file(path: &Path) -> Result<Option<String>, Problems> {
    read_at_most(path, MOST_BYTES)
}

/// Reads a file like `read`, with another size limit.
///
/// # Errors
/// Fails like `read`.
pub fn read_at_most(path: &Path, most: u64) -> Result<Option<String>, Problems> {
    let Some(file) = open(path)? else { return Ok(None) };
    text(path, &file, most).map(Some)
}

/// Reads the organisation's file, which root must own.
///
/// # Errors
/// Fails like `read`, and if another user could have written it.
pub fn read_managed(path: &Path) -> Result<Option<String>, Problems> {
    let Some(file) = open(path)? else { return Ok(None) };
    if let Some(how) = foreign(&file.metadata) {
        let fix = "the organisation's configuration must belong to root and be writable by root \
             alone: `chown root` and `chmod 644` it";
        return Err(Problems::in_file(path, format!("it {how}; {fix}")));
    }
    let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
    // Behind a link, both its own folders and those of the file decide what is read.
    for folder in path
        .ancestors()
        .skip(1)
        .chain(real.ancestors().skip(1))
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        let found = fs::metadata(folder).map_err(|error| unreadable(path, &error))?;
        if let Some(how) =
            foreign(&found).filter(|_| found.uid() != 0 || found.mode() & STICKY == 0)
        {
            let fix = "anybody who can change the folder can replace the organisation's \
                 configuration: make it writable by root only";
            return Err(Problems::in_file(
                path,
                format!("its folder `{}` {how}; {fix}", folder.display()),
            ));
        }
    }
    text(path, &file, MOST_BYTES).map(Some)
}

/// Reads a project's file, which has to be inside the project: through a link out of it, a
/// repository could show foreign content in our messages, and change without a change in the
/// project.
///
/// # Errors
/// Fails like `read`, and if a link leads out of the project.
pub fn read_in_project(project: &Path, name: &str) -> Result<Option<String>, Problems> {
    let path = project.join(name);
    if fs::symlink_metadata(&path)
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
    {
        return Ok(None);
    }
    let leads = |to: &Path, where_to: &str| {
        Problems::in_file(
            &path,
            format!("it is a link to `{}`, {where_to}; put the file itself there", to.display()),
        )
    };
    let real = |path: &Path| path.canonicalize().map_err(|error| unreadable(path, &error));
    let folder = real(project)?;
    // Before it is opened: what is out there may be a device or a pipe.
    if let Ok(target) = path.canonicalize()
        && !target.starts_with(&folder)
    {
        return Err(leads(&target, "out of the project"));
    }
    let Some(file) = open(&path)? else {
        return Err(leads(&fs::read_link(&path).unwrap_or_default(), "where nothing is"));
    };
    let target = real(&path)?;
    // Checks that the opened file is the one whose path was resolved.
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let seen = fs::metadata(&target).map(|seen| same(&seen, &file.metadata));
    if !target.starts_with(&folder) || !seen.is_ok_and(|same| same) {
        return Err(leads(&target, "out of the project"));
    }
    text(&path, &file, MOST_BYTES).map(Some)
}

/// Opens a file, through a link too.
fn open(path: &Path) -> Result<Option<OpenFile>, Problems> {
    open_file(path, Links::Follow).map_err(|error| unusable(path, error))
}

fn text(path: &Path, file: &OpenFile, most: u64) -> Result<String, Problems> {
    let bytes = file.read_rest(most).map_err(|error| unusable(path, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problems::in_file(path, format!("it is not UTF-8 text at byte {at}; save it as UTF-8"))
    })
}

fn unusable(path: &Path, error: ReadError) -> Problems {
    match error {
        ReadError::Io(error) => unreadable(path, &error),
        ReadError::NotAFile | ReadError::Link => Problems::in_file(
            path,
            "it is not a file; it must be a text file that you can read".into(),
        ),
        ReadError::TooLarge(most) => {
            Problems::in_file(path, format!("it has more than {most} bytes, the most that is read"))
        }
    }
}

/// Describes how another user than root could have changed it.
fn foreign(found: &Metadata) -> Option<String> {
    if found.uid() != 0 {
        return Some(format!("belongs to user {}", found.uid()));
    }
    let mode = found.mode() & 0o7777;
    (mode & OTHERS_WRITE != 0).then(|| format!("can be written by others (mode {mode:o})"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problems {
    Problems::in_file(path, format!("{error}; it must be a text file that you can read"))
}
