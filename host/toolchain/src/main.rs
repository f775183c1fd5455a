//! `portcullis-plugin`: creates and builds the projects of plugins, and checks the catalogue of
//! programs. `portcullis plugin new`, `portcullis plugin build` and `portcullis catalogue check`
//! start it with arguments that they have checked; nothing else does.
//!
//! The templates, the component encoder and the readable catalogue are here, and not in the program
//! that runs before each action.

#![allow(unreachable_pub, reason = "a program has no public API")]

mod build;
mod commands;
mod error;
mod templates;

use anyhow::bail;
use clap::Parser;
use portcullis_author::second_program::{self, CatalogueCommand, Command, SecondProgramCommand};
use portcullis_terminal::paint;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "portcullis plugin")]
struct Arguments {
    #[command(subcommand)]
    command: SecondProgramCommand,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let program = words.next();
    let caller = words.next();
    if caller.as_ref().is_some_and(|word| word == "--version") {
        paint::print_text(&format!("{} {}\n", second_program::NAME, second_program::VERSION));
        return end(Ok(true), false);
    }
    if let Err(error) = check_caller(caller) {
        return end(Err(error), false);
    }
    match Arguments::parse_from(program.into_iter().chain(words)).command {
        SecondProgramCommand::Plugin(Command::New(arguments)) => {
            end(commands::new::run_new(&arguments).map(|()| true), arguments.json)
        }
        SecondProgramCommand::Plugin(Command::Build(arguments)) => {
            end(commands::build::run_build(&arguments).map(|()| true), arguments.json)
        }
        SecondProgramCommand::Catalogue(CatalogueCommand::Check(arguments)) => {
            end(commands::catalogue::run_check(&arguments), arguments.json)
        }
    }
}

/// Returns the program's exit code, and prints the error if there is one. A check that found
/// something is `false`. Output that could not be written is a failure of its own.
fn end(result: anyhow::Result<bool>, as_json: bool) -> ExitCode {
    let lost =
        paint::lost_output().map(|error| anyhow::anyhow!("cannot write standard output: {error}"));
    match lost.map_or(result, Err) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprint!("{}", error::error_text(&error, as_json));
            ExitCode::FAILURE
        }
    }
}

/// Checks that `portcullis` of this version started this program.
fn check_caller(version: Option<OsString>) -> anyhow::Result<()> {
    match version.as_ref().and_then(|version| version.to_str()) {
        Some(second_program::VERSION) => Ok(()),
        Some(version) if version.starts_with(|first: char| first.is_ascii_digit()) => bail!(
            "`{}` {} was started by `portcullis` {}: {}",
            second_program::NAME,
            second_program::VERSION,
            portcullis_core::text::one_line(version, 64),
            second_program::describe_fix()
        ),
        _ => bail!(
            "`{}` is started by `portcullis`: run `portcullis plugin new`, `portcullis plugin \
             build` or `portcullis catalogue check`",
            second_program::NAME
        ),
    }
}
