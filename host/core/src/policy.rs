//! The operator's policy, as data: what the command line read from its configuration.
//!
//! No defaults hide elsewhere: every number of the pipeline that can be configured stands here.

use crate::action::Quantity;
use crate::mask::Kind;
use crate::score::{RationalityLevel, RiskLevel, Score, named};
use crate::undo::OnFailure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

named! {
    /// What a decision does.
    Mode {
        /// It holds.
        Blocking => "blocking",
        /// It holds, but for small risks: those run first, and what the review objects comes after.
        Async => "async",
        /// It is recorded and changes nothing: no refusal, guidance, limit or stop.
        Observe => "observe",
        /// There is none: what the agent does is recorded, and nobody judges it.
        Off => "off",
    }
}

named! {
    /// How an intervention is chosen.
    Strategy {
        /// From the pattern's mildest answer, one step for each recurrence.
        Progressive => "progressive",
        /// Straight to the answer for the severity.
        PatternSpecific => "pattern_specific",
        /// As a plugin decides; where it fails, as with `progressive`.
        Custom => "custom",
    }
}

named! {
    /// How much a record holds. It never decides whether there is one.
    Detail {
        /// Everything, plugins' debug lines too.
        Debug => "debug",
        /// Everything but those.
        Info => "info",
        /// Of what was allowed, no findings and no plugins.
        Warn => "warn",
        /// Of what was warned about, neither.
        Error => "error",
    }
}

/// Everything that a review depends on besides its input, the session and the plugins.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Whether decisions hold.
    pub mode: Mode,
    /// Where the levels begin, and what softens a decision.
    pub decision: DecisionPolicy,
    /// What lies in the expected scope besides the project.
    pub scope: ScopePolicy,
    /// Limits at the start of a session.
    pub limits: LimitPolicy,
    /// When and how a session is answered.
    pub interventions: InterventionPolicy,
    /// What follows where an action destroys what could not be kept before it.
    pub on_failure: OnFailure,
    /// In the mode `async`, what has a risk below it runs first.
    pub async_threshold: Score,
    /// How much a record holds.
    pub detail: Detail,
    /// Kinds of personal data that are masked.
    pub personal_data: Vec<Kind>,
    /// The agent sees the placeholders too, where the client lets a result be replaced.
    pub mask_results: bool,
    /// A change of the client's own settings during a session does not take effect in it.
    pub hold_settings: bool,
    /// What the guard itself consists of.
    pub guarded: Vec<Guarded>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Blocking,
            decision: DecisionPolicy::default(),
            scope: ScopePolicy::default(),
            limits: LimitPolicy::default(),
            interventions: InterventionPolicy::default(),
            on_failure: OnFailure::Warn,
            async_threshold: Score::new(300),
            detail: Detail::Info,
            personal_data: vec![Kind::Email, Kind::PaymentCard],
            mask_results: false,
            hold_settings: true,
            guarded: Vec::new(),
        }
    }
}

/// Where the levels begin, and what softens a decision. Thresholds that are out of order are read from the
/// highest down: a lower one of a higher level only makes it stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionPolicy {
    /// Of risk.
    pub risk: RiskThresholds,
    /// Of rationality.
    pub rationality: RationalityThresholds,
    /// The warning about the first action of its kind becomes a note.
    pub first_time: bool,
}

impl Default for DecisionPolicy {
    fn default() -> Self {
        Self { risk: RiskThresholds::default(), rationality: RationalityThresholds::default(), first_time: true }
    }
}

/// Where the levels of risk begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RiskThresholds {
    /// Below it, allowed unless a rule, pattern or fault objects.
    pub negligible: Score,
    /// From here medium.
    pub medium: Score,
    /// From here high.
    pub high: Score,
    /// From here critical.
    pub critical: Score,
    /// Above it the risk is named among the reasons.
    pub named: Score,
}

impl Default for RiskThresholds {
    fn default() -> Self {
        let [negligible, medium, high, critical, named] = [300, 600, 800, 950, 700].map(Score::new);
        Self { negligible, medium, high, critical, named }
    }
}

impl RiskThresholds {
    /// The level of a score.
    #[must_use]
    pub fn level(&self, score: Score) -> RiskLevel {
        let begins = [(self.critical, RiskLevel::Critical), (self.high, RiskLevel::High), (self.medium, RiskLevel::Medium)];
        begins.iter().find(|(from, _)| score >= *from).map_or(RiskLevel::Low, |(_, level)| *level)
    }

