//! `portcullis catalogue`: checks files of the catalogue of programs. The check runs in the second
//! program, which has the readable catalogue.

use super::second_program::run_second_program;
use crate::error::Result;
use crate::exit::CommandExit;
pub use portcullis_author::second_program::CatalogueCommand as Command;

pub fn run_catalogue(command: &Command) -> Result<CommandExit> {
    run_second_program(&command.command_arguments())
}
