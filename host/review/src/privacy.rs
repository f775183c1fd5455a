//! Requests of people about what is kept of them: a copy of it, or its removal.
//!
//! What concerns a session is found by its id. What concerns a person is found by a text, such as an
//! address or a name: as it is, and as the placeholder that masking writes in its place, which is the
//! same each time ([`portcullis_core::mask`]). Copies of files, which checkpoints keep for a few days, are
//! not searched.

use crate::documents::DocumentStore;
use crate::incidents;
use anyhow::{Context, Result};
use portcullis_core::incident::Incident;
use portcullis_core::mask::Masker;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::count_noun;
use portcullis_store::{
    ApprovalRecord, ErasedDocument, Erasure, ErasureResult, Filter, Home, NewRecord, Store,
    StoreError, StoredException, StoredRecord, WorkItem,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The subject of the records that report an erasure.
pub const SUBJECT: &str = "erasure";

/// Whom a request concerns.
#[derive(Clone, Debug)]
pub enum PrivacySubject {
    /// A session, by its id.
    Session(String),
    /// A person, by a text that names them.
    Person(String),
}

/// What is kept of a session or a person.
#[derive(Debug, Default)]
pub struct PersonalData {
    /// The records whose documents are about it, oldest first.
    pub records: Vec<StoredRecord>,
    /// The sessions whose states are about it.
    pub sessions: BTreeSet<String>,
    /// The incident files.
    pub incidents: Vec<Incident>,
    /// The actions that waited for an answer.
    pub approvals: Vec<ApprovalRecord>,
    /// The exceptions that people granted.
    pub exceptions: Vec<StoredException>,
    /// The messages and other work that wait.
    pub work: Vec<WorkItem>,
    /// The number of records and states that cannot be read, and so were not searched.
    pub unreadable: u64,
    /// True if masking writes the same in place of all such texts, so that a masked one is not found.
    pub is_unlinked: bool,
}

impl PersonalData {
    /// Returns true if nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.sessions.is_empty()
            && self.incidents.is_empty()
            && self.approvals.is_empty()
            && self.exceptions.is_empty()
            && self.work.is_empty()
    }

    /// Describes the amounts in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        [
            (self.records.len(), "record"),
            (self.sessions.len(), "session state"),
            (self.incidents.len(), "incident file"),
            (self.approvals.len(), "approval"),
            (self.exceptions.len(), "exception"),
            (self.work.len(), "waiting message"),
        ]
        .map(|(count, noun)| count_noun(count as u64, noun))
        .join(", ")
    }
}

/// What ends the placeholder of a kind whose values are not to be joined.
const UNLINKED: &str = ":00000000>";

/// The texts by which data is found, in lower case.
struct Search<'a> {
    session: Option<&'a str>,
    needles: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(subject: &'a PrivacySubject, masker: &Masker) -> Self {
        match subject {
            PrivacySubject::Session(id) => Self { session: Some(id), needles: Vec::new() },
            PrivacySubject::Person(text) => {
                // Documents are JSON, with JSON in them, where some characters have another form.
                let escape = |text: &str| {
                    let json = serde_json::to_string(text).unwrap_or_default();
                    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
                };
                let (once, twice) = (escape(text), escape(&escape(text)));
                let mut needles = vec![text.clone(), once, twice, masker.mask_text(text)];
                // One placeholder for everybody names nobody.
                needles.retain(|needle| !needle.contains(UNLINKED));
                let mut needles: Vec<_> =
                    needles.into_iter().map(|needle| needle.to_lowercase()).collect();
                needles.sort();
                needles.dedup();
                Self { session: None, needles }
            }
        }
    }

    fn is_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.needles.iter().any(|needle| text.contains(needle.as_str()))
    }

    fn concerns(&self, session: Option<&str>, text: &str) -> bool {
        match self.session {
            Some(wanted) => session == Some(wanted),
            None => self.is_in(text),
        }
    }
}

