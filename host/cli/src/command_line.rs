//! The command line as a person meets it: the grouped overview, the examples, the tips for words
//! that are not commands, and the colour that was asked for.
//!
//! Each command defines its options and their meaning; this module only presents them.

mod examples;
mod groups;
mod tips;

use crate::Arguments;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// Parses the arguments of this process.
///
/// # Errors
/// Fails if they are wrong, with a tip if their meaning is known, or if they ask for help.
pub fn parse_arguments() -> Result<Arguments, clap::Error> {
    let given: Vec<OsString> = std::env::args_os().collect();
    // Before parsing, since help and errors have colour too.
    if let Some(choice) = color(&given) {
        choice.write_global();
    }
    let parsed = build_command()
        .try_get_matches_from(&given)
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
    parsed.map_err(|error| tips::with_tip(error, &given))
}

/// Returns the command line with its overview, as it is parsed.
pub fn build_command() -> Command {
    groups::with_overview(describe_command())
}

/// Returns the command line with examples, without the overview of the commands: for man pages.
pub fn describe_command() -> Command {
    let command = examples::add_examples(Arguments::command(), "");
    let global: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .map(|argument| argument.clone().hide(true))
        .collect();
    hide_below(command, &global)
}

/// Gives all commands below hidden copies of the global options, so that only the first help page
/// shows them.
fn hide_below(command: Command, global: &[Arg]) -> Command {
    command.mut_subcommands(|below| hide_below(below.args(global), global))
}

/// The choice of colour on the command line, unless the parser will refuse it.
fn color(given: &[OsString]) -> Option<anstream::ColorChoice> {
    let mut words = given.iter().map_while(|word| word.to_str()).take_while(|word| *word != "--");
    let mut chosen = None;
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        chosen = match value {
            Some("always") => Some(anstream::ColorChoice::Always),
            Some("never") => Some(anstream::ColorChoice::Never),
            Some("auto") => Some(anstream::ColorChoice::Auto),
            _ => chosen,
        };
    }
    chosen
}

#[cfg(test)]
mod tests;
