//! That a component could not be compiled, so that the next process need not find it out again.

use crate::compile::{CompileEnd, CompileLimits};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long it is believed. What was wrong may have been the machine: busy, or short of memory.
pub(crate) const BELIEVED: Duration = Duration::from_secs(60 * 60);

/// A compilation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// Why.
    pub(crate) end: CompileEnd,
    /// What it could use up. With more, it may not fail.
    pub(crate) limits: CompileLimits,
}
