//! The builtin rules: what an agent is not to do, whatever its risk is.
//!
//! | rule | objects to |
//! |---|---|
//! | `prevent_recursive_deletion` | a deletion of whole folders that nobody could have back |
//! | `limit_file_operations` | more writes and deletions for a prompt than the limit |
//! | `warn_external_network` | reaching another machine |
//! | `refuse_unseen_code` | running text that was downloaded, decoded or built |
//!
//! A rule judges by the host's facts alone, gives at most one ruling an action, and can only object. It
//! scores nothing.

mod config;
mod deletion;
mod network;
mod operations;
mod quarantine;
mod unseen;

use portcullis_plugin::risk_calculator::{Action, Assessment, Context, Descriptor, Error, Reads, RiskCalculator, Setting, Settings};

/// The plugin.
#[derive(Debug)]
pub struct Plugin;

impl RiskCalculator for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "rules",
        env!("CARGO_PKG_VERSION"),
        "Objects to lossy deletions, too many file operations, other machines and unseen code.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .settings(config::SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let settings = Settings::check(config::SPECS, settings)?;
        config::Config::read(&settings)?;
        Ok(settings.to_bytes())
    }

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let settings = Settings::read(prepared)?;
        let config = config::Config::read(&settings)?;
        let rules = [
            (config::DELETION, deletion::rule as config::Rule),
            (config::OPERATIONS, operations::rule),
            (config::NETWORK, network::rule),
            (config::UNSEEN, unseen::rule),
        ];
        let active = rules.into_iter().filter(|(name, _)| config.applies(name));
        Ok(active.filter_map(|(_, rule)| rule(action, context, &config)).fold(Assessment::nothing(), Assessment::ruling))
    }
}

portcullis_plugin::export!(risk-calculator: Plugin);

#[cfg(test)]
mod tests;
