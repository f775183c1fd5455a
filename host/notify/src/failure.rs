//! The outcome of sending.

use portcullis_core::text::one_line;
use portcullis_credentials::CredentialFailure;
use portcullis_fs::NamedFileError;
use std::fmt;
use std::time::Duration;

/// A channel took the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The receiver and its answer, in one line.
    pub what: String,
}

/// A channel did not take the message, or it is unknown if it did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {fix}")]
pub struct DeliveryFailure {
    /// The next step: a retry, if that makes sense.
    pub next: Next,
    /// The error and its location, in one line.
    pub what: String,
    /// The fix, for a person, in one line.
    pub fix: String,
    /// True if the server refused the credential.
    pub is_of_credential: bool,
}

/// The next step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again, but not before this time if the server named one; it is at most an hour.
    Retry(Option<Duration>),
    /// Nothing changes until a person does something.
    GiveUp,
}

/// The longest delay that a server can impose on us.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
const LINE_BYTES: usize = 300;

impl DeliveryFailure {
    /// Creates a failure that may pass by itself.
    #[must_use]
    pub fn retry(what: impl fmt::Display, fix: impl fmt::Display) -> Self {
        Self::new(Next::Retry(None), &what, &fix)
    }

    /// Creates a failure that lasts until a person does something.
    #[must_use]
    pub fn give_up(what: impl fmt::Display, fix: impl fmt::Display) -> Self {
        Self::new(Next::GiveUp, &what, &fix)
    }

    /// Marks the refusal of a credential.
    #[must_use]
    pub(crate) fn of_credential(self) -> Self {
        Self { is_of_credential: true, ..self }
    }

    /// Sets the earliest time of the retry, if there is one.
    pub(crate) fn not_before(self, wait: Option<Duration>) -> Self {
        match (self.next, wait) {
            (Next::Retry(_), Some(wait)) => {
                Self { next: Next::Retry(Some(wait.min(LONGEST_WAIT))), ..self }
            }
            _ => self,
        }
    }

    fn new(next: Next, what: &dyn fmt::Display, fix: &dyn fmt::Display) -> Self {
        Self {
            next,
            what: one_line(&what.to_string(), LINE_BYTES),
            fix: one_line(&fix.to_string(), LINE_BYTES),
            is_of_credential: false,
        }
    }
}

impl From<CredentialFailure> for DeliveryFailure {
    fn from(failure: CredentialFailure) -> Self {
        Self::give_up(failure.what, failure.fix)
    }
}

impl From<NamedFileError> for DeliveryFailure {
    fn from(error: NamedFileError) -> Self {
        Self::give_up(error.what, error.fix)
    }
}
