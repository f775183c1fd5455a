//! `portcullis incident`: what is known of a stop, and a person's ways to let its session go on or to end it.
//!
//! Looking is for everybody. What lets a stopped session go on is for a person at a terminal.

mod abort;
mod decide;
mod html;
mod list;
mod markdown;
mod show;

use crate::config::{Config, Incidents};
use crate::places::Places;
use anyhow::Result;
use portcullis_store::{Home, Store};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List incidents, newest first
    List(list::Arguments),
    /// Show what is known of a stop, and the ways on
    Show(show::Arguments),
    /// Write an incident's whole report as Markdown, as a page for a browser, or as JSON
    Export(show::Export),
    /// Let the session go on under half its limits and without dangerous actions. For a person at a terminal
    Resume(decide::Arguments),
    /// Put the files back to before it began, and let the session go on. For a person at a terminal
    Rollback(decide::Rollback),
    /// Let the session go on; a person approves each change. For a person at a terminal
    Supervise(decide::Arguments),
    /// Take back the limits or the supervision under which a session goes on. For a person at a terminal
    Lift(decide::Arguments),
    /// Leave the session stopped for good, and list what is to be cleaned up. For a person at a terminal
    Abort(abort::Arguments),
}

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::List(arguments) => list::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Export(arguments) => show::export(arguments),
        Command::Resume(arguments) => decide::resume(arguments),
        Command::Rollback(arguments) => decide::rollback(arguments),
        Command::Supervise(arguments) => decide::supervise(arguments),
        Command::Lift(arguments) => decide::lift(arguments),
        Command::Abort(arguments) => abort::run(arguments),
    }
}

/// What these commands look at.
struct Desk {
    home: Home,
    store: Store,
    config: Config,
}

impl Desk {
    fn open() -> Result<Self> {
        let places = Places::from_environment()?;
        let home = Home::open(&places.state)?;
        let config = Config::load(&places, Some(&home))?;
        Ok(Self { store: Store::open(&home, config.durability)?, home, config })
    }

    fn incidents(&self) -> Incidents {
        self.config.incidents
    }
}
