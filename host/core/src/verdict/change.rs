//! A change of a decision for a reason that its findings do not contain.

use crate::score::Verdict;

/// One stricter demand on a decision, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictChange {
    /// The verdict that is at least due.
    pub to: Verdict,
    /// The cause, for the list of adjustments.
    pub cause: String,
    /// The reason, for people and the agent.
    pub reason: String,
    /// The reason comes first even if the verdict is as strict already.
    pub leads: bool,
    /// A better way for the agent, if there is one.
    pub alternative: Option<String>,
    /// The reason why no exception can lift the decision from now on.
    pub beyond_exceptions: Option<String>,
}

impl VerdictChange {
    pub(super) fn new(to: Verdict, cause: impl Into<String>, reason: String) -> Self {
        Self {
            to,
            cause: cause.into(),
            reason,
            leads: false,
            alternative: None,
            beyond_exceptions: None,
        }
    }
}
