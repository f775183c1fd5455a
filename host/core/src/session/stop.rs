//! A stop of the session, and the terms on which a person let it go on.
//!
//! Only a person's command sets terms; what they demand of an action is judged in [`crate::terms`].

use super::Session;
use crate::finding::Issue;
use crate::policy::LimitPolicy;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// What a person made of a stop.
    Terms {
        /// The session goes on under stricter limits, without dangerous actions.
        Limited => "resume_with_limits",
        /// The files were put back; the session goes on as it was.
        RolledBack => "rollback_and_retry",
        /// The session goes on; a person approves each change.
        Supervised => "manual_intervention",
        /// The session stays stopped for good.
        Aborted => "abort",
        /// Earlier terms were taken back; the session goes on as it was.
        Lifted => "lifted",
    }
}

impl Terms {
    /// They demand something of actions, until a person takes them back.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Limited | Self::Supervised)
    }
}

/// The newest stop of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The incident: the id of the record that tells of the stop.
    pub incident: String,
    /// What it was for.
    pub issue: String,
    /// What a person made of it; none while nobody did.
    pub terms: Option<Terms>,
    /// The session's next step when they did.
    pub decided: u64,
    /// What the agent is told with the next event.
    pub note: Option<String>,
}

impl Session {
    /// Stops the session, as an incident of that id.
    pub fn stop(&mut self, issue: &Issue, incident: &str) {
        self.stopped = Some(one_line(&issue.summary, 512));
        self.stop = Some(Stop { incident: incident.to_owned(), issue: issue.name.clone(), terms: None, decided: 0, note: None });
    }

    /// The terms that a person set.
    #[must_use]
    pub fn terms(&self) -> Option<Terms> {
        self.stop.as_ref().and_then(|stop| stop.terms)
    }

    /// Whether a person has let the session go on, on terms that hold, in spite of what came up: what began before
    /// that stays in the history for a while, and would stop the session at its next step.
    #[must_use]
    pub fn was_decided(&self, issue: &Issue) -> bool {
        let holds = |stop: &&Stop| stop.terms.is_some_and(Terms::holds);
        self.stop.as_ref().filter(holds).is_some_and(|stop| stop.issue == issue.name && issue.first_step < stop.decided)
    }

    /// Carries out what a person decided about a stop. `note` is for the agent.
    ///
    /// # Errors
    /// In words: the session had another stop since, or nothing that this could change.
    pub fn decide(&mut self, incident: &str, terms: Terms, note: &str, policy: &LimitPolicy) -> Result<(), String> {
        let Some(stop) = self.stop.as_mut().filter(|stop| stop.incident == incident) else {
            let newer = self.stop.as_ref().map(|stop| format!("its newest incident is `{}`", stop.incident));
            return Err(newer.unwrap_or_else(|| "its session is not known any more".into()));
        };
        if terms == Terms::Lifted && !stop.terms.is_some_and(Terms::holds) {
            return Err("no terms hold for its session".into());
        }
        (stop.terms, stop.decided) = (Some(terms), self.next_step);
        stop.note = (terms != Terms::Aborted).then(|| note.to_owned());
        if terms == Terms::Aborted {
            self.stopped.get_or_insert_with(|| "a person ended it".into());
            return Ok(());
        }
        (self.stopped, self.held) = (None, None);
        self.limits.iter_mut().for_each(|limit| limit.used = 0);
        match terms {
            Terms::Limited => self.limits.iter_mut().for_each(|limit| limit.maximum = (limit.maximum / 2).max(1)),
            _ => self.limits.iter_mut().for_each(|limit| limit.maximum = policy.of(&limit.quantity).unwrap_or(limit.maximum)),
        }
        Ok(())
    }

    /// What the agent has to be told of a person's decision, once.
    pub fn take_note(&mut self) -> Option<String> {
        self.stop.as_mut()?.note.take()
    }
}
