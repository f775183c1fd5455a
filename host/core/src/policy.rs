//! The operator's policy, as data: what the command line read from its configuration.
//!
//! No defaults hide elsewhere: every number of the pipeline that can be configured stands here.

use crate::mask::Kind;
use crate::score::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

named! {
    /// What a decision does.
    Mode {
        /// It holds.
        Blocking => "blocking",
        /// It is recorded and changes nothing: no refusal, guidance, limit or stop.
        Observe => "observe",
    }
}

named! {
    /// How an intervention is chosen.
    Strategy {
        /// From the pattern's mildest answer, one step for each recurrence.
        Progressive => "progressive",
        /// Straight to the answer for the severity.
        PatternSpecific => "pattern_specific",
    }
}

/// Everything that a review depends on besides its input, the session and the plugins.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Whether decisions hold.
    pub mode: Mode,
    /// What lies in the expected scope besides the project.
    pub scope: ScopePolicy,
    /// Limits at the start of a session.
    pub limits: LimitPolicy,
    /// When and how a session is answered.
    pub interventions: InterventionPolicy,
    /// Kinds of personal data that are masked.
    pub personal_data: Vec<Kind>,
    /// A change of the client's own settings during a session does not take effect in it.
    pub hold_settings: bool,
    /// What the guard itself consists of.
    pub guarded: Vec<Guarded>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Blocking,
            scope: ScopePolicy::default(),
            limits: LimitPolicy::default(),
            interventions: InterventionPolicy::default(),
            personal_data: vec![Kind::Email, Kind::PaymentCard],
            hold_settings: true,
            guarded: Vec::new(),
        }
    }
}

/// A file or a folder that the guard consists of: who changes it can switch the guard off, or falsify
/// what it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Absolute and normalised, a folder with all that is in it; or the end of a path wherever it lies,
    /// after `**/`.
    pub path: String,
    /// What it is, for a sentence: `the settings of the client`.
    pub what: String,
    /// It must not be read either.
    pub secret: bool,
    /// It exists, so that what removes or changes only what is there can meet it.
    pub present: bool,
    /// The highest folder above it whose removal counts; empty for every one.
    pub top: String,
    /// It is our own program: what stands beside it is no part of the guard.
    pub program: bool,
}

impl Guarded {
    /// A path that exists, may be read, and is guarded with every folder above it.
    #[must_use]
    pub fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into(), secret: false, present: true, top: String::new(), program: false }
    }
}

/// What lies in the expected scope besides the project's folders.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopePolicy {
    /// Folders, absolute: everything below them is inside.
    pub folders: Vec<String>,
    /// Temporary folders and build caches, absolute or below the home folder (`~/`).
    pub scratch: Vec<String>,
}

impl Default for ScopePolicy {
    fn default() -> Self {
        let scratch = [
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/private/tmp",
            "~/.cache",
            "~/.cargo/registry",
            "~/.cargo/git",
            "~/.npm/_cacache",
            "~/.npm/_logs",
            "~/.gradle/caches",
            "~/.m2/repository",
            "~/go/pkg",
            "~/Library/Caches",
        ];
        Self { folders: Vec::new(), scratch: scratch.map(String::from).to_vec() }
    }
}

/// Limits at the start of a session; interventions can only tighten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitPolicy {
    /// Writes and deletes since the last prompt.
    pub file_operations: u64,
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self { file_operations: 100 }
    }
}

/// When and how a session is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct InterventionPolicy {
    /// How an intervention is chosen.
    pub strategy: Strategy,
    /// Names of interventions that are switched off.
    pub disabled: Vec<String>,
    /// How many a session gets; past it guidance falls silent, stops do not.
    pub most: u32,
    /// Milliseconds between two pieces of guidance.
    pub cooldown_ms: u64,
    /// Milliseconds before an issue that came back escalates...
    pub escalation_delay_ms: u64,
    /// ...or this many steps, whichever comes first.
    pub escalation_delay_steps: u64,
    /// Message templates: an issue's name, then text.
    pub templates: BTreeMap<String, String>,
}

impl Default for InterventionPolicy {
    fn default() -> Self {
        Self {
            strategy: Strategy::Progressive,
            disabled: Vec::new(),
            most: 10,
            cooldown_ms: 30_000,
            escalation_delay_ms: 120_000,
            escalation_delay_steps: 3,
            templates: BTreeMap::new(),
        }
    }
}
