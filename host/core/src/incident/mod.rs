//! Incidents: reports on the stop of a session, composed from its journal.
//!
//! The journal is the only source of truth. A record that stops a session holds the data that only
//! the session has ([`IncidentState`]), so that everything else follows from the session's records
//! up to it. All of it is masked, since records are. Files, commands and permissions are not part
//! of this module.

mod actions;
mod impact;
mod recovery;
mod timeline;

pub use actions::{ActionProgress, PastAction};
pub use impact::Impact;
pub use recovery::{Cleanup, RecoveryOption};
pub use timeline::IncidentEvent;

use crate::action::{Goal, Limit, Timestamp, Totals};
use crate::client::ClientProfile;
use crate::finding::{Detection, Issue, PastIntervention, Response, StopReport};
use crate::record::Record;
use crate::recover::RecoveryOutcome;
use crate::review::Attributed;
use crate::session::Session;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// The name under which a record that stops a session holds the session's state.
pub const STATE: &str = "incident";
/// The number of newest actions that are kept.
const ACTIONS: usize = 50;
/// The number of newest detections that are kept.
const DETECTIONS: usize = 50;

/// The data that only the session has when it is stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentState {
    /// The issue that it is stopped for.
    pub issue: Issue,
    /// The time when the session was first seen.
    pub started: Timestamp,
    /// The project's folders.
    pub roots: Vec<String>,
    /// The person's requests, oldest first.
    pub goals: Vec<Goal>,
    /// Limits in force and their usage.
    pub limits: Vec<Limit>,
    /// Sums over all agents.
    pub totals: Totals,
    /// Earlier interventions, oldest first.
    pub interventions: Vec<PastIntervention>,
}

/// Returns the state of a session that is stopped for an issue.
#[must_use]
pub fn stop_state(session: &Session, issue: &Issue) -> IncidentState {
    IncidentState {
        issue: issue.clone(),
        started: session.started,
        roots: session.roots.clone(),
        goals: session.goals(),
        limits: session.limits.clone(),
        totals: session.totals,
        interventions: session.interventions.iter().cloned().collect(),
    }
}

/// One stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// The layout of this document.
    pub version: u8,
    /// The id of the record of the stop.
    pub id: String,
    /// The time.
    pub at: Timestamp,
    /// The client.
    pub client: String,
    /// The session.
    pub session: String,
    /// The subagent, if one acted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The host's escalation level.
    pub level: u8,
    /// The issue's score, in thousandths.
    pub score: u32,
    /// The session's state at the stop.
    pub state: IncidentState,
    /// The patterns detected in the session, oldest first.
    pub detections: Vec<Attributed<Detection>>,
    /// The newest actions, oldest first.
    pub actions: Vec<PastAction>,
    /// The consequences and the cause.
    pub report: IncidentReport,
    /// The recovery options.
    pub recovery: Vec<RecoveryOption>,
    /// The leftovers if the session ends permanently.
    pub cleanup: Cleanup,
    /// True if all the session's records were available.
    pub whole: bool,
}

/// The consequences and the cause of a stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentReport {
    /// A summary in one sentence.
    pub summary: String,
    /// The events that led to it, oldest first.
    pub timeline: Vec<IncidentEvent>,
    /// Its impact.
    pub impact: Impact,
    /// The root cause.
    pub root_cause: String,
    /// The factors that contributed to it.
    pub contributing_factors: Vec<String>,
    /// The recommended measures.
    pub recommendations: Recommendations,
}

/// The recommended measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendations {
    /// Immediate measures.
    pub immediate: Vec<String>,
    /// Measures against a recurrence.
    pub preventive: Vec<String>,
    /// Changes to the configuration.
    pub configuration: Vec<String>,
}

/// Returns true if a record stops its session.
#[must_use]
pub fn stops_session(record: &Record) -> bool {
    record
        .intervention
        .as_ref()
        .is_some_and(|intervention| intervention.outcome == RecoveryOutcome::Stop)
}

/// Composes the incident of a record; `earlier` are the session's records before it, oldest first,
/// and `whole` is true if none is missing. `clients` are those whose tools are known. Returns none for
/// a record that does not stop a session.
#[must_use]
pub fn compose_incident(
    stop: &Record,
    earlier: &[Record],
    whole: bool,
    clients: &[&'static ClientProfile],
) -> Option<Incident> {
    let intervention = stop.intervention.as_ref().filter(|_| stops_session(stop))?;
    let state = known(stop);
    let stop_report = match &intervention.response {
        Response::Stop { report, .. } => report.clone(),
        _ => StopReport::default(),
    };
    let detections = earlier.iter().flat_map(|record| record.detections.iter().cloned());
    let actions = last(actions::all(earlier), ACTIONS);
    let impact = impact::impact(&state, stop.at, earlier);
    Some(Incident {
        version: 1,
        id: stop.id.clone(),
        at: stop.at,
        client: stop.client.clone(),
        session: stop.session.clone(),
        agent: stop.agent.clone(),
        level: intervention.level,
        score: intervention.score,
        detections: last(detections.collect(), DETECTIONS),
        cleanup: recovery::cleanup(earlier, clients),
        recovery: recovery::recovery_options(&stop.id, &state.issue, earlier),
        report: report(stop, &state, stop_report, timeline::timeline(stop, earlier), impact),
        actions,
        state,
        whole,
    })
}

/// Returns the session's state from the record; if an older version wrote the record, from its
/// other fields.
fn known(stop: &Record) -> IncidentState {
    let held = stop.details.get(STATE).and_then(|held| serde_json::from_value(held.clone()).ok());
    held.unwrap_or_else(|| IncidentState {
        issue: Issue {
            name: stop
                .intervention
                .as_ref()
                .map(|intervention| intervention.issue.clone())
                .unwrap_or_default(),
            severity: crate::score::Severity::Critical,
            confidence: crate::score::Score::MAX,
            impact: crate::score::Score::MAX,
            first_step: stop.step.unwrap_or_default(),
            summary: stop.summary.clone(),
            evidence: Vec::new(),
            recurrences: 0,
        },
        started: stop.at,
        roots: Vec::new(),
        goals: Vec::new(),
        limits: Vec::new(),
        totals: Totals::default(),
        interventions: Vec::new(),
    })
}

/// Returns the plugin's report; if the plugin failed and has none, the host's own.
fn report(
    stop: &Record,
    state: &IncidentState,
    stop_report: StopReport,
    timeline: Vec<IncidentEvent>,
    impact: Impact,
) -> IncidentReport {
    let issue = &state.issue;
    let or = |said: Vec<String>, own: String| if said.is_empty() { vec![own] } else { said };
    IncidentReport {
        summary: one_line(&format!("{}: {}", issue.name, issue.summary), 512),
        timeline,
        impact,
        root_cause: if stop_report.root_cause.is_empty() {
            issue.summary.clone()
        } else {
            stop_report.root_cause
        },
        contributing_factors: stop_report.contributing_factors,
        recommendations: Recommendations {
            immediate: or(
                stop_report.immediate,
                format!("Look at what led to it: `portcullis explain {}`", stop.id),
            ),
            preventive: or(
                stop_report.preventive,
                format!(
                    "Say in the project's instructions what must not happen again: {}",
                    issue.summary
                ),
            ),
            configuration: or(
                stop_report.configuration,
                "`portcullis doctor` shows what is wrong with the plugin that writes this report"
                    .into(),
            ),
        },
    }
}

/// Returns the newest entries.
fn last<T>(mut all: Vec<T>, most: usize) -> Vec<T> {
    all.drain(..all.len().saturating_sub(most));
    all
}
