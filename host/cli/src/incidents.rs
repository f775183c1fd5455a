//! Incidents of this installation: from the journal while it has their records, from their files afterwards.
//!
//! The hook leaves a task with the record of a stop, in one commit; `maintain` writes the file. So a stop waits for
//! no file, a file that cannot be written is tried again and named by `doctor`, and nothing is lost meanwhile.

use crate::health;
use crate::kept::{self, Shelf};
use anyhow::{Context, Result, bail};
use portcullis_core::incident::{self, Incident};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::session::{State, Terms};
use portcullis_core::text::one_line;
use portcullis_store::{Filter, NewWork, Store, Stored};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// The task that writes an incident's file.
pub const WORK: &str = "incident";
/// The folder of the files in our state.
const FOLDER: &str = "incidents";
/// So many records of a session are looked at.
const MOST_RECORDS: usize = 5000;

/// How an incident's session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is stopped, and nobody decided.
    Stopped,
    /// What a person decided, which is the newest of the session.
    Decided(Terms),
    /// The session had another incident since, or is not known any more.
    Past,
}

impl Standing {
    /// In a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Decided(Terms::Limited) => "resumed",
            Self::Decided(Terms::RolledBack) => "rolled back",
            Self::Decided(Terms::Supervised) => "supervised",
            Self::Decided(Terms::Aborted) => "aborted",
            Self::Decided(Terms::Lifted) => "lifted",
            Self::Past => "past",
        }
    }
}

/// Everything that is known.
pub struct Known {
    /// The incidents, newest first; those that come from the journal without what led to them.
    pub incidents: Vec<Incident>,
    /// Files that cannot be read.
    pub damaged: Vec<String>,
}

/// Where the files lie.
pub fn shelf(state: &Path) -> Shelf {
    Shelf::of(state, FOLDER)
}

/// The tasks that records of one event leave.
pub fn work(records: &[Record], now: u64) -> impl Iterator<Item = NewWork> {
    records.iter().filter(|record| counts(record)).map(move |record| NewWork {
        kind: WORK.into(),
        key: record.id.clone(),
        due_at: now,
        document: String::new(),
    })
}

/// Writes the file of an incident, unless it has one.
pub fn keep(store: &Store, state: &Path, id: &str) -> Result<String> {
    let shelf = shelf(state);
    if matches!(shelf.get::<Incident>(id), Ok(Some(_))) {
        return Ok(format!("the incident {id} has its file"));
    }
    let Some(incident) = of_journal(store, id)? else { return Ok(format!("the journal has no incident {id} any more")) };
    shelf.put(id, &incident)?;
    Ok(format!("the file of the incident {id} was written"))
}

/// Removes the files of incidents that are past their days.
pub fn forget(state: &Path, days: u32, now: u64) -> Result<String> {
    let shelf = shelf(state);
    let contents = shelf.all::<Incident>()?;
    let old: Vec<&String> = contents.good.iter().filter(|(_, incident)| kept::is_past(incident.at, days, now)).map(|(id, _)| id).collect();
    old.iter().try_for_each(|id| shelf.remove(id))?;
    Ok(format!("{} files of incidents older than {days} days were removed", old.len()))
}

/// All incidents that are not past their days.
pub fn all(store: &Store, state: &Path, days: u32, now: u64) -> Result<Known> {
    let contents = shelf(state).all::<Incident>()?;
    let mut found: BTreeMap<String, Incident> = stops(store)?
        .iter()
        .filter_map(|stored| incident::compose(&record(stored).ok()?, &[], false))
        .chain(contents.good.into_iter().map(|(_, incident)| incident))
        .map(|incident| (incident.id.clone(), incident))
        .collect();
    found.retain(|_, incident| !kept::is_past(incident.at, days, now));
    let mut incidents: Vec<Incident> = found.into_values().collect();
    incidents.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    Ok(Known { incidents, damaged: contents.damaged })
}

