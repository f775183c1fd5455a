//! Faults: named failures inside Portcullis, and their consequences.
//!
//! A fault is never treated as "nothing found". It makes a verdict stricter, by its source's
//! policy.

use crate::score::{Verdict, named};
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// Every way in which a part of the review can fail. The name is stable: records, metrics and
    /// messages use it.
    FaultKind {
        /// The guest trapped (usually a panic).
        Trap => "trap",
        /// It used up its fuel.
        OutOfFuel => "out-of-fuel",
        /// The wall-clock deadline ended it.
        Timeout => "timeout",
        /// It requested more memory, tables, instances or handles than its limit.
        OutOfMemory => "out-of-memory",
        /// It recursed too deep.
        StackOverflow => "stack-overflow",
        /// Its answer was larger than its limit.
        OutputTooLarge => "output-too-large",
        /// Its answer contained an invalid value.
        BadValue => "bad-value",
        /// It used something that the operator did not grant.
        MissingGrant => "missing-grant",
        /// It reported itself that it could not answer.
        Declined => "declined",
        /// Its settings cannot be used.
        BadSettings => "bad-settings",
        /// The file is not a component of a supported kind and version, or cannot be read.
        LoadFailed => "load-failed",
        /// Compiling it exceeded a limit, or ended the process that compiled it.
        CompileLimit => "compile-limit",
        /// It was not run, because the review's time had run out.
        NotRun => "not-run",
        /// It failed too often, so it was not run.
        Held => "held",
        /// The input from the agent's client cannot be read.
        BadInput => "bad-input",
        /// The journal or the session's state cannot be read or written.
        Store => "store",
        /// The configuration cannot be used.
        Configuration => "configuration",
        /// A defect in Portcullis itself.
        Internal => "internal",
    }
}

impl FaultKind {
    /// Returns the mildest consequence, regardless of its source's policy: holding a plugin must
    /// not let actions bypass it.
    #[must_use]
    pub const fn least_reaction(self) -> OnFault {
        match self {
            Self::Held => OnFault::Ask,
            _ => OnFault::Warn,
        }
    }
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The plugin's name, or `host`.
    pub source: String,
    /// Its kind.
    pub kind: FaultKind,
    /// A description: the subject, the place and the fix. At most 1 KiB, control characters
    /// escaped.
    pub detail: String,
    /// Its consequence.
    pub policy: OnFault,
}

impl Fault {
    /// Creates a fault of the host itself, which blocks.
    #[must_use]
    pub fn from_host(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { source: "host".into(), kind, detail: detail.into(), policy: OnFault::Block }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.source, self.kind, self.detail)
    }
}

named! {
    /// The consequence of a plugin's fault for the action. There is no "allow".
    OnFault {
        /// The action runs; agent and person are warned.
        Warn => "warn",
        /// A person decides. The default for third-party plugins.
        Ask => "ask",
        /// The action does not run. The default for builtin plugins.
        Block => "block",
    }
}

impl OnFault {
    /// Returns the least strict verdict that the fault allows.
    #[must_use]
    pub const fn to_verdict(self) -> Verdict {
        match self {
            Self::Warn => Verdict::Warn,
            Self::Ask => Verdict::Ask,
            Self::Block => Verdict::Block,
        }
    }
}
