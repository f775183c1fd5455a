//! Gives the client private files in `/etc`, like those installed by a machine's administrator.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Mounts a folder over `/etc` and then runs the program.
const OVER: &str = "mount -t overlay -o \"lowerdir=$0:/etc\" none /etc && exec \"$@\"";

/// The same with the client's own folder writable.
const OVER_WRITABLE: &str = "mount -t overlay -o \"lowerdir=$0:/etc\" none /etc && mount --bind \"$0/claude-code\" /etc/claude-code && exec \"$@\"";

/// Creates a command that runs the program with the files of `folder`, if given, in its `/etc`.
pub(crate) fn program(program: &Path, folder: Option<&Path>) -> Command {
    over(OVER, program, folder)
}

/// Creates a command of a program that may write to the folder `claude-code` of this folder through
/// its `/etc/claude-code`.
pub(crate) fn program_that_writes(program: &Path, folder: Option<&Path>) -> Command {
    over(OVER_WRITABLE, program, folder)
}

fn over(script: &str, program: &Path, folder: Option<&Path>) -> Command {
    let Some(folder) = folder else { return Command::new(program) };
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(folder).arg(program);
    command
}

/// Fails with the reason if this machine does not permit that.
pub(crate) fn permitted(folder: &Path) -> Result<()> {
    let mut command = program(Path::new("true"), Some(folder));
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("cannot start `unshare`: install util-linux")?;
    let complaint = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    ensure!(
        output.status.success(),
        "a managed installation cannot be tried here, run this as root: {complaint}"
    );
    Ok(())
}
