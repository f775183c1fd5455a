//! Incidents of this installation: read from the journal while it has their records, and from their
//! files afterwards.
//!
//! The hook queues a task in the same commit as the record of a stop; `maintain` writes the file.
//! So a stop does not wait for a file, a failed write is retried and reported by `doctor`, and
//! nothing is lost meanwhile.

use crate::canary_session::CANARY_SESSION;
use crate::documents::{self, DocumentStore};
use crate::quarantine;
use crate::stopped::{self, StopFile};
use anyhow::{Context, Result, bail};
use portcullis_agents::PROFILES;
use portcullis_core::incident::{self, Incident};
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::session::{ResumeConditions, State};
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::{Filter, Home, NewWork, Store, StoreError, StoredRecord};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The task that writes an incident's file.
pub const WORK: &str = "incident";
/// The folder of the files in the state folder.
const FOLDER: &str = "incidents";
/// The most records of a session that are examined.
const MOST_RECORDS: usize = 5000;

/// The state of an incident's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncidentStatus {
    /// The session is stopped, and nobody has decided yet.
    Stopped,
    /// A person's decision, the newest of the session.
    Decided(ResumeConditions),
    /// The session has had another incident since, or is no longer known.
    Past,
}

impl IncidentStatus {
    /// Returns its name, one or two words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Decided(ResumeConditions::Limited) => "resumed",
            Self::Decided(ResumeConditions::RolledBack) => "rolled back",
            Self::Decided(ResumeConditions::Supervised) => "supervised",
            Self::Decided(ResumeConditions::Aborted) => "aborted",
            Self::Decided(ResumeConditions::Lifted) => "lifted",
            Self::Past => "past",
        }
    }
}

/// All known incidents.
pub struct IncidentList {
    /// The incidents, newest first; those from the journal lack the steps that led to them.
    pub incidents: Vec<Incident>,
    /// Files that cannot be read.
    pub damaged: Vec<String>,
}

/// Returns the folder of the incident files.
pub fn document_store(home: &Home) -> DocumentStore {
    DocumentStore::in_home(home, FOLDER)
}

/// Returns the tasks that one event's records queue.
pub fn incident_tasks(records: &[Record], now: u64) -> impl Iterator<Item = NewWork> {
    records.iter().filter(|record| counts(record)).map(move |record| NewWork {
        kind: WORK.into(),
        key: record.id.clone(),
        due_at: now,
        document: String::new(),
    })
}

/// Writes the file of an incident, unless it exists.
pub fn save_incident(store: &Store, home: &Home, id: &str) -> Result<String> {
    let documents = document_store(home);
    if matches!(documents.get_document::<Incident>(id), Ok(Some(_))) {
        return Ok(format!("the incident {id} has its file"));
    }
    let Some(incident) = of_journal(store, id)? else {
        return Ok(format!("the journal has no incident {id} any more"));
    };
    documents.put_document(id, &incident)?;
    Ok(format!("the file of the incident {id} was written"))
}

/// Removes the files of incidents past their retention, and the files that mark their sessions as
/// stopped.
pub fn expire_incidents(home: &Home, days: u32, now: u64) -> Result<String> {
    let documents = document_store(home);
    let (stops, _) = stopped::read_all(home)?;
    stops
        .iter()
        .filter(|stopped| documents::is_past(stopped.at(), days, now))
        .try_for_each(|stopped| stopped::remove_stop(home, stopped))?;
    let contents = documents.read_all::<Incident>()?;
    let old: Vec<&String> = contents
        .good
        .iter()
        .filter(|(_, incident)| documents::is_past(incident.at, days, now))
        .map(|(id, _)| id)
        .collect();
    old.iter().try_for_each(|id| documents.remove_document(id))?;
    let folders = [FOLDER, quarantine::FOLDER, stopped::FOLDER];
    let keys = documents::destroy_due_keys(home, &folders, now)?;
    let destroyed = match keys {
        0 => String::new(),
        keys => format!("; destroyed {}", count_noun(keys, "key")),
    };
    Ok(format!(
        "removed {} older than {}{destroyed}",
        count_noun(old.len() as u64, "incident file"),
        count_noun(u64::from(days), "day")
    ))
}

/// Returns all incidents within the retention.
pub fn list_incidents(store: &Store, home: &Home, days: u32, now: u64) -> Result<IncidentList> {
    let contents = document_store(home).read_all::<Incident>()?;
    let mut found: BTreeMap<String, Incident> = stops(store)?
        .iter()
        .filter_map(|stored| {
            incident::compose_incident(&record(stored).ok()?, &[], false, PROFILES)
        })
        .chain(contents.good.into_iter().map(|(_, incident)| incident))
        .map(|incident| (incident.id.clone(), incident))
        .collect();
    found.retain(|_, incident| !documents::is_past(incident.at, days, now));
    let mut incidents: Vec<Incident> = found.into_values().collect();
    incidents.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    Ok(IncidentList { incidents, damaged: contents.damaged })
}