    /// Whether a score is too small to matter by itself.
    #[must_use]
    pub fn is_negligible(&self, score: Score) -> bool {
        score < self.negligible && self.level(score) == RiskLevel::Low
    }
}

/// Where the levels of rationality begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RationalityThresholds {
    /// From here high.
    pub high: Score,
    /// From here medium; below it the issues are among the reasons.
    pub medium: Score,
    /// Below it the reasons name the score too.
    pub low: Score,
}

impl Default for RationalityThresholds {
    fn default() -> Self {
        let [high, medium, low] = [800, 500, 300].map(Score::new);
        Self { high, medium, low }
    }
}

impl RationalityThresholds {
    /// The level of a score; what could not be scored is not held against the action.
    #[must_use]
    pub fn level(&self, score: Option<Score>) -> RationalityLevel {
        match score {
            Some(score) if score < self.medium => RationalityLevel::Low,
            Some(score) if score < self.high => RationalityLevel::Medium,
            _ => RationalityLevel::High,
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
    /// The highest folder above it whose removal counts; empty for every one, its own path for none.
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
    /// Globs of what is inside, in place of the project and the folders; relative ones begin at the project.
    pub paths: Vec<String>,
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
            "~/.gradle/wrapper",
            "~/.m2/repository",
            "~/.npm/_npx",
            "~/.yarn/cache",
            "~/.bun/install",
            "~/.local/share/pnpm",
            "~/.local/share/uv",
            "~/.local/pipx",
            "~/.local/share/pipx",
            "~/.local/share/virtualenvs",
            "~/.pyenv/versions",
            "~/.rbenv/versions",
            "~/.nvm/versions",
            "~/.asdf/installs",
            "~/.rustup/toolchains",
            "~/.gem/ruby",
            "~/.mix/archives",
            "~/.hex/packages",
            "~/.nuget/packages",
            "~/.pub-cache",
            "~/.stack",
            "~/.cabal/packages",
            "~/.opam/download-cache",
            "~/.ccache",
            "~/go/pkg",
            "~/Library/Caches",
            // Paths of Windows, as the reader of command lines writes them.
            "/C:/Temp",
            "/C:/tmp",
            "~/AppData/Local/Temp",
        ];
        Self { folders: Vec::new(), paths: Vec::new(), scratch: scratch.map(String::from).to_vec() }
    }
}

/// Limits at the start of a session; interventions can only tighten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitPolicy {
    /// Writes and deletes since the last prompt.
    pub file_operations: u64,
    /// Megabytes of memory; carried for plugins.
    pub memory_mb: u64,
    /// Seconds that actions took since the last prompt; counted and carried for plugins.
    pub execution_time_seconds: u64,
    /// Tokens of results since the last prompt; counted and carried for plugins.
    pub token_usage: u64,
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self { file_operations: 100, memory_mb: 512, execution_time_seconds: 300, token_usage: 100_000 }
    }
}

impl LimitPolicy {
    /// The most of a quantity that a session begins with, in the quantity's unit; none for what is not configured.
    #[must_use]
    pub const fn of(&self, quantity: &Quantity) -> Option<u64> {
        match quantity {
            Quantity::FileOperations => Some(self.file_operations),
            Quantity::Memory => Some(self.memory_mb.saturating_mul(1 << 20)),
            Quantity::Time => Some(self.execution_time_seconds.saturating_mul(1000)),
            Quantity::Tokens => Some(self.token_usage),
            Quantity::BatchSize | Quantity::Other(_) => None,
        }
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
    /// Plugins that take the place of the builtin ones: an intervention's name, then the plugin's.
    pub plugins: BTreeMap<String, String>,
    /// The plugin that decides, with the strategy `custom`.
    pub decider: Option<String>,
    /// How often an issue is answered by building the context up anew or going back to a checkpoint; after that the
    /// session is held for a person.
    pub most_retries: u32,
    /// Files go back at once, where an intervention goes back to a checkpoint after an action.
    pub auto_rollback: bool,
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
            plugins: BTreeMap::new(),
            decider: None,
            most_retries: 3,
            auto_rollback: false,
        }
    }
}
