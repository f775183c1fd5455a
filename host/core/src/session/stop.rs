//! A stop of the session, and the terms on which a person resumed it.
//!
//! Only a person's command sets terms; [`crate::terms`] judges their demands on an action.

use super::Session;
use crate::finding::Issue;
use crate::policy::LimitPolicy;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// A person's decision about a stop.
    ResumeConditions {
        /// The session resumes under stricter limits, without dangerous actions.
        Limited => "resume_with_limits",
        /// The files were restored; the session resumes as before.
        RolledBack => "rollback_and_retry",
        /// The session resumes; a person approves each change.
        Supervised => "manual_intervention",
        /// The session stays stopped permanently.
        Aborted => "abort",
        /// Earlier terms were revoked; the session continues as before.
        Lifted => "lifted",
    }
}

impl ResumeConditions {
    /// Returns true for terms that make demands on actions, until a person revokes them.
    #[must_use]
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Limited | Self::Supervised)
    }
}

/// The newest stop of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The incident: the id of the stop's record.
    pub incident: String,
    /// The issue that it was for.
    pub issue: String,
    /// A person's decision about it; none until one is made.
    pub terms: Option<ResumeConditions>,
    /// The session's next step at the time of the decision.
    pub decided: u64,
    /// The message that the agent gets with the next event.
    pub note: Option<String>,
}

impl Session {
    /// Stops the session, as an incident of that id.
    pub fn stop_for(&mut self, issue: &Issue, incident: &str) {
        self.stopped = Some(one_line(&issue.summary, 512));
        self.stop = Some(Stop {
            incident: incident.to_owned(),
            issue: issue.name.clone(),
            terms: None,
            decided: 0,
            note: None,
        });
    }

    /// Returns the terms that a person set.
    #[must_use]
    pub fn terms(&self) -> Option<ResumeConditions> {
        self.stop.as_ref().and_then(|stop| stop.terms)
    }

    /// Returns true if a person has resumed the session on terms that hold, in spite of the issue.
    /// An issue that began before that stays in the history for a while, and would otherwise stop
    /// the session at its next step.
    #[must_use]
    pub fn was_decided(&self, issue: &Issue) -> bool {
        let holds = |stop: &&Stop| stop.terms.is_some_and(ResumeConditions::is_held);
        self.stop
            .as_ref()
            .filter(holds)
            .is_some_and(|stop| stop.issue == issue.name && issue.first_step < stop.decided)
    }

    /// Carries out a person's decision about a stop. `note` is for the agent.
    ///
    /// # Errors
    /// Fails, with a message, if the session had another stop since, or has nothing that this could
    /// change.
    pub fn decide_incident(
        &mut self,
        incident: &str,
        terms: ResumeConditions,
        note: &str,
        policy: &LimitPolicy,
    ) -> Result<(), String> {
        let Some(stop) = self.stop.as_mut().filter(|stop| stop.incident == incident) else {
            let newer = self
                .stop
                .as_ref()
                .map(|stop| format!("its newest incident is `{}`", stop.incident));
            return Err(newer.unwrap_or_else(|| "its session is not known any more".into()));
        };
        if terms == ResumeConditions::Lifted && !stop.terms.is_some_and(ResumeConditions::is_held) {
            return Err("no terms apply to its session".into());
        }
        (stop.terms, stop.decided) = (Some(terms), self.next_step);
        stop.note = (terms != ResumeConditions::Aborted).then(|| note.to_owned());
        if terms == ResumeConditions::Aborted {
            self.stopped.get_or_insert_with(|| "a person ended it".into());
            return Ok(());
        }
        (self.stopped, self.held) = (None, None);
        self.restart_usage();
        self.calm_steps = 0;
        self.limit_changes.clear();
        // The time until the person decided is not the agent's.
        self.clock.rest();
        match terms {
            ResumeConditions::Limited => {
                self.limits.iter_mut().for_each(|limit| limit.maximum = (limit.maximum / 2).max(1))
            }
            _ => self.begin_limits(policy),
        }
        Ok(())
    }

    /// Takes the message to the agent about a person's decision, which is delivered once.
    pub fn take_note(&mut self) -> Option<String> {
        self.stop.as_mut()?.note.take()
    }
}
