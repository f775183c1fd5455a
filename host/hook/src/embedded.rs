//! The embedded review: `portcullis hook`, in the place of this process.

use rustix::stdio::dup2_stdin;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program beside this one.
const EMBEDDED: &str = "portcullis";
/// Tells the embedded review why the service did not answer; it is recorded with the review.
pub(crate) const REASON_VARIABLE: &str = "PORTCULLIS_WITHOUT_SERVICE";
/// The most bytes of a reason.
const MOST_REASON: usize = 240;

/// Replaces this process by the embedded review of the same event; returns only if that fails.
pub(crate) fn become_embedded(
    arguments: &[OsString],
    payload: &[u8],
    reason: Option<&str>,
) -> io::Error {
    let prepare = || -> io::Result<Command> {
        let program = find_embedded()?;
        dup2_stdin(hold_payload(payload)?)?;
        let mut command = Command::new(program);
        command.args(arguments).env_remove(REASON_VARIABLE);
        if let Some(reason) = reason {
            let reason: String = reason.chars().take(MOST_REASON).collect();
            command.env(REASON_VARIABLE, reason);
        }
        Ok(command)
    };
    match prepare() {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

/// Returns the path of the program beside this one. A copy of this one under its name would start
/// itself without end. While programs are replaced this one's own file may be gone: then it is no
/// such copy.
fn find_embedded() -> io::Result<PathBuf> {
    let own = env::current_exe()?;
    let program = own.with_file_name(EMBEDDED);
    let id = |path| fs::metadata(path).map(|file: fs::Metadata| (file.dev(), file.ino()));
    if id(&own).is_ok_and(|own| id(&program).is_ok_and(|found| found == own)) {
        return Err(io::Error::other(format!("`{}` is this program", program.display())));
    }
    Ok(program)
}

/// Returns a file in memory with the payload, at its begin. A pipe would need somebody who writes.
#[cfg(target_os = "linux")]
fn hold_payload(payload: &[u8]) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let held = memfd_create("portcullis-event", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut held = File::from(held);
    held.write_all(payload)?;
    held.rewind()?;
    fcntl_add_seals(&held, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(held)
}

/// Returns a file without a name with the payload, at its begin.
#[cfg(not(target_os = "linux"))]
fn hold_payload(payload: &[u8]) -> io::Result<File> {
    let mut held = create_nameless(std::path::Path::new("/tmp"))?;
    held.write_all(payload)?;
    held.rewind()?;
    Ok(held)
}

/// Creates a file whose name is gone before anything is in it. While it has one, its mode lets nobody
/// open it, so that no other process of this user can change the payload under the review.
#[cfg(any(not(target_os = "linux"), test))]
fn create_nameless(folder: &std::path::Path) -> io::Result<File> {
    use std::hash::{BuildHasher, RandomState};
    use std::os::unix::fs::OpenOptionsExt;
    let number = RandomState::new().hash_one(std::process::id());
    let path = folder.join(format!("portcullis-event-{number:016x}"));
    let file = File::options().read(true).write(true).create_new(true).mode(0o000).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_nameless_file_holds_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = create_nameless(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let found = file.metadata().unwrap();
        assert_eq!((found.mode() & 0o777, found.nlink()), (0, 0));
        file.write_all(b"event").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "event");
    }
}
