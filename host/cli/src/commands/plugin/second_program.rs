//! `portcullis plugin new` and `portcullis plugin build`: replaces this process by the program that
//! has the templates and the component encoder.

use anyhow::{Context, Result, bail};
use portcullis_author::second_program::{Command, NAME, fix};
use portcullis_config::paths::second_program;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;

/// Runs the command in the second program; returns only if that cannot be started.
pub fn run(command: &Command) -> Result<u8> {
    let program = second_program().context("cannot determine where this program is")?;
    let error = std::process::Command::new(&program).args(command.words()).exec();
    match error.kind() {
        ErrorKind::NotFound => {
            bail!("this command needs `{NAME}`, and there is no `{}`: {}", program.display(), fix())
        }
        _ => bail!("cannot start `{}`: {error}; {}", program.display(), fix()),
    }
}