/// Finds the incident that a person names by its id, a prefix of one, or `last`. It is complete as
/// far as the journal reaches.
pub fn find_incident(store: &Store, home: &Home, named: &str) -> Result<Incident> {
    let known = list_incidents(store, home, 0, 0)?;
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
        [] => {
            match known.damaged.iter().find(|damaged| !named.is_empty() && damaged.contains(named))
            {
                Some(damaged) => bail!(KnownFailure::NotFound(format!(
                    "{damaged}, and the journal has no incident `{shown}` any more"
                ))),
                None => bail!(KnownFailure::NotFound(format!(
                    "there is no incident `{shown}`: `portcullis incident list` shows them"
                ))),
            }
        }
        several => bail!("{} incidents begin with `{shown}`: give more of the id", several.len()),
    }
}

/// Returns the state of its session.
pub fn incident_status(store: &Store, home: &Home, incident: &Incident) -> Result<IncidentStatus> {
    let session = match store.take_snapshot(&incident.session, None) {
        Ok(snapshot) => snapshot.session,
        // Every action of the session is refused; report the facts known outside the journal.
        Err(StoreError::ForgedState { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Ok(mut state) = State::decode_state(session.as_deref(), None) else {
        return Ok(IncidentStatus::Past);
    };
    stopped::apply_stop(&mut state, stopped::read_stop(home, &incident.session)?.as_ref());
    Ok(match state.session.stop.filter(|stop| stop.incident == incident.id) {
        None => IncidentStatus::Past,
        Some(stop) => stop.terms.map_or(IncidentStatus::Stopped, IncidentStatus::Decided),
    })
}

/// Writes the stop files of sessions whose stop is only in the journal.
pub fn keep_stops(store: &Store, home: &Home) -> Result<()> {
    for incident in list_incidents(store, home, 0, 0)?.incidents {
        let Ok(snapshot) = store.take_snapshot(&incident.session, None) else { continue };
        let Ok(state) = State::decode_state(snapshot.session.as_deref(), None) else { continue };
        if let Some(stopped) = StopFile::from_state(&incident.session, &state.session, incident.at)
        {
            stopped::save_stop(
                home,
                &stopped,
                stopped::read_stop(home, &incident.session)?.as_ref(),
            )?;
        }
    }
    Ok(())
}

/// Keeps sessions stopped when a new journal begins and only an incident's file records the stop. A
/// person's decision from before decisions were kept outside the journal must be made again.
pub fn import_stops(home: &Home) -> Result<()> {
    let mut incidents: Vec<Incident> = document_store(home)
        .read_all::<Incident>()?
        .good
        .into_iter()
        .map(|(_, incident)| incident)
        .collect();
    incidents.sort_by_key(|incident| std::cmp::Reverse(incident.at));
    for incident in &incidents {
        if stopped::read_stop(home, &incident.session)?.is_none() {
            stopped::save_stop(home, &StopFile::by_incident(incident), None)?;
        }
    }
    Ok(())
}

/// Returns the decisions that persons made about it, oldest first.
pub fn list_decisions(store: &Store, incident: &Incident) -> Result<Vec<Record>> {
    let filter = Filter {
        session: Some(incident.session.clone()),
        kind: Some(RecordKind::Exception.as_str().into()),
        since: Some(incident.at),
        ..Filter::default()
    };
    let mut found = Vec::new();
    store.query_records(&filter, |stored| {
        found.extend(
            record(&stored).ok().filter(|record| {
                record.details.get("incident").is_some_and(|id| *id == incident.id)
            }),
        );
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Builds the incident from the journal.
fn of_journal(store: &Store, id: &str) -> Result<Option<Incident>> {
    let Some(stored) = stops(store)?.into_iter().find(|stored| stored.record.id == id) else {
        return Ok(None);
    };
    let stop = record(&stored)?;
    let (earlier, all) = earlier(store, &stored)?;
    let begun = incident::compose_incident(&stop, &[], false, PROFILES)
        .map_or(0, |incident| incident.state.started);
    let whole = all && store.start()?.is_none_or(|start| start.at < begun);
    Ok(incident::compose_incident(&stop, &earlier, whole, PROFILES))
}

/// Returns the records that stop a session, oldest first.
fn stops(store: &Store) -> Result<Vec<StoredRecord>> {
    let mut found = Vec::new();
    store.query_records(
        &Filter { kind: Some(RecordKind::Intervention.as_str().into()), ..Filter::default() },
        |stored| {
            if record(&stored).is_ok_and(|record| counts(&record)) {
                found.push(stored);
            }
            ControlFlow::Continue(())
        },
    )?;
    Ok(found)
}

/// Returns true if a record is an incident: it stops a session that is not one of `doctor`'s tests.
fn counts(record: &Record) -> bool {
    incident::stops_session(record) && !record.session.starts_with(CANARY_SESSION)
}

/// Returns a session's records before the stop, oldest first, and true if these are all.
fn earlier(store: &Store, stop: &StoredRecord) -> Result<(Vec<Record>, bool)> {
    let (mut records, mut all) = (Vec::new(), true);
    store.query_records(
        &Filter { session: stop.session.clone(), newest_first: true, ..Filter::default() },
        |stored| {
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
        },
    )?;
    records.reverse();
    Ok((records, all))
}

fn record(stored: &StoredRecord) -> Result<Record> {
    serde_json::from_str(&stored.record.document)
        .with_context(|| format!("record {}", stored.sequence))
}
