//! `portcullis explain ID`: why a review came out as it did.

use crate::{paint, show};
use anyhow::{Result, bail};
use portcullis_core::record::Record;
use portcullis_store::{Store, Stored};

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
    let stored = stored(&store, &arguments.id)?;
    if arguments.json {
        paint::print(&format!("{}\n", super::audit::json(&stored)?));
        return Ok(0);
    }
    let record: Record = serde_json::from_str(&stored.record.document)?;
    paint::print(&show::page(&record));
    Ok(0)
}

/// The record that a person names by its id, the beginning of one, or `last`.
pub fn find(store: &Store, id: &str) -> Result<Record> {
    Ok(serde_json::from_str(&stored(store, id)?.record.document)?)
}

fn stored(store: &Store, id: &str) -> Result<Stored> {
    let found = if id == "last" { newest_objection(store)? } else { store.record(id)? };
    if let Some(found) = found {
        return Ok(found);
    }
    let id = portcullis_core::text::one_line(id, 64);
    let Some(start) = store.start()? else { bail!("the journal has no record `{id}`: `portcullis audit show` lists them") };
    let (count, at) = (start.sequence, paint::time(start.at));
    bail!("the journal has no record `{id}`; its {count} oldest, up to {at}, were pruned: `portcullis audit show` lists the others")
}

fn newest_objection(store: &Store) -> Result<Option<Stored>> {
    let mut newest = None;
    store.query(&portcullis_store::Filter { kind: Some("review".into()), ..Default::default() }, |stored| {
        if stored.record.verdict.as_deref().is_some_and(|verdict| verdict != "allow") {
            newest = Some(stored);
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(newest)
}
