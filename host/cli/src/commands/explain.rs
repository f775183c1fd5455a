//! `portcullis explain ID`: why a review came out as it did.

use crate::{paint, show};
use anyhow::{Result, bail};
use portcullis_core::record::Record;
use portcullis_store::Stored;

#[derive(clap::Args)]
pub struct Arguments {
    /// A record's id or the beginning of one; `last` for the newest objection
    id: String,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let store = super::audit::open()?;
    let stored = if arguments.id == "last" { newest_objection(&store)? } else { store.record(&arguments.id)? };
    let Some(stored) = stored else {
        bail!("the journal has no record `{}`: `portcullis audit show` lists them", portcullis_core::text::one_line(&arguments.id, 64))
    };
    if arguments.json {
        paint::print(&format!("{}\n", super::audit::json(&stored)?));
        return Ok(0);
    }
    let record: Record = serde_json::from_str(&stored.record.document)?;
    paint::print(&show::page(&record));
    Ok(0)
}

fn newest_objection(store: &portcullis_store::Store) -> Result<Option<Stored>> {
    let mut newest = None;
    store.query(&portcullis_store::Filter { kind: Some("review".into()), ..Default::default() }, |stored| {
        if stored.record.verdict.as_deref().is_some_and(|verdict| verdict != "allow") {
            newest = Some(stored);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(newest)
}
