//! A person's decisions about a stopped session: what is possible, what a decision writes, and what
//! an ended session leaves behind. The terminal and the service's page share them.
//!
//! A decision is committed to the session's state and to the journal at once, so it applies to every
//! later hook, also of a resumed session. Nothing here asks: the caller knows that it is a person.

use crate::incidents::{IncidentStatus, incident_status};
use crate::quarantine::{self, QuarantineEntry};
use crate::stopped::{self, StopFile};
use crate::stored_records::to_store;
use anyhow::{Error, Result, anyhow, bail};
use portcullis_config::boundary::user_of_state;
use portcullis_core::incident::{Cleanup, Incident};
use portcullis_core::known_failure::HintedFailure;
use portcullis_core::policy::LimitPolicy;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::session::{ResumeConditions, State};
use portcullis_core::text::one_line;
use portcullis_store::{Commit, Home, Store};
use std::fs;
use std::path::Path;

/// Names a person who decides in a terminal, for the journal.
pub const AT_A_TERMINAL: &str = "a person at a terminal";
/// The most bytes of a person's reason.
const MOST_REASON: usize = 256;

/// A person's decision about an incident.
#[derive(Clone, Copy, Debug)]
pub struct IncidentDecision<'a> {
    /// The way on.
    pub terms: ResumeConditions,
    /// The person's reason; empty for none.
    pub reason: &'a str,
    /// Names the person, and how that is known.
    pub by: &'a str,
    /// The checkpoint to which files were put back; empty for none.
    pub checkpoint: &'a str,
}

/// The state that files are put back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorePoint {
    /// The checkpoint.
    pub checkpoint: String,
    /// The reason for that one.
    pub because: String,
}

/// Checks that a decision is possible, before a person is asked anything.
///
/// # Errors
/// Fails if it is not, with the reason.
pub fn check_decision(
    store: &Store,
    home: &Home,
    incident: &Incident,
    terms: ResumeConditions,
) -> Result<()> {
    match (incident_status(store, home, incident)?, terms) {
        (IncidentStatus::Past, _) => bail!(
            "the incident `{}` is out of date: its session has a newer one, retention removed the \
             session, or an older version stopped it",
            incident.id
        ),
        (
            IncidentStatus::Decided(ResumeConditions::Limited | ResumeConditions::Supervised),
            ResumeConditions::Lifted,
        ) => Ok(()),
        (_, ResumeConditions::Lifted) => {
            bail!("neither limits nor supervision of the incident `{}` apply", incident.id)
        }
        _ => Ok(()),
    }
}

/// Returns the checkpoint that the person named, or else the incident's.
///
/// # Errors
/// Fails if there is none.
pub fn find_restore_point(incident: &Incident, named: Option<&str>) -> Result<RestorePoint> {
    if let Some(checkpoint) = named {
        return Ok(RestorePoint { checkpoint: checkpoint.into(), because: "you named it".into() });
    }
    let way = incident.recovery.iter().find_map(|way| Some((way, way.checkpoint.clone()?)));
    let Some((way, checkpoint)) = way else {
        bail!(HintedFailure::new(
            "no checkpoint was taken of what the session did, so nothing can be put back",
            "choose another option",
        ));
    };
    let because = way.because.clone().unwrap_or_else(|| "the incident names it".into());
    Ok(RestorePoint { checkpoint, because })
}

/// Commits a person's decision.
///
/// # Errors
/// Fails if it is not possible any more, or if journal or stop file cannot be written.
pub fn commit_decision(
    store: &mut Store,
    home: &Home,
    limits: &LimitPolicy,
    incident: &Incident,
    decision: &IncidentDecision<'_>,
    at: u64,
) -> Result<()> {
    let record = decision_record(incident, decision, at);
    let note = note_for_agent(incident, decision);
    let known = stopped::read_stop(home, &incident.session)?;
    let (_, stopped) = store.commit_locked(&incident.session, None, |snapshot, _| {
        let mut state =
            State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
        stopped::apply_stop(&mut state, known.as_ref());
        let decided = state.session.decide_incident(&incident.id, decision.terms, &note, limits);
        decided.map_err(|why| {
            anyhow!("the incident `{}` can no longer be decided: {why}", incident.id)
        })?;
        let commit = Commit {
            session_state: Some(state.encode()?.0),
            records: vec![to_store(&record)],
            ..Commit::default()
        };
        Ok::<_, Error>((commit, StopFile::from_state(&incident.session, &state.session, at)))
    })?;
    // The journal takes precedence for the same stop, so whoever is killed here has decided.
    if let Some(stopped) = &stopped {
        stopped::save_stop(home, stopped, known.as_ref())?;
    }
    Ok(())
}

