//! Exceptions: one exact action that a person allowed from a terminal, although its review objects.
//!
//! This module checks if an exception covers an action, and makes one from a recorded review. The
//! decision itself determines if it can be lifted at all
//! ([`Decision::check_exceptable`](crate::verdict::Decision::check_exceptable)). An exception never
//! gives consent on the person's behalf: the client gets an answer without a decision, as for any
//! action without objections.

use crate::action::{Action, Operation, Timestamp};
use crate::record::{Record, RecordKind};
use crate::score::Verdict;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One exception. Its JSON is the document of the store's grant.
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
    /// The only session that it applies to; none for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The folder of the only project that it applies to; none for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    /// True if the first action that it lets run uses it up.
    pub once: bool,
    /// The time from which it is valid.
    pub granted_at: Timestamp,
    /// The time from which it is no longer valid.
    pub expires_at: Timestamp,
    /// The person's reason for it, in their own words.
    pub reason: String,
}

/// The choices that a person makes for an exception, apart from the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExceptionScope {
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
    /// Makes an exception from a recorded review.
    ///
    /// # Errors
    /// Fails if the record is not a review, nothing objected to its action, the objection cannot be
    /// lifted by an exception, or the parameters were too long to be kept whole.
    pub fn from_review(record: &Record, terms: ExceptionScope) -> Result<Self, String> {
        let not = |why: &str| Err(format!("the record `{}` {why}", record.id));
        let (RecordKind::Review, Some(action), Some(decision)) =
            (record.kind, &record.action, &record.decision)
        else {
            return not(
                "is not a review of an action: name a review, as `portcullis audit show` lists them",
            );
        };
        if decision.verdict == Verdict::Allow {
            return not("had no objection: there is nothing to allow");
        }
        if let Err(why) = decision.check_exceptable() {
            return not(&format!("cannot be lifted: {why}"));
        }
        if read(&action.parameters).is_none() {
            return not(
                "holds only a part of the action's parameters, since they are larger than 64 KiB: run it yourself",
            );
        }
        let ExceptionScope { id, session, project, once, granted_at, expires_at, reason } = terms;
        let (tool, parameters, cwd) =
            (record.subject.clone(), action.parameters.clone(), action.cwd.clone());
        Ok(Self {
            id,
            tool,
            parameters,
            cwd,
            session,
            project,
            once,
            granted_at,
            expires_at,
            reason,
        })
    }

    /// Returns true if it covers this action, in this folder and session, at this time.
    #[must_use]
    pub fn covers_action(&self, action: &Action, cwd: &str, session: &str, now: Timestamp) -> bool {
        let holds = self.granted_at <= now && now < self.expires_at;
        let here = self.session.as_deref().is_none_or(|own| own == session)
            && self.project.as_deref().is_none_or(|folder| crate::facts::is_within(cwd, folder));
        holds
            && here
            && self.cwd == cwd
            // The record that the exception came from holds the tool's name in this form.
            && self.tool == one_line(&action.tool, 256)
            && self.same_parameters(action)
    }

    /// Compares all parameters, in any order, except the text that describes a shell command.
    fn same_parameters(&self, action: &Action) -> bool {
        let (Some(mut own), Some(mut other)) = (read(&self.parameters), read(&action.parameters))
        else {
            return false;
        };
        if matches!(action.operation, Operation::Shell(_)) {
            for parameters in [&mut own, &mut other] {
                parameters.retain(|name, _| name != "description");
            }
        }
        own == other
    }
}

/// Parses parameters that are complete; parameters that were cut are not valid JSON.
fn read(parameters: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(parameters).ok()
}