/// The one that a person means: by its id, the beginning of one, or `last`. Whole, as far as the journal goes.
pub fn find(store: &Store, state: &Path, named: &str) -> Result<Incident> {
    let known = all(store, state, 0, 0)?;
    let fits = |incident: &&Incident| !named.is_empty() && incident.id.starts_with(named);
    let found: Vec<&Incident> = match named {
        "last" => known.incidents.first().into_iter().collect(),
        _ => known.incidents.iter().filter(fits).collect(),
    };
    let shown = one_line(named, 64);
    match found.as_slice() {
        [one] => match of_journal(store, &one.id)? {
            Some(incident) if incident.whole || !one.whole => Ok(incident),
            _ => Ok((*one).clone()),
        },
        [] => match known.damaged.iter().find(|damaged| !named.is_empty() && damaged.contains(named)) {
            Some(damaged) => bail!("{damaged}, and the journal has no incident `{shown}` any more"),
            None => bail!("there is no incident `{shown}`: `portcullis incident list` shows them"),
        },
        several => bail!("{} incidents begin with `{shown}`: give more of the id", several.len()),
    }
}

/// How its session stands.
pub fn standing(store: &Store, incident: &Incident) -> Result<Standing> {
    let snapshot = store.snapshot(&incident.session, None)?;
    let Ok(state) = State::decode(snapshot.session.as_deref(), None) else { return Ok(Standing::Past) };
    Ok(match state.session.stop.filter(|stop| stop.incident == incident.id) {
        None => Standing::Past,
        Some(stop) => stop.terms.map_or(Standing::Stopped, Standing::Decided),
    })
}

/// What persons did about it, oldest first.
pub fn decisions(store: &Store, incident: &Incident) -> Result<Vec<Record>> {
    let filter = Filter {
        session: Some(incident.session.clone()),
        kind: Some(RecordKind::Exception.as_str().into()),
        since: Some(incident.at),
        ..Filter::default()
    };
    let mut found = Vec::new();
    store.query(&filter, |stored| {
        found.extend(record(&stored).ok().filter(|record| record.details.get("incident").is_some_and(|id| *id == incident.id)));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The incident as the journal tells it.
fn of_journal(store: &Store, id: &str) -> Result<Option<Incident>> {
    let Some(stored) = stops(store)?.into_iter().find(|stored| stored.record.id == id) else { return Ok(None) };
    let stop = record(&stored)?;
    let (earlier, all) = earlier(store, &stored)?;
    let begun = incident::compose(&stop, &[], false).map_or(0, |incident| incident.state.started);
    let whole = all && store.start()?.is_none_or(|start| start.at < begun);
    Ok(incident::compose(&stop, &earlier, whole))
}

/// The records that stop a session, oldest first.
fn stops(store: &Store) -> Result<Vec<Stored>> {
    let mut found = Vec::new();
    store.query(&Filter { kind: Some(RecordKind::Intervention.as_str().into()), ..Filter::default() }, |stored| {
        if record(&stored).is_ok_and(|record| counts(&record)) {
            found.push(stored);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Whether a record tells of an incident: it stops a session, and not one in which `doctor` tries out that we do.
fn counts(record: &Record) -> bool {
    incident::stops(record) && !record.session.starts_with(health::CANARY)
}

/// A session's records before one of them, oldest first, and whether these are all.
fn earlier(store: &Store, stop: &Stored) -> Result<(Vec<Record>, bool)> {
    let (mut records, mut all) = (Vec::new(), true);
    store.query(&Filter { session: stop.session.clone(), newest_first: true, ..Filter::default() }, |stored| {
        if stored.sequence >= stop.sequence {
            return ControlFlow::Continue(());
        }
        if records.len() == MOST_RECORDS {
            all = false;
            return ControlFlow::Break(());
        }
        match record(&stored) {
            Ok(record) => records.push(record),
            Err(_) => all = false,
        }
        ControlFlow::Continue(())
    })?;
    records.reverse();
    Ok((records, all))
}

fn record(stored: &Stored) -> Result<Record> {
    serde_json::from_str(&stored.record.document).with_context(|| format!("record {}", stored.sequence))
}
