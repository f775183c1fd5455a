//! Failures that a caller has to tell apart, in crates whose other errors are words alone.

use std::error::Error;
use std::fmt;

/// A failure with its message, which names the thing, the place and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownFailure {
    /// The named thing does not exist.
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

/// A failure with a way to go on, which a command line shows in a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintedFailure {
    /// The failure itself, in one line.
    pub message: String,
    /// The way to go on, in one line.
    pub hint: String,
}

impl HintedFailure {
    /// Creates a failure from its two parts.
    #[must_use]
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for HintedFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for HintedFailure {}
