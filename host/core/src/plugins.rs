//! The door between the pipeline and the plugins, as the pipeline sees it.
//!
//! The engine implements it with sandboxed components; tests implement it with closures. The
//! pipeline never learns which. Every answer is still unchecked: `review` does that.

use crate::action::{Action, Context, History, Reading, StepDetail};
use crate::fault::{Fault, FaultKind, OnFault};
use crate::finding::{Assessment, Issue, Report, Response, Situation};
use crate::score::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Which plugin answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name, unique among the plugins that are loaded.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// BLAKE3 of the component's bytes, 64 hex digits.
    pub digest: String,
    /// What its faults mean.
    pub on_fault: OnFault,
    /// Someone else wrote it: it does not speak for the host, so what it says is quoted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// It looks on: its answers are recorded and do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// It looks at the session as a whole: its state is that of all agents of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
}

impl Identity {
    /// A fault of this plugin.
    #[must_use]
    pub fn fault(&self, kind: FaultKind, detail: impl Into<String>) -> Fault {
        Fault { source: self.name.clone(), kind, detail: detail.into(), policy: self.on_fault.max(kind.least()) }
    }
}

named! {
    /// What an operator can grant a plugin.
    Grant {
        /// The machine's clocks.
        Clocks => "clocks",
        /// Random bytes other than those of its digest.
        Random => "random",
        /// Variables of the environment, by name.
        Environment => "environment",
        /// Folders to read.
        Directories => "directories",
        /// Hosts to send requests to.
        Hosts => "hosts",
    }
}

/// What a plugin did with a grant, or was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Which grant.
    pub grant: Grant,
    /// The variable, the file, the clock, the method and the host.
    pub what: String,
    /// How often.
    pub count: u64,
    /// How many bytes came of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Why not, where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One plugin's answer, or the fault that stands for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// Who.
    pub plugin: Identity,
    /// What.
    pub result: Result<T, Fault>,
    /// Its log lines, already escaped and within their budget.
    pub log: Vec<String>,
    /// Fuel that the call used; the same for the same input.
    pub fuel: u64,
    /// What it did with what it is granted; empty for all that are granted nothing.
    pub uses: Vec<Use>,
}

/// Gives a past step in full, or none.
pub type Details<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// The plugins of one review.
pub trait Plugins {
    /// Reads a shell command line in the sandbox.
    ///
    /// # Errors
    /// The reader's fault; the caller judges the text as not understood.
    fn read_shell(&mut self, text: &str, cwd: &str, home: &str) -> Result<Reading, Fault>;

    /// Asks every risk-calculator: ours first, then files, each in the order of their names.
    fn assess(&mut self, action: &Action, context: &Context, details: &Details<'_>) -> Vec<Answer<Assessment>>;

    /// Asks every pattern, in the same order. `states` holds each plugin's own state by name.
    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<Answer<Report>>;

    /// Asks the intervention of that name; none when there is no such plugin.
    fn intervene(&mut self, name: &str, issue: &Issue, situation: &Situation, context: &Context) -> Option<Answer<Response>>;
}
