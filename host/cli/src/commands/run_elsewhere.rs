//! `portcullis run` on a system that cannot hold an agent with all its processes. It starts nothing,
//! refuses, and names another way.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Arguments {
    /// Ignored: this system cannot run an agent under watch
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    _arguments: Vec<OsString>,
    /// Print JSON
    #[arg(long = "json")]
    _json: bool,
}

/// Returns `None`: this program never starts itself as a watcher here.
pub fn run_reentered(_: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

pub fn run_agent(_: &Arguments) -> Result<CommandExit> {
    Err(Error::refused("`run` needs Linux: this system cannot hold an agent with all its processes")
        .with_hint(
            "`portcullis install CLIENT` sets up the hooks, which review the client that you start \
             yourself; for a limit of the whole run, start it in a Linux container or virtual machine",
        ))
}
