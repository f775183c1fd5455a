//! Asks before a package is installed or declared that may not be the one that was meant.
//!
//! It reads the commands of package managers and edits of manifests, and objects to names that look
//! like popular ones, to other sources and registries, to install scripts, to checks that are turned
//! off and to lock files that go. It knows names and addresses only: whether a package is harmful is
//! not to be seen from here.

mod commands;
mod config;
mod ecosystems;
mod edits;
mod findings;
mod globs;
mod json;
mod likeness;
mod locks;
mod manifests;
mod names;
mod packages;
mod slips;
mod sources;
mod tools;
mod wishes;
mod words;

use config::Config;
use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::Operation;
use wishes::Wishes;

/// The plugin.
#[derive(Debug)]
pub struct DependencyGuard;

impl RiskCalculator for DependencyGuard {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "dependency-guard",
        env!("CARGO_PKG_VERSION"),
        "Asks before a package is added whose name, source or registry is not the usual one.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .severity(Severity::High)
    .config::<Config>();

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let wishes = list_wishes(action, context);
        if wishes.found.is_empty() {
            return Ok(Assessment::nothing());
        }
        let config = Config::from_prepared(prepared)?;
        Ok(findings::judge(&wishes, &config, context))
    }
}

portcullis_plugin::export!(risk-calculator: DependencyGuard);

fn list_wishes(action: &Action, context: &Context) -> Wishes {
    let mut wishes = Wishes::default();
    if let Operation::Shell(shell) = &action.operation
        && commands::concerns(shell)
    {
        for command in &shell.commands {
            let text = shell.text.get(command.start as usize..command.end as usize);
            let found = commands::list_wishes(command, shell);
            wishes.add_all(found, "command", text.unwrap_or(&command.program));
        }
    }
    if let Operation::Tool(call) = &action.operation {
        wishes.add_all(tools::list_wishes(call), "command", &call.name);
    }
    for edit in edits::list_edits(action, manifests::is_manifest) {
        wishes.add_all(manifests::list_wishes(&edit), "path", &edit.path);
    }
    for (wish, path) in locks::find_lost(action, context) {
        wishes.add_all([wish], "path", &path);
    }
    wishes
}

#[cfg(test)]
mod tests;
