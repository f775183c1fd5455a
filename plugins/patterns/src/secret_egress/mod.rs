//! The builtin pattern `secret_egress`: a secret was read, and now something is sent.
//!
//! It is called before an action runs, since sent data cannot be recalled. It is sure if the same
//! action reads a secret and sends it (the host's reader follows pipes, variables and files), and
//! if a masked value is in the sent data, since a placeholder is the same for the same value
//! throughout a session. It is less sure if a secret was read within the last few steps. Data sent
//! to this machine does not count. Nor does a sign-in to a machine that a request of the person
//! names, with a secret that nothing in this session showed. Rules and side effects decide if the
//! action may run; interventions decide on the response in the session.

mod config;
mod detect;
mod memory;
mod sending;

use config::Config;
use portcullis_plugin::pattern::{
    Action, Context, Descriptor, Error, FromSettings, History, Pattern, Reads, Report, Severity,
};

/// The plugin.
#[derive(Debug)]
pub struct SecretEgress;

impl Pattern for SecretEgress {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "secret-egress",
        env!("CARGO_PKG_VERSION"),
        "Notices that a secret is read and then sent to another machine.",
    )
    .reads(&[Reads::Action, Reads::History, Reads::Session])
    .severity(Severity::Critical)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let config = Config::from_prepared(prepared)?;
        let memory = memory::Memory::read(state)?;
        Ok(detect::look(&config, memory, history, action, context))
    }
}

#[cfg(test)]
mod tests;
