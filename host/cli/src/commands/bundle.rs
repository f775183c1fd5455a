//! `portcullis bundle`: sets of plugins that somebody vouches for, from their publisher's keys to what a machine loads.

mod build;
mod builtin;
mod diff;
mod install;
mod key;
mod list;
mod pull;
mod push;
mod remove;
mod revoke;
mod shown;
mod sign;
mod update;
mod verify;
mod vet;

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
    /// Try a bundle beside the builtin plugins, and sign what came of it
    Vet(vet::Arguments),
    /// Show what changes from one bundle to another
    Diff(diff::Arguments),
    /// Put a bundle with its signatures into a registry
    Push(push::Arguments),
    /// Fetch a bundle out of a registry into an archive; installs nothing
    Pull(pull::Arguments),
    /// Install bundles that this machine trusts, and lock them; without any, what the locks name. For a person
    Install(install::Arguments),
    /// Go to newer versions of what is locked, once what changes was looked at. For a person
    Update(update::Arguments),
    /// List what has to run here, whether it does, and what else is installed
    List(list::Arguments),
    /// Take a bundle out of the lock: reviews do without it. For a person at a terminal
    Remove(remove::Arguments),
    /// Say in your trust policy what must not run any more. For a person
    Revoke(revoke::Arguments),
}

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::Key(command) => key::run(command),
        Command::Build(arguments) => build::run(arguments),
        Command::Sign(arguments) => sign::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Vet(arguments) => vet::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Push(arguments) => push::run(arguments),
        Command::Pull(arguments) => pull::run(arguments),
        Command::Install(arguments) => install::run(arguments),
        Command::Update(arguments) => update::run(arguments),
        Command::List(arguments) => list::run(arguments),
        Command::Remove(arguments) => remove::run(arguments),
        Command::Revoke(arguments) => revoke::run(arguments),
    }
}