fn decision_record(incident: &Incident, decision: &IncidentDecision<'_>, at: u64) -> Record {
    let IncidentDecision { terms, reason, by, checkpoint } = decision;
    let why = match reason.is_empty() {
        true => String::new(),
        false => format!(": {}", one_line(reason, MOST_REASON)),
    };
    let summary = format!("a person decided about the incident {}: {terms}{why}", incident.id);
    let seed = format!("{}\0{}", incident.id, std::process::id());
    let mut record =
        Record::outside_session(RecordKind::Exception, "incident", &summary, at, &seed);
    record.session.clone_from(&incident.session);
    record.details.insert("incident".into(), incident.id.clone().into());
    record.details.insert("option".into(), terms.as_str().into());
    record.details.insert("by".into(), (*by).into());
    if !checkpoint.is_empty() {
        record.details.insert("checkpoint".into(), (*checkpoint).into());
    }
    record
}

/// Returns the note for the agent.
fn note_for_agent(incident: &Incident, decision: &IncidentDecision<'_>) -> String {
    let why = one_line(&incident.report.summary, 400);
    match decision.terms {
        ResumeConditions::Limited => format!(
            "Portcullis stopped this session ({why}), and a person let it go on. Each limit is \
             half of what it was, and what does more than \
             read and write files of the project is refused until the person lifts that. Do not do \
             again what led to the stop; say what you \
             need."
        ),
        ResumeConditions::Supervised => format!(
            "Portcullis stopped this session ({why}), and a person let it go on under supervision: \
             they approve each write, deletion and \
             command. Read first, then ask for one change at a time. Do not do again what led to the stop."
        ),
        ResumeConditions::RolledBack => format!(
            "Portcullis stopped this session ({why}). A person put the files back as they were at \
             the checkpoint {} and let the \
             session go on. What was done to files since then is undone, although this \
             conversation still mentions it: read them again \
             before you rely on them, and take another way than the one that led to the stop.",
            decision.checkpoint
        ),
        ResumeConditions::Lifted => {
            "A person lifted the terms that applied since this session was stopped: limits and \
             actions are as configured."
                .to_owned()
        }
        ResumeConditions::Aborted => String::new(),
    }
}

/// Returns true if this process may change the files of an incident's session. Behind a boundary they
/// belong to somebody else: the session's events name them and their folders, and this process would
/// find and move what belongs to the service.
#[must_use]
pub fn may_clean_up(home: &Home) -> bool {
    user_of_state(home.path()).is_none()
}

/// Returns what the session leaves behind if it ends: of the files that the agent created, those in
/// the project that still exist. Symbolic links are not followed, and behind a boundary nothing is
/// looked at.
#[must_use]
pub fn list_leftovers(home: &Home, incident: &Incident) -> Cleanup {
    let in_project =
        |path: &&String| incident.state.roots.iter().any(|root| Path::new(path).starts_with(root));
    if !may_clean_up(home) {
        let made = incident.cleanup.made.iter().filter(in_project).cloned().collect();
        return Cleanup { made, ..incident.cleanup.clone() };
    }
    let file = |path: &&String| fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir());
    let made = incident.cleanup.made.iter().filter(in_project).filter(file).cloned().collect();
    Cleanup { made, ..incident.cleanup.clone() }
}

/// Moves the files that the agent created into a quarantine; `None` if there are none, and behind a
/// boundary.
///
/// # Errors
/// Fails if a file cannot be moved.
pub fn quarantine_leftovers(
    home: &Home,
    incident: &Incident,
    left: &Cleanup,
    at: u64,
) -> Result<Option<QuarantineEntry>> {
    if !may_clean_up(home) {
        return Ok(None);
    }
    let what =
        format!("files made in the session {}, which was aborted", one_line(&incident.session, 64));
    let roots = &incident.state.roots;
    quarantine::put_away(home, roots, &left.made, &incident.session, &what, at)
}
