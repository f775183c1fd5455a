//! The record that a component could not be compiled, so that the next process need not try again.

use crate::compiler::{CompileEnd, CompileLimits};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time for which a failure is believed. Its cause may have been the machine: busy, or short of
/// memory.
pub(crate) const FAILURE_TTL: Duration = Duration::from_secs(60 * 60);

/// A compilation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompileFailure {
    /// The reason.
    pub(crate) end: CompileEnd,
    /// The limits that it was compiled under. With higher ones, it may not fail.
    pub(crate) limits: CompileLimits,
}
