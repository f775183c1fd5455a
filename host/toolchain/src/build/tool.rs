//! Finds the tools of languages in the project or on the path, and runs them with their output
//! visible to the person.

use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
use std::env;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder for tools of a project's own.
const VENV: &str = ".venv/bin";

/// Finds the program of that name: the project's own, else the first on the path.
pub(super) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    std::iter::once(folder.join(VENV))
        .chain(env::split_paths(&path))
        .map(|place| place.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Finds the program; the error says what is missing and how to install it.
pub(super) fn needed(folder: &Path, name: &str, install: &str) -> Result<PathBuf> {
    find(folder, name).with_context(|| missing(&format!("`{name}`"), install))
}

/// Describes a missing tool and the command that installs it.
pub(super) fn missing(what: &str, install: &str) -> String {
    format!(
        "there is no {what}, which builds this project; install it, in the project's folder:\n  {install}"
    )
}

/// Creates a command in the project's folder.
pub(super) fn command(folder: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs it to its end. Its output goes to standard error, since standard output is for the answer.
pub(super) fn run(mut command: Command) -> Result<()> {
    command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
    let shown = shown(&command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status}); its output is above");
    }
    Ok(())
}

/// Runs it to its end and returns its standard output.
pub(super) fn output(mut command: Command) -> Result<Vec<u8>> {
    let shown = shown(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({}); its output is above", output.status);
    }
    Ok(output.stdout)
}

/// Formats the command as a person would type it, cut if it is long.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    one_line(&words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "), 200)
}
