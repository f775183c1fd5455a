//! The reasons why a sink did not take records.

use portcullis_core::text::one_line;
use portcullis_credentials::CredentialFailure;
use portcullis_fs::NamedFileError;
use portcullis_notify::{DeliveryFailure, Next};
use std::fmt::Display;
use std::time::Duration;

/// A sink did not take the records, or it is unknown if it did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {fix}")]
pub struct SinkFailure {
    /// The kind, from which the next step follows.
    pub problem: SinkProblem,
    /// The error and its place, in one line.
    pub what: String,
    /// The fix, for a person, in one line.
    pub fix: String,
    /// True if the sink refused the credential.
    pub is_of_credential: bool,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkProblem {
    /// It may pass by itself; not before this time, if the sink named one.
    Later(Option<Duration>),
    /// The sink refuses these records; others may be taken.
    Refused,
    /// Nothing is taken until a person does something.
    Settings,
}

const LINE_BYTES: usize = 300;

impl SinkFailure {
    pub(crate) fn later(what: impl Display, fix: impl Display) -> Self {
        Self::new(SinkProblem::Later(None), &what, &fix)
    }

    pub(crate) fn refused(what: impl Display, fix: impl Display) -> Self {
        Self::new(SinkProblem::Refused, &what, &fix)
    }

    pub(crate) fn settings(what: impl Display, fix: impl Display) -> Self {
        Self::new(SinkProblem::Settings, &what, &fix)
    }

    /// Returns the failure of a sink that did not answer before the deadline.
    pub(crate) fn late(place: &str) -> Self {
        Self::later(
            format!("`{place}` did not answer in time"),
            "nothing to do: it will be retried; check the sink and the network if this continues",
        )
    }

    fn new(problem: SinkProblem, what: &dyn Display, fix: &dyn Display) -> Self {
        let (what, fix) =
            (one_line(&what.to_string(), LINE_BYTES), one_line(&fix.to_string(), LINE_BYTES));
        Self { problem, what, fix, is_of_credential: false }
    }
}

impl From<DeliveryFailure> for SinkFailure {
    fn from(failure: DeliveryFailure) -> Self {
        let problem = match failure.next {
            Next::Retry(wait) => SinkProblem::Later(wait),
            Next::GiveUp => SinkProblem::Settings,
        };
        let DeliveryFailure { what, fix, is_of_credential, .. } = failure;
        Self { problem, what, fix, is_of_credential }
    }
}

impl From<CredentialFailure> for SinkFailure {
    fn from(failure: CredentialFailure) -> Self {
        Self::settings(failure.what, failure.fix)
    }
}

impl From<NamedFileError> for SinkFailure {
    fn from(error: NamedFileError) -> Self {
        Self::settings(error.what, error.fix)
    }
}
