//! Judges changes of infrastructure by the environment that they go to.
//!
//! The host knows what a command does (destroys, changes, looks); this plugin adds where: production,
//! a protected environment, development, or nowhere that the command says. It reads names, never the
//! machine: no file, no current context of a client. `README.md` says what it objects to.

mod calls;
mod commands;
mod deeds;
mod findings;
mod lines;
mod names;
mod plans;
mod settings;
mod state_files;
mod tasks;
mod tools;

use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::Operation;
use settings::Config;

/// The plugin.
pub struct Plugin;

impl RiskCalculator for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Judges changes of infrastructure by the environment that they go to.",
    )
    .severity(Severity::High)
    .config::<Config>();

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let checked = Self::DESCRIPTOR.prepare(settings)?;
        Ok(Config::from_prepared(&checked)?.to_bytes())
    }

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let line = action.shell().filter(|shell| commands::concern(shell));
        let call = match &action.operation {
            Operation::Tool(call) => calls::family(call).map(|family| (call, family)),
            _ => None,
        };
        let files = state_files::concern(action);
        if line.is_none() && call.is_none() && !files {
            return Ok(Assessment::nothing());
        }
        let config = Config::of_bytes(prepared)?;
        let mut findings = Vec::new();
        if let Some(shell) = line {
            findings.extend(commands::judge(shell, action, context, &config));
        }
        if let Some((call, family)) = call {
            findings.extend(calls::judge(call, family, action, &config));
        }
        if files {
            findings.extend(state_files::judge(action, context, &config));
        }
        Ok(findings::rule(findings))
    }
}

portcullis_plugin::export!(risk-calculator: Plugin);
