//! Exceptions: one exact action that a person allowed from a terminal, although its review objects.
//!
//! This module tells whether an exception is meant for an action, and makes one from a recorded review.
//! Whether a decision can be lifted at all is said by the decision itself
//! ([`Decision::exceptable`](crate::decide::Decision::exceptable)). An exception never consents on the
//! person's behalf: the client gets an answer without a decision, as for any action that nothing speaks
//! against.

use crate::action::{Action, Operation, Timestamp};
use crate::record::{Record, RecordKind};
use crate::score::Verdict;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One exception; its JSON is the document of the store's grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// Unique among the exceptions of an installation.
    pub id: String,
    /// The tool, as records name it.
    pub tool: String,
    /// The parameters as records hold them: JSON text, masked.
    pub parameters: String,
    /// The folder that the action runs in.
    pub cwd: String,
    /// The one session that it is meant for; none for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The project's folder that it is meant for; none for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    /// It is spent by the first action that it lets run.
    pub once: bool,
    /// From when on it counts.
    pub granted_at: Timestamp,
    /// From when on it counts no more.
    pub expires_at: Timestamp,
    /// Why the person granted it, in their words.
    pub reason: String,
}

/// What a person says of an exception beside the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// As in the exception.
    pub id: String,
    /// As in the exception.
    pub session: Option<String>,
    /// As in the exception.
    pub project: Option<String>,
    /// As in the exception.
    pub once: bool,
    /// As in the exception.
    pub granted_at: Timestamp,
    /// As in the exception.
    pub expires_at: Timestamp,
    /// As in the exception.
    pub reason: String,
}

impl Exception {
    /// The exception from a recorded review.
    ///
    /// # Errors
    /// The record is no review, nothing spoke against its action, no exception can lift what did, or its
    /// parameters were too long to be kept whole.
    pub fn from_review(record: &Record, terms: Terms) -> Result<Self, String> {
        let not = |why: &str| Err(format!("the record `{}` {why}", record.id));
        let (RecordKind::Review, Some(action), Some(decision)) = (record.kind, &record.action, &record.decision) else {
            return not("is no review of an action: name a review, as `portcullis audit show` lists them");
        };
        if decision.verdict == Verdict::Allow {
            return not("had no objection: there is nothing to allow");
        }
        if let Err(why) = decision.exceptable() {
            return not(&format!("cannot be lifted: {why}"));
        }
        if read(&action.parameters).is_none() {
            return not("holds only a part of the action's parameters, since they are larger than 64 KiB: run it yourself");
        }
        let Terms { id, session, project, once, granted_at, expires_at, reason } = terms;
        let (tool, parameters, cwd) = (record.subject.clone(), action.parameters.clone(), action.cwd.clone());
        Ok(Self { id, tool, parameters, cwd, session, project, once, granted_at, expires_at, reason })
    }

    /// Whether it is meant for this action, in this folder, session and moment.
    #[must_use]
    pub fn covers(&self, action: &Action, cwd: &str, session: &str, now: Timestamp) -> bool {
        let holds = self.granted_at <= now && now < self.expires_at;
        let here = self.session.as_deref().is_none_or(|own| own == session)
            && self.project.as_deref().is_none_or(|folder| crate::facts::within(cwd, folder));
        holds && here && self.cwd == cwd && self.tool == one_line(&action.tool, 256) && self.same_parameters(action)
    }

    /// All parameters count, in any order, but the words in which a shell command is described.
    fn same_parameters(&self, action: &Action) -> bool {
        let (Some(mut own), Some(mut other)) = (read(&self.parameters), read(&action.parameters)) else { return false };
        if matches!(action.operation, Operation::Shell(_)) {
            for parameters in [&mut own, &mut other] {
                parameters.retain(|name, _| name != "description");
            }
        }
        own == other
    }
}

/// Parameters that are whole; those that were cut are no JSON.
fn read(parameters: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(parameters).ok()
}
