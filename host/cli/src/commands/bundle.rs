//! `portcullis bundle`: sets of plugins that somebody vouches for, from their publisher's keys to what a machine loads.

mod build;
mod diff;
mod key;
mod sign;
mod verify;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Make a key that signs bundles, or show one
    #[command(subcommand)]
    Key(key::Command),
    /// Put plugins together as a bundle, in one archive
    Build(build::Arguments),
    /// Sign a bundle, or put a signature into its archive that was made elsewhere
    Sign(sign::Arguments),
    /// Say what a bundle is, who signed it, and whether this machine trusts it; exit code 1 where it does not
    Verify(verify::Arguments),
    /// Show what changes from one bundle to another
    Diff(diff::Arguments),
}

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::Key(command) => key::run(command),
        Command::Build(arguments) => build::run(arguments),
        Command::Sign(arguments) => sign::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
    }
}
