//! How sending ended.

use portcullis_core::text::one_line;
use std::fmt;
use std::time::Duration;

/// A channel took the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Who said what, in one line.
    pub what: String,
}

/// A channel did not take the message, or nobody knows whether it did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {mend}")]
pub struct Failure {
    /// Whether trying again makes sense.
    pub next: Next,
    /// What went wrong and where, in one line.
    pub what: String,
    /// What a person can do about it, in one line.
    pub mend: String,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again, not before this time where the server named one; it is at most an hour.
    Retry(Option<Duration>),
    /// Nothing changes until a person does something.
    GiveUp,
}

/// The longest that a server can have us wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
const LINE_BYTES: usize = 300;

impl Failure {
    pub(crate) fn retry(what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self::new(Next::Retry(None), &what, &mend)
    }

    pub(crate) fn give_up(what: impl fmt::Display, mend: impl fmt::Display) -> Self {
        Self::new(Next::GiveUp, &what, &mend)
    }

    /// Not before then, where it is tried again at all.
    pub(crate) fn not_before(self, wait: Option<Duration>) -> Self {
        match (self.next, wait) {
            (Next::Retry(_), Some(wait)) => Self { next: Next::Retry(Some(wait.min(LONGEST_WAIT))), ..self },
            _ => self,
        }
    }

    fn new(next: Next, what: &dyn fmt::Display, mend: &dyn fmt::Display) -> Self {
        Self { next, what: one_line(&what.to_string(), LINE_BYTES), mend: one_line(&mend.to_string(), LINE_BYTES) }
    }
}
