//! Faults: what went wrong inside us, named, and what follows from it.
//!
//! A fault is never "nothing found". It makes a verdict stricter by its source's policy.

use crate::score::{Verdict, named};
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// Every way in which a part of the review can fail. The name is stable: it stands in records,
    /// metrics and messages.
    FaultKind {
        /// The guest trapped (a panic, mostly).
        Trap => "trap",
        /// It used up its fuel.
        OutOfFuel => "out-of-fuel",
        /// The wall-clock backstop ended it.
        Timeout => "timeout",
        /// It wanted more memory, tables, instances or handles than it may have.
        OutOfMemory => "out-of-memory",
        /// It recursed too deep.
        StackOverflow => "stack-overflow",
        /// It answered more than it may.
        OutputTooLarge => "output-too-large",
        /// It answered something that cannot be.
        BadValue => "bad-value",
        /// It wanted what the operator did not grant.
        MissingGrant => "missing-grant",
        /// It said itself that it could not answer.
        Declined => "declined",
        /// Its settings cannot be used.
        BadSettings => "bad-settings",
        /// The file is no component of a kind and version that we load, or cannot be read.
        LoadFailed => "load-failed",
        /// Compiling it passed a limit, or ended the process that compiled it.
        CompileLimit => "compile-limit",
        /// It was not run, because the review's time was up.
        NotRun => "not-run",
        /// It failed too often, so it was not run.
        Held => "held",
        /// What the agent's client sent cannot be read.
        BadInput => "bad-input",
        /// The journal or the session's state cannot be read or written.
        Store => "store",
        /// The configuration cannot be used.
        Configuration => "configuration",
        /// A defect of ours.
        Internal => "internal",
    }
}

impl FaultKind {
    /// The mildest that it may mean, whatever its source's policy: a plugin that is held must not be out of the way.
    #[must_use]
    pub const fn least(self) -> OnFault {
        match self {
            Self::Held => OnFault::Ask,
            _ => OnFault::Warn,
        }
    }
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The plugin's name, or `host`.
    pub source: String,
    /// What kind of thing.
    pub kind: FaultKind,
    /// In words: the thing, the place and the mend. At most 1 KiB, control characters escaped.
    pub detail: String,
    /// What follows from it.
    pub policy: OnFault,
}

impl Fault {
    /// A fault of the host's own: it blocks.
    #[must_use]
    pub fn host(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { source: "host".into(), kind, detail: detail.into(), policy: OnFault::Block }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.source, self.kind, self.detail)
    }
}

named! {
    /// What a plugin's fault means for the action. There is no "allow".
    OnFault {
        /// The action runs; agent and person are told.
        Warn => "warn",
        /// A person decides. The default for third-party plugins.
        Ask => "ask",
        /// The action does not run. The default for builtin plugins.
        Block => "block",
    }
}

impl OnFault {
    /// The least strict verdict that the fault leaves.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Warn => Verdict::Warn,
            Self::Ask => Verdict::Ask,
            Self::Block => Verdict::Block,
        }
    }
}
