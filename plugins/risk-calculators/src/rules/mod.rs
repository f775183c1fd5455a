//! The builtin rules: actions that an agent must not take, whatever the risk.
//!
//! | rule | objects to |
//! |---|---|
//! | `prevent_recursive_deletion` | a deletion of whole folders that nobody could restore |
//! | `prevent_work_loss` | throwing away changes, stashes and branches that nothing else holds; putting something else into files that nothing else holds; emptying a file |
//! | `prevent_force_push` | overwriting a remote branch regardless of its content |
//! | `warn_direct_push` | pushing to a branch that others build on, or past the checks; a deployment, a release; a foreign tool that publishes, pays or gives rights away |
//! | `limit_file_operations` | more writes and deletions for a prompt than the limit |
//! | `warn_external_network` | sending data to another machine, or a file of the system to a server of this one; reaching a cloud's metadata address is refused |
//! | `warn_credential_read` | reading a key, token or password; a store of them outside the project is asked about |
//! | `warn_credential_written` | writing one into a file |
//! | `warn_planted_instructions` | a text for a foreign tool that orders its reader to forget earlier orders |
//! | `protect_the_system` | changing files of the operating system, of start-up, credentials, or files that a repository, its builds or an editor run by themselves; writing what drops data or leaves a check out when something runs or reads it |
//! | `refuse_unseen_code` | running text that was downloaded, decoded or built |
//!
//! A rule judges by the host's facts alone, gives at most one ruling an action, and can only
//! object. It scores nothing.

mod config;
mod credentials;
mod deletion;
mod emptying;
mod git;
mod network;
mod operations;
mod overwriting;
mod planted;
mod push;
mod quarantine;
mod rewriting;
mod showing;
mod system;
mod unseen;
mod work;

use config::Config;
use portcullis_plugin::risk_calculator::{
    Action, Assessment, Context, Descriptor, Error, FromSettings, Reads, RiskCalculator,
};

/// The plugin.
#[derive(Debug)]
pub struct BuiltinRules;

impl RiskCalculator for BuiltinRules {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "rules",
        env!("CARGO_PKG_VERSION"),
        "Objects to lossy deletions and discards, too many file operations, sending data, reading \
         credentials and unseen code.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .config::<Config>();

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let config = Config::from_prepared(prepared)?;
        let rules = [
            (config::DELETION, deletion::rule as config::Rule),
            (config::WORK, work::rule),
            (config::PUSH, push::rule),
            (config::DIRECT, push::direct),
            (config::OPERATIONS, operations::rule),
            (config::NETWORK, network::rule),
            (config::CREDENTIALS, credentials::rule),
            (config::WRITTEN, credentials::written),
            (config::PLANTED, planted::rule),
            (config::SYSTEM, system::rule),
            (config::UNSEEN, unseen::rule),
        ];
        let active = rules.into_iter().filter(|(name, _)| config.applies(name));
        Ok(active
            .filter_map(|(_, rule)| rule(action, context, &config))
            .fold(Assessment::nothing(), Assessment::ruling))
    }
}

#[cfg(test)]
mod tests;
