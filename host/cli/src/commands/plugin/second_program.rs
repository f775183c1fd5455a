//! `portcullis plugin new` and `portcullis plugin build`: replaces this process by the program that
//! has the templates and the component encoder.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_author::second_program::{Command, NAME, fix};
use portcullis_config::paths::second_program;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;

/// Runs the command in the second program; returns only if that cannot be started.
pub fn run(command: &Command) -> Result<CommandExit> {
    let program = second_program().context("cannot determine where this program is")?;
    let mut process = std::process::Command::new(&program);
    match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => process.env("NO_COLOR", "1"),
        anstream::ColorChoice::Always => process.env("CLICOLOR_FORCE", "1"),
        _ => &mut process,
    };
    let error = process.args(command.words()).exec();
    let shown = program.display();
    let failure = match error.kind() {
        ErrorKind::NotFound => {
            Error::not_found(format!("this command needs `{NAME}`, and there is no `{shown}`"))
        }
        _ => Error::io(format!("cannot start `{shown}`: {error}")),
    };
    Err(failure.hint(fix()))
}
