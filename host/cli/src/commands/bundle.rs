//! `portcullis bundle`: sets of plugins that somebody vouches for, from their publisher's keys to
//! the plugins that a machine loads.

mod build;
mod builtin;
mod diff;
mod index;
mod info;
mod install;
pub mod key;
mod list;
mod plan_report;
mod pull;
mod push;
mod remove;
mod revoke;
mod search;
pub mod sign;
mod update;
mod verify;
pub mod vet;

use crate::error::Result;
use crate::exit::CommandExit;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Create a key for signing bundles, or show one
    #[command(subcommand)]
    Key(key::Command),
    /// Build a bundle archive from plugins
    Build(build::Arguments),
    /// Sign a bundle, or attach a signature that was made elsewhere
    Sign(sign::Arguments),
    /// Show what a bundle is, who signed it, and whether this machine trusts it; exit code 1 if it
    /// does not
    Verify(verify::Arguments),
    /// Evaluate a bundle alongside the built-ins and sign the results
    Vet(vet::Arguments),
    /// Show what changes from one bundle to another
    Diff(diff::Arguments),
    /// Push a bundle and its signatures to a registry
    Push(push::Arguments),
    /// Pull a bundle from a registry into an archive; installs nothing
    Pull(pull::Arguments),
    /// Find bundles by words in the indexes that are here
    Search(search::Arguments),
    /// Show what an index says of a bundle, and whether this machine would trust it
    Info(info::Arguments),
    /// Fetch, build, sign and mirror indexes of bundles
    #[command(subcommand)]
    Index(index::Command),
    /// Install and lock bundles that this machine trusts; without arguments, install what the locks
    /// name (not for agents)
    Install(install::Arguments),
    /// Update locked bundles after confirming the changes (interactive)
    Update(update::Arguments),
    /// List the bundles required here, their state, and what else is installed
    List(list::Arguments),
    /// Remove a bundle from the lock, so that reviews no longer use it (interactive)
    Remove(remove::Arguments),
    /// Add revocations to your trust policy (not for agents)
    Revoke(revoke::Arguments),
}

pub fn run_bundle(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Key(command) => key::run_key(command),
        Command::Build(arguments) => build::run_build(arguments),
        Command::Sign(arguments) => sign::run_sign(arguments),
        Command::Verify(arguments) => verify::run_verify(arguments),
        Command::Vet(arguments) => vet::run_vet(arguments),
        Command::Diff(arguments) => diff::run_diff(arguments),
        Command::Push(arguments) => push::run_push(arguments),
        Command::Pull(arguments) => pull::run_pull(arguments),
        Command::Search(arguments) => search::run_search(arguments),
        Command::Info(arguments) => info::run_info(arguments),
        Command::Index(command) => index::run_index(command),
        Command::Install(arguments) => install::run_install(arguments),
        Command::Update(arguments) => update::run_update(arguments),
        Command::List(arguments) => list::run_list(arguments),
        Command::Remove(arguments) => remove::run_remove(arguments),
        Command::Revoke(arguments) => revoke::run_revoke(arguments),
    }
}
