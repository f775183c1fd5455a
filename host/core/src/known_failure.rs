//! Failures that a caller has to tell apart, in crates whose other errors are words alone.

use std::error::Error;
use std::fmt;

/// A failure with its message, which names the thing, the place and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownFailure {
    /// What was named does not exist.
    NotFound(String),
    /// Somebody has to trust it first.
    Untrusted(String),
    /// A sealed file, a lock or a receipt was changed, or another installation wrote it.
    Forged(String),
}

impl fmt::Display for KnownFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(message) | Self::Untrusted(message) | Self::Forged(message) => {
                f.write_str(message)
            }
        }
    }
}

impl Error for KnownFailure {}