/// Finds what is kept of a session or a person. Records that were erased before are left out.
///
/// # Errors
/// Fails if the journal or the incidents cannot be read.
pub fn find_data(
    store: &mut Store,
    home: &Home,
    subject: &PrivacySubject,
    masker: &Masker,
) -> Result<PersonalData> {
    let search = Search::new(subject, masker);
    let mut found = PersonalData {
        is_unlinked: matches!(subject, PrivacySubject::Person(text)
            if masker.mask_text(text).contains(UNLINKED)),
        ..PersonalData::default()
    };
    let session = search.session.map(str::to_owned);
    let filter = Filter { session, with_unreadable: true, ..Filter::default() };
    store.query_records(&filter, |stored| {
        let is_report = stored.session.is_none() && stored.record.subject == SUBJECT;
        let is_left = stored.erased_at.is_none() && !is_report;
        if stored.unreadable.is_some() {
            found.unreadable += 1;
        } else if is_left && search.concerns(stored.session.as_deref(), &stored.record.document) {
            found.records.push(stored);
        }
        ControlFlow::Continue(())
    })?;
    for summary in store.sessions()? {
        match is_in_state(store, &search, &summary.session) {
            Ok(true) => drop(found.sessions.insert(summary.session)),
            Ok(false) => {}
            Err(StoreError::ForgedState { .. } | StoreError::Unreadable { .. }) => {
                found.unreadable += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let incidents = incidents::document_store(home).read_all::<Incident>()?.good;
    for (_, incident) in incidents {
        if search.concerns(Some(&incident.session), &serde_json::to_string(&incident)?) {
            found.incidents.push(incident);
        }
    }
    for approval in store.list_approvals()?.genuine {
        let text = format!("{} {}", approval.asked.document, approval.reason);
        if search.concerns(Some(&approval.asked.session), &text) {
            found.approvals.push(approval);
        }
    }
    for exception in store.list_exceptions()? {
        let grant = exception.grant;
        if search.concerns(grant.session.as_deref(), &grant.document) {
            found.exceptions.push(grant);
        }
    }
    let mentions = |work: &WorkItem| match search.session {
        Some(session) => work.document.contains(session),
        None => search.is_in(&work.document),
    };
    found.work = store.list_due(u64::MAX, MOST_WORK)?.into_iter().filter(mentions).collect();
    Ok(found)
}

const MOST_WORK: u64 = 100_000;

/// Returns true if the state of a session is about the subject.
fn is_in_state(
    store: &Store,
    search: &Search<'_>,
    session: &str,
) -> std::result::Result<bool, StoreError> {
    let main = store.take_snapshot(session, None)?;
    if let Some(wanted) = search.session {
        return Ok(wanted == session && main.session.is_some());
    }
    let mut states = vec![main.session, main.agent];
    for agent in store.list_agents(session)? {
        states.push(store.take_snapshot(session, Some(&agent))?.agent);
    }
    Ok(states.iter().flatten().any(|state| search.is_in(&String::from_utf8_lossy(state))))
}

/// Erases what was found, at `now` (milliseconds since 1970), and records that. The records stay in the
/// chain with their times, tools and verdicts. A session whose state is removed begins again with its
/// next action; one that was stopped stays stopped.
///
/// # Errors
/// Fails if something cannot be written. What was erased before stays erased.
pub fn erase_data(
    store: &mut Store,
    home: &Home,
    data: &PersonalData,
    now: u64,
) -> Result<ErasureResult> {
    // A stop that only the journal knows must not go with a session's state.
    incidents::keep_stops(store, home)?;
    let documents = incidents::document_store(home);
    remove_incidents(&documents, &data.incidents)?;
    for work in &data.work {
        store.work_done(work.id)?;
    }
    let erased: Vec<ErasedDocument> =
        data.records.iter().map(|stored| replace_document(stored, now)).collect::<Result<_>>()?;
    let mut sessions = data.sessions.clone();
    sessions.extend(data.approvals.iter().map(|approval| approval.asked.session.clone()));
    let erasure = Erasure {
        documents: erased,
        sessions: sessions.into_iter().collect(),
        exceptions: data.exceptions.iter().map(|exception| exception.id.clone()).collect(),
    };
    let described = data.describe();
    let report = |_: &ErasureResult| vec![report_erasure(&described, now)];
    Ok(store.erase_data(&erasure, now, report)?)
}

fn remove_incidents(documents: &DocumentStore, incidents: &[Incident]) -> Result<()> {
    incidents.iter().try_for_each(|incident| documents.remove_document(&incident.id))
}

fn report_erasure(described: &str, now: u64) -> NewRecord {
    let what = format!("a person had erased: {described}");
    let seed = std::process::id().to_string();
    let kind = RecordKind::Configuration;
    crate::stored_records::to_store(&Record::outside_session(kind, SUBJECT, &what, now, &seed))
}

/// Returns the document that takes the place of a record's: what its columns say.
fn replace_document(stored: &StoredRecord, now: u64) -> Result<ErasedDocument> {
    let record: Record = serde_json::from_str(&stored.record.document)
        .with_context(|| format!("record {}", stored.sequence))?;
    let summary = "erased at the request of a person";
    let mut kept = Record::outside_session(record.kind, "erased", summary, record.at, "");
    kept.details.insert("erased_at".into(), now.into());
    let kept = Record {
        version: record.version,
        id: record.id,
        client: record.client,
        session: record.session,
        agent: record.agent,
        event: record.event,
        step: record.step,
        call: record.call,
        subject: record.subject,
        mode: record.mode,
        ..kept
    };
    Ok(ErasedDocument { sequence: stored.sequence, document: kept.document() })
}
