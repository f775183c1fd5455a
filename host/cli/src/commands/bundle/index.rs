//! `portcullis bundle index`: indexes of bundles, from the archives that one is made of to the
//! copies that this machine keeps.

mod build;
mod list;
mod mirror;
mod push;
mod sign;
mod update;

use crate::error::Result;
use crate::exit::CommandExit;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Fetch and verify the indexes that the trust policy names (not for agents)
    Update(update::Arguments),
    /// List the indexes that the trust policy names, and the copies that are here
    List(list::Arguments),
    /// Build an index from archives of bundles
    Build(build::Arguments),
    /// Sign an index
    Sign(sign::Arguments),
    /// Push an index and its signatures to a registry
    Push(push::Arguments),
    /// Copy an index with all its bundles into a folder, for machines without a network
    Mirror(mirror::Arguments),
}

pub fn run_index(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Update(arguments) => update::run_index_update(arguments),
        Command::List(arguments) => list::run_index_list(arguments),
        Command::Build(arguments) => build::run_index_build(arguments),
        Command::Sign(arguments) => sign::run_index_sign(arguments),
        Command::Push(arguments) => push::run_index_push(arguments),
        Command::Mirror(arguments) => mirror::run_index_mirror(arguments),
    }
}
