//! `portcullis bundle`: sets of plugins that somebody vouches for, from their publisher's keys to what a machine loads.

mod key;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Make a key that signs bundles, or show one
    #[command(subcommand)]
    Key(key::Command),
}

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::Key(command) => key::run(command),
    }
}
