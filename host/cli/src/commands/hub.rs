//! `portcullis hub`: replaces this process by the program that has the server and the client of
//! PostgreSQL.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use portcullis_config::paths::hub_program;
use portcullis_fleet::hub_command::{HubCommand, NAME};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;

/// Runs a command of the hub; returns only if it cannot be started.
pub fn run_hub(command: &HubCommand) -> Result<CommandExit> {
    if command.is_for_person() {
        interactive::refuse_agents()?;
    }
    let program = hub_program().context("cannot determine where this program is")?;
    let mut process = std::process::Command::new(&program);
    match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => process.env("NO_COLOR", "1"),
        anstream::ColorChoice::Always => process.env("CLICOLOR_FORCE", "1"),
        _ => &mut process,
    };
    let error = process.args(command.command_arguments()).exec();
    let shown = program.display();
    let failure = match error.kind() {
        ErrorKind::NotFound => {
            Error::not_found(format!("this command needs `{NAME}`, and there is no `{shown}`"))
        }
        _ => Error::io(format!("cannot start `{shown}`: {error}")),
    };
    Err(failure
        .with_hint(format!("install `portcullis` and `{NAME}` from one build into one folder")))
}
