//! `portcullis incident`: shows incidents, and lets a person resume or end their sessions.
//!
//! Anybody may look. Only a person at a terminal may resume a stopped session.

mod abort;
mod decide;
mod list;
mod markdown;
mod show;

use crate::error::Result;
use crate::exit::CommandExit;
use portcullis_config::paths::Paths;
use portcullis_config::{Config, Incidents};
use portcullis_store::{Home, Store};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List incidents, newest first
    List(list::Arguments),
    /// Show an incident and the next steps
    Show(show::Arguments),
    /// Export an incident's full report as Markdown, HTML or JSON
    Export(show::IncidentExport),
    /// Resume the session with half its limits and without dangerous actions (interactive)
    Resume(decide::Arguments),
    /// Restore the files to their state before the incident and resume the session (interactive)
    Rollback(decide::Rollback),
    /// Resume the session with a person approving each change (interactive)
    Supervise(decide::Arguments),
    /// Lift the limits or the supervision from a resumed session (interactive)
    Lift(decide::Arguments),
    /// Leave the session stopped permanently and list what to clean up (interactive)
    Abort(abort::Arguments),
}

pub fn run_incident(command: &Command) -> Result<CommandExit> {
    match command {
        Command::List(arguments) => list::run_list(arguments),
        Command::Show(arguments) => show::run_show(arguments),
        Command::Export(arguments) => show::run_export(arguments),
        Command::Resume(arguments) => decide::run_resume(arguments),
        Command::Rollback(arguments) => decide::run_rollback(arguments),
        Command::Supervise(arguments) => decide::run_supervise(arguments),
        Command::Lift(arguments) => decide::run_lift(arguments),
        Command::Abort(arguments) => abort::run_abort(arguments),
    }
}

/// The state that these commands share.
struct CommandContext {
    home: Home,
    store: Store,
    config: Config,
}

impl CommandContext {
    fn open() -> Result<Self> {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        let config = Config::load(&places, Some(&home))?;
        Ok(Self { store: Store::open_database(&home, config.durability)?, home, config })
    }

    fn incidents(&self) -> Incidents {
        self.config.incidents
    }
}
