//! The interface between the pipeline and the plugins, as the pipeline sees it.
//!
//! The engine implements it with sandboxed components; tests implement it with closures. The
//! pipeline cannot tell them apart. Every answer is still unchecked: `review` checks them.

use crate::action::{Action, Context, History, Reading, StepDetail};
use crate::fault::{Fault, FaultKind, OnFault};
use crate::finding::{Assessment, Issue, Report, Response, Situation};
use crate::run_files::ShellPlace;
use crate::score::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The plugin that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name, unique among the plugins that are loaded.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// BLAKE3 of the component's bytes, 64 hex digits.
    pub digest: String,
    /// The consequence of its faults.
    pub on_fault: OnFault,
    /// True if a third party wrote it: it does not speak for the host, so its words are quoted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// True if it runs in shadow mode: its answers are recorded and do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// True if it observes the session as a whole: its state is shared by all agents of the
    /// session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
}

impl Identity {
    /// Creates a fault of this plugin.
    #[must_use]
    pub fn new_fault(&self, kind: FaultKind, detail: impl Into<String>) -> Fault {
        Fault {
            source: self.name.clone(),
            kind,
            detail: detail.into(),
            policy: self.on_fault.max(kind.least_reaction()),
        }
    }
}

named! {
    /// The permissions that an operator can grant a plugin.
    Grant {
        /// The machine's clocks.
        Clocks => "clocks",
        /// Random bytes other than those derived from its digest.
        Random => "random",
        /// Variables of the environment, by name.
        Environment => "environment",
        /// Folders to read.
        Directories => "directories",
        /// Hosts to send requests to.
        Hosts => "hosts",
    }
}

/// A use of a grant by a plugin, or a refusal of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantUse {
    /// The grant.
    pub grant: Grant,
    /// The object of the use: the variable, the file, the clock, the method and the host.
    pub what: String,
    /// The number of uses.
    pub count: u64,
    /// The bytes that were returned.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// The reason, if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One plugin's answer, or the fault in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginResponse<T> {
    /// The plugin.
    pub plugin: Identity,
    /// The answer.
    pub result: Result<T, Fault>,
    /// Its log lines, already escaped and within their budget.
    pub log: Vec<String>,
    /// Fuel that the call used. It is the same for the same input.
    pub fuel: u64,
    /// The uses of its grants; empty for plugins without grants.
    pub uses: Vec<GrantUse>,
}

/// Returns a past step in full, if it is known.
pub type Details<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// The plugins of one review.
pub trait Plugins {
    /// Reads a shell command line in the sandbox.
    ///
    /// # Errors
    /// Fails with the reader's fault; the caller then treats the text as not understood.
    fn read_shell(&mut self, text: &str, place: &ShellPlace<'_>) -> Result<Reading, Fault>;

    /// Asks every risk-calculator: builtin ones first, then files, each group in the order of its
    /// names.
    fn assess(
        &mut self,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Assessment>>;

    /// Asks every pattern, in the same order. `states` holds each plugin's own state by name.
    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Report>>;

    /// Asks the intervention of that name; returns none if no such plugin exists.
    fn intervene(
        &mut self,
        name: &str,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        details: &Details<'_>,
    ) -> Option<PluginResponse<Response>>;
}
