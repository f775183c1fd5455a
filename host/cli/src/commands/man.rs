//! `portcullis man`: prints the manual page of a command, or writes all pages into a folder.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{command_line, paint};
use clap_mangen::Man;
use portcullis_core::text::one_line;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The command, for example `audit show`; without one, the page of the whole program
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write all pages into this folder, one file each
    #[arg(long, short, value_name = "DIR", conflicts_with = "words")]
    output: Option<PathBuf>,
}

pub fn run_man(arguments: &Arguments) -> Result<CommandExit> {
    let mut program = command_line::describe_command().disable_help_subcommand(true);
    program.build();
    if let Some(folder) = &arguments.output {
        write_pages(&program, folder)?;
        return Ok(CommandExit::Success);
    }
    let mut found = &program;
    for word in &arguments.words {
        let Some(below) = found.find_subcommand(word) else {
            let words = one_line(&arguments.words.join(" "), 80);
            return Err(Error::not_found(format!("there is no command `{words}`")));
        };
        found = below;
    }
    let mut page = Vec::new();
    Man::new(found.clone()).render(&mut page).context("cannot make the page")?;
    paint::print_text(&String::from_utf8_lossy(&page));
    Ok(CommandExit::Success)
}

/// Writes the page of this command and those below it; the internal ones too, so that no reference
/// leads nowhere.
fn write_pages(command: &clap::Command, folder: &Path) -> Result<()> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page).context("cannot make the page")?;
    fs::write(&path, page).with_context(|| format!("cannot write `{}`", path.display()))?;
    command.get_subcommands().try_for_each(|below| write_pages(below, folder))
}
