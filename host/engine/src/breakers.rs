//! The engine's side of the circuit breaker: which file plugins are not run, and the outcome of
//! those that were.
//!
//! The conditions for holding a file, its duration and its storage are the caller's business.

use crate::faults::UnnamedFault;
use portcullis_core::fault::{Fault, FaultKind};
use portcullis_core::plugins::{Identity, PluginResponse};

/// A file that is not run as long as it is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The plugin's name.
    pub name: String,
    /// BLAKE3 of the file that is held, 64 hex digits; another one runs.
    pub digest: String,
    /// The reason, as text, and the end of the hold.
    pub why: String,
}

/// The outcome of a file that was run in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOutcome {
    /// The plugin's name.
    pub name: String,
    /// BLAKE3 of the file, 64 hex digits; empty if it could not be read.
    pub digest: String,
    /// The first fault that it had.
    pub fault: Option<Fault>,
}

/// The circuit breakers of one review.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreakers {
    held: Vec<Hold>,
    asked: Vec<FileOutcome>,
}

impl CircuitBreakers {
    pub(crate) fn hold(&mut self, held: Vec<Hold>) {
        self.held = held;
    }

    /// Clears everything for a new review: nothing is held, nothing was called.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Returns the failure to report for this plugin, if it is held.
    pub(crate) fn held(&self, plugin: &Identity) -> Option<UnnamedFault> {
        let hold = self.held.iter().find(|hold| {
            plugin.foreign && hold.name == plugin.name && hold.digest == plugin.digest
        })?;
        Some(UnnamedFault::new(FaultKind::Held, hold.why.clone()))
    }

    /// Records the outcome of a plugin.
    pub(crate) fn note<T>(&mut self, answer: &PluginResponse<T>) {
        let (plugin, fault) = (&answer.plugin, answer.result.as_ref().err());
        if !plugin.foreign || fault.is_some_and(|fault| fault.kind == FaultKind::Held) {
            return;
        }
        match self.asked.iter_mut().find(|asked| asked.name == plugin.name) {
            Some(asked) => asked.fault = asked.fault.take().or_else(|| fault.cloned()),
            None => self.asked.push(FileOutcome {
                name: plugin.name.clone(),
                digest: plugin.digest.clone(),
                fault: fault.cloned(),
            }),
        }
    }

    pub(crate) fn file_outcomes(&self) -> &[FileOutcome] {
        &self.asked
    }
}
