//! `portcullis explain ID`: why a review came out as it did.

use crate::config::Config;
use crate::places::Places;
use crate::restorable::{self, Restorable};
use crate::runtime::Reviewer;
use crate::{paint, show};
use anyhow::{Result, bail};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_store::{Home, Store, Stored};
use serde_json::Value;

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
    let record: Record = serde_json::from_str(&stored.record.document)?;
    let restorable = restorable(&record);
    let feedback = super::feedback::of(&store, &record.id)?;
    if arguments.json {
        let mut document: Value = serde_json::from_str(&super::audit::json(&stored)?)?;
        if let Some(document) = document.as_object_mut() {
            document.insert("explanation".into(), show::explanation(&record, restorable.as_ref()));
            document.insert("feedback".into(), feedback.iter().map(|record| Value::Object(record.details.clone())).collect());
        }
        paint::print(&format!("{document}\n"));
        return Ok(0);
    }
    paint::print(&show::page(&record, true, restorable.as_ref()));
    for said in &feedback {
        paint::print(&format!("\n{}  {}\n", paint::bold("feedback"), paint::dim(format!("{} UTC", paint::time(said.at)))));
        paint::print(&format!("  {}\n", one_line(&said.summary, 400)));
    }
    Ok(0)
}

/// What git could change; none where this installation cannot review: what it recorded is told all the same.
fn restorable(record: &Record) -> Option<Restorable> {
    let cwd = record.action.as_ref().map(|action| action.cwd.as_str())?;
    let places = Places::for_event(cwd).ok()?;
    let home = Home::open(&places.state).ok()?;
    let config = Config::load(&places, Some(&home)).ok()?;
    let mut reviewer = Reviewer::installed(&places, &home, config, &[], record.at).ok()?;
    restorable::restorable(record, &mut reviewer)
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
