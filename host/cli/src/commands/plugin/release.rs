//! `portcullis plugin release NAME`: a person re-enables a plugin that is disabled after failures.

use crate::commands::audit;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now;
use portcullis_core::breaker::Breaker;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::breakers::SUBJECT;
use portcullis_review::reviewer::to_store;
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

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = one_line(&arguments.name, 64);
    let mut store = audit::open()?;
    let failures = match store.breakers() {
        Ok(known) => match known.get(&arguments.name) {
            Some(document) => serde_json::from_str::<Breaker>(document)
                .map(|breaker| breaker.describe_failures())
                .unwrap_or_default(),
            None => {
                return Err(Error::not_found(format!("no failure of a plugin `{name}` is known"))
                    .hint("`portcullis plugin list` shows which plugins are held"));
            }
        },
        // Removing an unreadable entry is the purpose of this command.
        Err(StoreError::ForgedBreaker { .. }) => {
            "what was kept of its failures was changed from outside".to_owned()
        }
        Err(error) => return Err(error.into()),
    };
    interactive::confirm(&format!(
        "`{name}`: {failures}.\nForget that, and have it run with the next action?"
    ))?;
    let mut record = Record::apart(
        RecordKind::Configuration,
        SUBJECT,
        &format!("a person released the plugin `{name}`: {failures}"),
        now(),
        &name,
    );
    record.details.insert("plugin".into(), name.as_str().into());
    record.details.insert("change".into(), "released".into());
    if store.release(&arguments.name, vec![to_store(&record)])?.is_none() {
        return Err(Error::not_found(format!(
            "nothing is kept of a plugin `{name}` any more: nothing was changed"
        )));
    }
    if arguments.json {
        paint::print(&format!("{}\n", json!({ "released": name, "failures": failures })));
        return Ok(CommandExit::Success);
    }
    paint::print(&format!("{} `{name}` runs with the next action.\n", paint::good("released.")));
    Ok(CommandExit::Success)
}
