//! Incidents: what is known of a stop of a session, put together from its journal.
//!
//! The journal is the one truth. A record that stops a session holds what only the session knows ([`State`]), so
//! that everything else follows from the session's records up to it. All of it is masked, since records are. Files,
//! commands and who may do what are not this module's business.

mod actions;
mod impact;
mod recovery;
mod timeline;

pub use actions::{PastAction, Progress};
pub use impact::Impact;
pub use recovery::{Cleanup, Way};
pub use timeline::Moment;

use crate::action::{Goal, Limit, Timestamp, Totals};
use crate::finding::{Detection, Issue, PastIntervention, Response, StopReport};
use crate::record::Record;
use crate::recover::Outcome;
use crate::review::Named;
use crate::session::Session;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// Under this name a record that stops a session holds the session's state.
pub const STATE: &str = "incident";
/// So many of the newest actions are kept.
const ACTIONS: usize = 50;
/// So many of the newest detections are kept.
const DETECTIONS: usize = 50;

/// What only the session knows when it is stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What it is stopped for.
    pub issue: Issue,
    /// When the session was first seen.
    pub started: Timestamp,
    /// The project's folders.
    pub roots: Vec<String>,
    /// What the person asked for, oldest first.
    pub goals: Vec<Goal>,
    /// Limits in force and what is used of them.
    pub limits: Vec<Limit>,
    /// Sums over all agents.
    pub totals: Totals,
    /// Earlier interventions, oldest first.
    pub interventions: Vec<PastIntervention>,
}

/// The state of a session that is stopped for an issue.
#[must_use]
pub fn state(session: &Session, issue: &Issue) -> State {
    State {
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
    /// That of the record that tells of the stop.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// The client.
    pub client: String,
    /// The session.
    pub session: String,
    /// The subagent, if one acted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// How far the host had escalated.
    pub level: u8,
    /// The issue's score, in thousandths.
    pub score: u32,
    /// The session as it was.
    pub state: State,
    /// What patterns noticed in the session, oldest first.
    pub detections: Vec<Named<Detection>>,
    /// The newest actions, oldest first.
    pub actions: Vec<PastAction>,
    /// What became of it, and why.
    pub report: Report,
    /// The ways on.
    pub recovery: Vec<Way>,
    /// What an end for good leaves behind.
    pub cleanup: Cleanup,
    /// All the session's records were there to look at.
    pub whole: bool,
}

/// What became of it, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// In a sentence.
    pub summary: String,
    /// What led to it, oldest first.
    pub timeline: Vec<Moment>,
    /// What it has cost.
    pub impact: Impact,
    /// Why it came to this.
    pub root_cause: String,
    /// What had a part in it.
    pub contributing_factors: Vec<String>,
    /// What to do.
    pub recommendations: Recommendations,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendations {
    /// Now.
    pub immediate: Vec<String>,
    /// Against the next time.
    pub preventive: Vec<String>,
    /// In the configuration.
    pub configuration: Vec<String>,
}

/// Whether a record stops its session.
#[must_use]
pub fn stops(record: &Record) -> bool {
    record.intervention.as_ref().is_some_and(|intervention| intervention.outcome == Outcome::Stop)
}

/// The incident that a record tells of; `earlier` are the session's records before it, oldest first, and `whole`
/// says that none is missing. None for a record that stops nothing.
#[must_use]
pub fn compose(stop: &Record, earlier: &[Record], whole: bool) -> Option<Incident> {
    let intervention = stop.intervention.as_ref().filter(|_| stops(stop))?;
    let state = known(stop);
    let told = match &intervention.response {
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
        cleanup: recovery::cleanup(earlier),
        recovery: recovery::ways(&stop.id, &state.issue, earlier),
        report: report(stop, &state, told, timeline::timeline(stop, earlier), impact),
        actions,
        state,
        whole,
    })
}

/// What the record holds of the session; of one that an older version wrote, what else it tells.
fn known(stop: &Record) -> State {
    let held = stop.details.get(STATE).and_then(|held| serde_json::from_value(held.clone()).ok());
    held.unwrap_or_else(|| State {
        issue: Issue {
            name: stop.intervention.as_ref().map(|intervention| intervention.issue.clone()).unwrap_or_default(),
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

/// The plugin's words; where it had none, since it failed, what the host itself can say.
fn report(stop: &Record, state: &State, told: StopReport, timeline: Vec<Moment>, impact: Impact) -> Report {
    let issue = &state.issue;
    let or = |said: Vec<String>, own: String| if said.is_empty() { vec![own] } else { said };
    Report {
        summary: one_line(&format!("{}: {}", issue.name, issue.summary), 512),
        timeline,
        impact,
        root_cause: if told.root_cause.is_empty() { issue.summary.clone() } else { told.root_cause },
        contributing_factors: told.contributing_factors,
        recommendations: Recommendations {
            immediate: or(told.immediate, format!("Look at what led to it: `portcullis explain {}`", stop.id)),
            preventive: or(told.preventive, format!("Say in the project's instructions what must not happen again: {}", issue.summary)),
            configuration: or(told.configuration, "`portcullis doctor` tells what is wrong with the plugin that writes this report".into()),
        },
    }
}

/// The newest of them.
fn last<T>(mut all: Vec<T>, most: usize) -> Vec<T> {
    all.drain(..all.len().saturating_sub(most));
    all
}
