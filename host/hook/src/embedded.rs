//! The embedded review: `portcullis hook`, in the place of this process.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::stdio::dup2_stdin;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
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
        let program = env::current_exe()?.with_file_name(EMBEDDED);
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

/// Returns a file in memory with the payload, at its begin. A pipe would need somebody who writes.
fn hold_payload(payload: &[u8]) -> io::Result<File> {
    let held = memfd_create("portcullis-event", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut held = File::from(held);
    held.write_all(payload)?;
    held.rewind()?;
    fcntl_add_seals(&held, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(held)
}
