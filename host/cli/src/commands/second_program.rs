//! `portcullis plugin new`, `portcullis plugin build` and `portcullis catalogue check`: replaces
//! this process by the program that has the templates, the component encoder and the catalogue.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_author::second_program::{NAME, describe_fix};
use portcullis_config::paths::second_program;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;

/// Runs the second program with these arguments; returns only if it cannot be started.
pub fn run_second_program(words: &[OsString]) -> Result<CommandExit> {
    let program = second_program().context("cannot determine where this program is")?;
    let mut process = std::process::Command::new(&program);
    match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => process.env("NO_COLOR", "1"),
        anstream::ColorChoice::Always => process.env("CLICOLOR_FORCE", "1"),
        _ => &mut process,
    };
    let error = process.args(words).exec();
    let shown = program.display();
    let failure = match error.kind() {
        ErrorKind::NotFound => {
            Error::not_found(format!("this command needs `{NAME}`, and there is no `{shown}`"))
        }
        _ => Error::io(format!("cannot start `{shown}`: {error}")),
    };
    Err(failure.with_hint(describe_fix()))
}
