//! `portcullis plugin release NAME`: a person re-enables a plugin that is disabled after failures.

use crate::commands::audit;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::breaker::Breaker;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::breakers::SUBJECT;
use portcullis_review::stored_records::to_store;
use portcullis_store::StoreError;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The plugin's name
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_release(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = one_line(&arguments.name, 64);
    let mut store = audit::open_store()?;
    let failures = match store.breakers() {
        Ok(known) => match known.get(&arguments.name) {
            Some(document) => serde_json::from_str::<Breaker>(document)
                .map(|breaker| breaker.describe_failures())
                .unwrap_or_default(),
            None => {
                return Err(Error::not_found(format!("no failure of a plugin `{name}` is known"))
                    .with_hint("`portcullis plugin list` shows which plugins are held"));
            }
        },
        // Removing an unreadable entry is the purpose of this command.
        Err(StoreError::ForgedBreaker { .. }) => {
            "the record of its failures was changed from outside".to_owned()
        }
        Err(error) => return Err(error.into()),
    };
    interactive::confirm_action(&format!(
        "`{name}`: {failures}.\nForget that, and have it run with the next action?"
    ))?;
    let mut record = Record::outside_session(
        RecordKind::Configuration,
        SUBJECT,
        &format!("a person released the plugin `{name}`: {failures}"),
        now_ms(),
        &name,
    );
    record.details.insert("plugin".into(), name.as_str().into());
    record.details.insert("change".into(), "released".into());
    if store.release_plugin(&arguments.name, vec![to_store(&record)])?.is_none() {
        return Err(Error::not_found(format!(
            "no failures of a plugin `{name}` are stored any more: nothing was changed"
        )));
    }
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "released": name, "failures": failures })));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{} `{name}` runs with the next action.\n",
        paint::good("released.")
    ));
    Ok(CommandExit::Success)
}
