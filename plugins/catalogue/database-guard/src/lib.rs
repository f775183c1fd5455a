//! Judges database statements by what they do, by the database that they reach, and by the
//! transaction that they stand in.
//!
//! Statements are cut into tokens and read, not searched: a word in a text or comment is no statement.
//! Which database it is follows from names alone (hosts, addresses, files, variables): no connection
//! is made, and no configuration is read. `README.md` says what it objects to.

mod calls;
mod clients;
mod commands;
mod conditions;
mod connections;
mod documents;
mod findings;
mod judgement;
mod keys;
mod lexer;
mod lines;
mod migrations;
mod names;
mod review;
mod rights;
mod settings;
mod statements;

use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::Operation;
use settings::Config;

/// The plugin.
pub struct Plugin;

impl RiskCalculator for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Judges database statements by what they do and by the database that they reach.",
    )
    .severity(Severity::High)
    .config::<Config>();

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let checked = Self::DESCRIPTOR.prepare(settings)?;
        Ok(Config::from_prepared(&checked)?.to_bytes())
    }

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        let findings = match &action.operation {
            Operation::Shell(shell) if commands::concern(shell, action) => {
                commands::judge(shell, action, &Config::of_bytes(prepared)?)
            }
            Operation::Tool(call) if calls::concern(call, action) => {
                calls::judge(call, action, &Config::of_bytes(prepared)?)
            }
            _ => return Ok(Assessment::nothing()),
        };
        Ok(findings::rule(findings))
    }
}

portcullis_plugin::export!(risk-calculator: Plugin);
