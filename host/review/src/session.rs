//! A recorded session under review: its state is kept here instead of in a store.

use crate::recording::RecordedEvent;
use crate::reviewer::{Disk, PluginObserver, ReviewContext, Reviewer};
use crate::step_detail;
use crate::timeline::ActiveInterventions;
use crate::workspace::reported::ReportedDisk;
use portcullis_core::action::StepDetail;
use portcullis_core::policy::LimitPolicy;
use portcullis_core::record::Record;
use portcullis_core::session::State;
use portcullis_core::throttle::is_tightened;
use portcullis_core::undo::RecordedUndo;
use std::collections::BTreeMap;

/// The most steps that are kept. Plugins may ask only for steps of the history that they were
/// given, which is shorter.
const KEPT_STEPS: u64 = 256;

/// The records of each step, by the agent that took it.
type Documents = BTreeMap<(Option<String>, u64), Vec<String>>;

/// A session's state during a replay, as the store would hold it.
#[derive(Default)]
pub struct ReviewSession {
    shared: portcullis_core::session::Session,
    agents: BTreeMap<Option<String>, portcullis_core::session::AgentState>,
    documents: Documents,
    reported: ReportedDisk,
}

impl ReviewSession {
    /// Reviews the next event.
    pub fn review_step(&mut self, item: &RecordedEvent, reviewer: &mut Reviewer) -> Vec<Record> {
        self.step_observed(item, reviewer, None)
    }

    /// Reviews the next event, and passes the plugins' answers to an observer.
    pub fn step_observed(
        &mut self,
        item: &RecordedEvent,
        reviewer: &mut Reviewer,
        observer: Option<&mut dyn PluginObserver>,
    ) -> Vec<Record> {
        let agent = item.event.agent.clone();
        let state = State {
            session: std::mem::take(&mut self.shared),
            agent: self.agents.remove(&agent).unwrap_or_default(),
        };
        self.reported.follow(item.makes.as_deref());
        let documents = &self.documents;
        let details = |step: u64| find_step(documents, &agent, step);
        let seen = item.seen.as_ref();
        let kept = RecordedUndo(seen.and_then(|seen| seen.kept.as_ref()));
        let around = ReviewContext {
            disk: seen
                .map_or(Disk::Reported(&self.reported), |seen| Disk::Recorded(&seen.observed)),
            home: seen.and_then(|seen| seen.home.as_deref()),
            undo: Some(&kept),
            measured: seen.and_then(|seen| seen.measured.as_ref()),
            ..ReviewContext::default()
        };
        let reviewed =
            reviewer.review_with_observer(&item.event, state, item.at, &around, &details, observer);
        self.shared = reviewed.state.session;
        for record in &reviewed.records {
            if let Some(step) = record.step {
                self.documents.entry((agent.clone(), step)).or_default().push(record.document());
                self.documents.retain(|(who, known), _| {
                    *who != agent || known.saturating_add(KEPT_STEPS) > step
                });
            }
        }
        self.agents.insert(agent, reviewed.state.agent);
        reviewed.records
    }

    /// Returns the project's folder, once an event has named it.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.shared.roots.first().map(String::as_str)
    }

    /// Returns the state that its agents share.
    pub const fn shared_session(&mut self) -> &mut portcullis_core::session::Session {
        &mut self.shared
    }

    /// Returns a past step of an agent in full.
    #[must_use]
    pub fn find_step(&self, agent: Option<&str>, step: u64) -> Option<StepDetail> {
        find_step(&self.documents, &agent.map(str::to_owned), step)
    }

    /// Returns the newest actions of an agent, one line each.
    pub fn recent_steps(&self, agent: Option<&str>) -> Vec<String> {
        let agent = self.agents.get(&agent.map(str::to_owned));
        agent.map(|agent| agent.recent.iter().cloned().collect()).unwrap_or_default()
    }

    /// Returns the restrictions that interventions have left in force so far.
    pub fn active_interventions(&self, policy: &LimitPolicy) -> ActiveInterventions {
        let configured = self.shared.configured_limits(policy);
        let tightened = self.shared.limits.iter().filter(|limit| is_tightened(limit, &configured));
        ActiveInterventions {
            limits: tightened.cloned().collect(),
            held: self.shared.held.clone(),
            stopped: self.shared.stopped.clone(),
        }
    }
}

fn find_step(documents: &Documents, agent: &Option<String>, step: u64) -> Option<StepDetail> {
    let documents = documents.get(&(agent.clone(), step))?;
    step_detail::parse_step(documents.iter().map(String::as_str))
}
