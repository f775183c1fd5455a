//! The builtin pattern `secret_egress`: a secret was read, and now something is sent.
//!
//! It is asked before an action runs, since what has left cannot be had back. It is sure where the same
//! action reads a secret and sends it (the host's reader follows pipes, variables and files), and where a
//! masked value stands in what is sent, since a placeholder is the same for the same value throughout a
//! session. It is less sure where a secret was read within the last few steps. This machine is no place to
//! leave to. Whether the action may run is for rules and side effects; what is done about the session is
//! for interventions.

mod config;
mod detect;
mod memory;
mod sending;

use portcullis_plugin::pattern::{Action, Context, Descriptor, Error, History, Pattern, Reads, Report, Setting, Settings, Severity};

/// The plugin.
#[derive(Debug)]
pub struct Plugin;

impl Pattern for Plugin {
    const DESCRIPTOR: Descriptor =
        Descriptor::new("secret-egress", env!("CARGO_PKG_VERSION"), "Notices that a secret is read and then sent to another machine.")
            .reads(&[Reads::Action, Reads::History, Reads::Session])
            .severity(Severity::Critical)
            .settings(config::SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let settings = Settings::check(config::SPECS, settings)?;
        config::Config::read(&settings)?;
        Ok(settings.to_bytes())
    }

    fn detect(prepared: &[u8], state: &[u8], history: &History, action: &Action, _: &Context) -> Result<Report, Error> {
        let settings = Settings::read(prepared)?;
        let config = config::Config::read(&settings)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, history, action))
    }
}

#[cfg(test)]
mod tests;
