//! `portcullis explain ID`: shows the reasons for a review's verdict.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::what_if_clean::{self, WhatIfClean};
use crate::{paint, show};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_review::installed;
use portcullis_review::questions::SUBJECT;
use portcullis_store::{Filter, Home, Store, StoredRecord};
use serde_json::Value;
use std::ops::ControlFlow;

#[derive(clap::Args)]
pub struct Arguments {
    /// A record's id or a prefix of it; `last` for the newest objection
    id: String,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

pub fn run_explain(arguments: &Arguments) -> Result<CommandExit> {
    let store = super::audit::open_store()?;
    let stored = stored(&store, &arguments.id)?;
    let record: Record = serde_json::from_str(&stored.record.document)?;
    let restorable = verdict_if_clean(&record);
    let feedback = list_about(&store, RecordKind::Feedback, &record.id)?;
    let mut approvals = list_about(&store, RecordKind::Exception, &record.id)?;
    approvals.retain(|record| record.subject == SUBJECT);
    if arguments.json {
        let mut document: Value = serde_json::from_str(&super::audit::record_json(&stored)?)?;
        if let Some(document) = document.as_object_mut() {
            document
                .insert("explanation".into(), show::explanation_json(&record, restorable.as_ref()));
            document.insert(
                "feedback".into(),
                feedback.iter().map(|record| Value::Object(record.details.clone())).collect(),
            );
            document.insert(
                "approvals".into(),
                approvals.iter().map(|record| Value::Object(record.details.clone())).collect(),
            );
        }
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&show::record_page(&record, true, restorable.as_ref()));
    let feedback = feedback.iter().map(|said| ("feedback", said));
    for (what, said) in approvals.iter().map(|said| ("approval", said)).chain(feedback) {
        paint::print_text(&format!(
            "\n{}  {}\n",
            paint::bold(what),
            paint::dim(format!("{} UTC", paint::time(said.at)))
        ));
        paint::print_text(&format!("  {}\n", one_line(&said.summary, 400)));
    }
    Ok(CommandExit::Success)
}

/// Computes what a clean git state would change; `None` if this installation cannot review;
/// the record is shown anyway.
fn verdict_if_clean(record: &Record) -> Option<WhatIfClean> {
    let cwd = record.action.as_ref().map(|action| action.cwd.as_str())?;
    let places = Paths::for_event(cwd).ok()?;
    let home = Home::open_root(&places.state).ok()?;
    let config = Config::load(&places, Some(&home)).ok()?;
    let mut reviewer = installed::load_reviewer(&places, &home, config, &[], record.at).ok()?;
    what_if_clean::verdict_if_clean(record, &mut reviewer)
}

/// Finds a record by its id, a prefix of it, or `last`: the newest objection to an action of an
/// agent, not to one that `doctor` tried.
pub fn find_record(store: &Store, id: &str) -> Result<Record> {
    Ok(serde_json::from_str(&stored(store, id)?.record.document)?)
}

fn stored(store: &Store, id: &str) -> Result<StoredRecord> {
    let found = if id == "last" { newest_objection(store)? } else { store.find_record(id)? };
    if let Some(found) = found {
        return Ok(found);
    }
    let id = portcullis_core::text::one_line(id, 64);
    let Some(start) = store.start()? else {
        return Err(Error::not_found(format!("the journal has no record `{id}`"))
            .with_hint("`portcullis audit show` lists them"));
    };
    let (count, at) = (start.sequence, paint::time(start.at));
    Err(Error::not_found(format!(
        "the journal has no record `{id}`; its {count} oldest, up to {at}, were pruned"
    ))
    .with_hint("`portcullis audit show` lists the others"))
}

fn newest_objection(store: &Store) -> Result<Option<StoredRecord>> {
    let mut newest = None;
    let filter = Filter {
        kind: Some("review".into()),
        except: Some(CANARY_SESSION.into()),
        newest_first: true,
        ..Filter::default()
    };
    store.query_records(&filter, |stored| {
        if stored.record.verdict.as_deref().is_none_or(|verdict| verdict == "allow") {
            return ControlFlow::Continue(());
        }
        newest = Some(stored);
        ControlFlow::Break(())
    })?;
    Ok(newest)
}

/// Returns the records of a kind about a review, oldest first.
fn list_about(store: &Store, kind: RecordKind, review: &str) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    store.query_records(
        &Filter { kind: Some(kind.as_str().into()), ..Filter::default() },
        |stored| {
            found.extend(serde_json::from_str::<Record>(&stored.record.document));
            ControlFlow::Continue(())
        },
    )?;
    found.retain(|record| record.details.get("review").is_some_and(|of| of == review));
    Ok(found)
}
