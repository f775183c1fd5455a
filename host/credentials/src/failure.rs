//! The reasons why a credential cannot be read or kept.

use portcullis_core::text::one_line;
use portcullis_fs::{NamedFileError, SealError};
use std::fmt::Display;
use std::io;

/// A credential cannot be read or kept. It repeats nothing of a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {fix}")]
pub struct CredentialFailure {
    /// The error and its place, in one line.
    pub what: String,
    /// The fix, for a person, in one line.
    pub fix: String,
}

/// The most bytes of a line.
const LINE_BYTES: usize = 300;

impl CredentialFailure {
    /// Creates a failure.
    #[must_use]
    pub fn new(what: impl Display, fix: impl Display) -> Self {
        Self {
            what: one_line(&what.to_string(), LINE_BYTES),
            fix: one_line(&fix.to_string(), LINE_BYTES),
        }
    }

    /// Returns the failure of the store's index.
    pub(crate) fn of_index(path: &std::path::Path, error: &SealError) -> Self {
        let fix = match error {
            SealError::Forged => "remove it, and set the credentials again",
            SealError::TooLarge(_) => "remove credentials that nobody uses",
            SealError::Io(_) => "look at the file and its folder",
        };
        Self::new(format!("the list of credentials `{}`: {error}", path.display()), fix)
    }

    /// Returns the failure of a folder or a file of the store.
    pub(crate) fn of_system(path: &std::path::Path, error: &io::Error) -> Self {
        if let io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded = error.kind() {
            let what = format!("no room left to write `{}`", path.display());
            return Self::new(what, "free disk space on its volume");
        }
        Self::new(
            format!("`{}` cannot be written ({error})", path.display()),
            "look at the folder and its permissions",
        )
    }
}

impl From<NamedFileError> for CredentialFailure {
    fn from(error: NamedFileError) -> Self {
        Self::new(error.what, error.fix)
    }
}
