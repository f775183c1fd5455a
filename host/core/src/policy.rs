//! The operator's policy, as data that the command line read from its configuration.
//!
//! No defaults are hidden elsewhere: every number of the pipeline that can be configured is in this
//! module.

use crate::client::ClientProfile;
use crate::ladder::{FALLBACK, Ladder, default_ladders};
use crate::mask::{MaskPolicy, SecretKind};
use crate::score::{RationalityLevel, RiskLevel, Score, named};
use crate::undo::OnFailure;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

named! {
    /// The effect of a decision.
    Mode {
        /// The decision is enforced.
        Blocking => "blocking",
        /// The decision is enforced, except for small risks: those actions run first, and the agent
        /// gets the review's objections afterwards.
        Async => "async",
        /// The decision is recorded and changes nothing: no refusal, guidance, limit or stop.
        Observe => "observe",
        /// No decision is made: the agent's actions are recorded without a review.
        Off => "off",
    }
}

named! {
    /// The way in which an intervention is chosen.
    Strategy {
        /// From the pattern's mildest answer, one step for each recurrence.
        Progressive => "progressive",
        /// Straight to the answer for the severity.
        PatternSpecific => "pattern_specific",
        /// As a plugin decides; if it fails, as with `progressive`.
        Custom => "custom",
    }
}

named! {
    /// The amount that a record holds. It never decides if there is a record.
    Detail {
        /// Everything, including plugins' debug lines.
        Debug => "debug",
        /// Everything except debug lines.
        Info => "info",
        /// As `info`, but without findings and plugins for allowed actions.
        Warn => "warn",
        /// As `warn`, and also without them for actions with a warning.
        Error => "error",
    }
}

/// Everything that a review depends on besides its input, the session and the plugins.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The effect of decisions.
    pub mode: Mode,
    /// The level thresholds, and the settings that soften a decision.
    pub decision: DecisionPolicy,
    /// The paths in the expected scope besides the project.
    pub scope: ScopePolicy,
    /// Limits at the start of a session.
    pub limits: LimitPolicy,
    /// The settings of interventions.
    pub interventions: InterventionPolicy,
    /// The consequence if an action destroys something that could not be saved before it.
    pub on_failure: OnFailure,
    /// In the mode `async`, the risk below which an action runs before its review is done.
    pub async_threshold: Score,
    /// The amount that a record holds.
    pub detail: Detail,
    /// The values that are masked in addition to secrets.
    pub mask: MaskPolicy,
    /// True if the agent sees the placeholders too, if the client allows a result to be replaced.
    pub mask_results: bool,
    /// True if a change of the client's own settings during a session does not take effect in it.
    pub hold_settings: bool,
    /// The files and folders of the guard itself.
    pub guarded: Vec<GuardedPath>,
    /// The agents' clients that this machine may have, whichever of them runs.
    pub clients: &'static [&'static ClientProfile],
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
            mask: MaskPolicy {
                kinds: vec![
                    SecretKind::Email,
                    SecretKind::PaymentCard,
                    SecretKind::Phone,
                    SecretKind::Iban,
                    SecretKind::NationalId,
                ],
                ..MaskPolicy::default()
            },
            mask_results: false,
            hold_settings: true,
            guarded: Vec::new(),
            clients: &[],
        }
    }
}

/// The level thresholds, and the settings that soften a decision. Thresholds that are out of order
/// are read from the highest down: a lower threshold for a higher level only makes it stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionPolicy {
    /// The thresholds of risk.
    pub risk: RiskThresholds,
    /// The thresholds of rationality.
    pub rationality: RationalityThresholds,
    /// True if the warning about the first action of its kind becomes a note.
    pub first_time: bool,
}

impl Default for DecisionPolicy {
    fn default() -> Self {
        Self {
            risk: RiskThresholds::default(),
            rationality: RationalityThresholds::default(),
            first_time: true,
        }
    }
}

/// The thresholds of the risk levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RiskThresholds {
    /// Below it, an action is allowed unless a rule, pattern or fault objects.
    pub negligible: Score,
    /// The start of medium.
    pub medium: Score,
    /// The start of high.
    pub high: Score,
    /// The start of critical.
    pub critical: Score,
    /// Above it, the risk is named among the reasons.
    pub named: Score,
}

impl Default for RiskThresholds {
    fn default() -> Self {
        let [negligible, medium, high, critical, named] = [300, 600, 800, 950, 700].map(Score::new);
        Self { negligible, medium, high, critical, named }
    }
}

impl RiskThresholds {
    /// Returns the level of a score.
    #[must_use]
    pub fn level_of(&self, score: Score) -> RiskLevel {
        let begins = [
            (self.critical, RiskLevel::Critical),
            (self.high, RiskLevel::High),
            (self.medium, RiskLevel::Medium),
        ];
        begins.iter().find(|(from, _)| score >= *from).map_or(RiskLevel::Low, |(_, level)| *level)
    }

    /// Returns true if a score is too small to matter by itself.
    #[must_use]
    pub fn is_negligible(&self, score: Score) -> bool {
        score < self.negligible && self.level_of(score) == RiskLevel::Low
    }
}

/// The thresholds of the rationality levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RationalityThresholds {
    /// The start of high.
    pub high: Score,
    /// The start of medium; below it the issues are among the reasons.
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
    /// Returns the level of a score. A missing score is not held against the action.
    #[must_use]
    pub fn level_of(&self, score: Option<Score>) -> RationalityLevel {
        match score {
            Some(score) if score < self.medium => RationalityLevel::Low,
            Some(score) if score < self.high => RationalityLevel::Medium,
            _ => RationalityLevel::High,
        }
    }
}

/// A file or folder of the guard. Changing it can switch the guard off, or falsify the data that it
/// keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedPath {
    /// An absolute, normalised path, which for a folder includes everything in it; or, after `**/`,
    /// the end of a path in any location.
    pub path: String,
    /// Its description within a sentence: `the settings of the client`.
    pub what: Cow<'static, str>,
    /// True if it must not be read either.
    pub secret: bool,
    /// True if it exists, so that an action that removes or changes only existing files can affect
    /// it.
    pub present: bool,
    /// The highest folder above it whose removal counts; empty for every one, its own path for
    /// none.
    pub top: String,
    /// True if it is the portcullis program itself: its neighbouring files are not part of the
    /// guard.
    pub program: bool,
}

impl GuardedPath {
    /// Creates a guarded path that exists, may be read, and is guarded together with every folder
    /// above it.
    #[must_use]
    pub fn new(path: impl Into<String>, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: path.into(),
            what: what.into(),
            secret: false,
            present: true,
            top: String::new(),
            program: false,
        }
    }
}

/// The paths in the expected scope besides the project's folders.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopePolicy {
    /// Absolute folders; everything below them is in scope.
    pub folders: Vec<String>,
    /// Globs of what is in scope, instead of the project and the folders; relative ones start at
    /// the project.
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
            "~/.conda/pkgs",
            "~/.ivy2/cache",
            "~/.julia/compiled",
            "~/.kube/cache",
            "~/.node-gyp",
            "~/.terraform.d/plugin-cache",
            "~/Library/Caches",
            "~/Library/Developer/Xcode/DerivedData",
            // Windows paths, in the notation of the command-line reader.
            "/C:/Temp",
            "/C:/tmp",
            "~/AppData/Local/Temp",
        ];
        Self { folders: Vec::new(), paths: Vec::new(), scratch: scratch.map(String::from).to_vec() }
    }
}

/// Limits at the start of a session; interventions can only tighten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitPolicy {
    /// Writes and deletes since the last prompt.
    pub file_operations: u64,
    /// Megabytes of memory of the agent's processes.
    pub memory_mb: u64,
    /// Seconds since the last prompt, without those in which a person was waited for.
    pub execution_time_seconds: u64,
    /// Tokens since the last prompt.
    pub token_usage: u64,
    /// Processes of the agent, alive at once.
    pub processes: u64,
    /// Megabytes of results since the last prompt.
    pub output_mb: u64,
}

/// Except for the file operations, the defaults stop a session that runs away, and no ordinary one.
impl Default for LimitPolicy {
    fn default() -> Self {
        Self {
            file_operations: 100,
            memory_mb: 32 * 1024,
            execution_time_seconds: 8 * 3600,
            token_usage: 5_000_000,
            processes: 1000,
            output_mb: 256,
        }
    }
}

/// The scale of the issues' scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueScale {
    /// The base of a score by severity: low, medium, high, critical.
    pub base: [Score; 4],
    /// The scores from which the second to the fifth kind of intervention are allowed, in ascending
    /// order.
    pub from: [Score; 4],
}

impl Default for IssueScale {
    fn default() -> Self {
        Self {
            base: [200, 500, 800, 1000].map(Score::new),
            from: [300, 500, 700, 900].map(Score::new),
        }
    }
}

/// The settings of interventions.
#[derive(Clone, Debug, PartialEq)]
pub struct InterventionPolicy {
    /// The way in which an intervention is chosen.
    pub strategy: Strategy,
    /// Names of interventions that are switched off.
    pub disabled: Vec<String>,
    /// The most interventions in a session; beyond it guidance is silenced, stops are not.
    pub most: u32,
    /// Milliseconds between two pieces of guidance.
    pub cooldown_ms: u64,
    /// Milliseconds before a recurring issue escalates...
    pub escalation_delay_ms: u64,
    /// ...or this many steps, whichever comes first.
    pub escalation_delay_steps: u64,
    /// The effectiveness from which an answer has worked, so that the level falls.
    pub effective_from: Score,
    /// The scale of the issues' scores.
    pub scale: IssueScale,
    /// Patterns that escalate with each detection, without a delay, if what they go against was
    /// blocked: each is an act of its own.
    pub undelayed: Vec<String>,
    /// The answers to patterns, by the pattern's name.
    pub ladders: BTreeMap<String, Ladder>,
    /// Patterns whose detections raise the session: until a person's next prompt, graver actions
    /// that the person did not request ask.
    pub raising: Vec<String>,
    /// Message templates: an issue's name, then text.
    pub templates: BTreeMap<String, String>,
    /// Plugins that replace the builtin ones: an intervention's name, then the plugin's.
    pub plugins: BTreeMap<String, String>,
    /// The plugin that decides under the strategy `custom`.
    pub decider: Option<String>,
    /// The number of times that an issue is answered by rebuilding the context or returning to a
    /// checkpoint; after that the session is held for a person.
    pub most_retries: u32,
    /// True if files are restored at once when an intervention returns to a checkpoint after an
    /// action.
    pub auto_rollback: bool,
}

impl InterventionPolicy {
    /// Returns the answers to a pattern.
    #[must_use]
    pub fn ladder_of(&self, pattern: &str) -> &Ladder {
        self.ladders.get(pattern).unwrap_or(&FALLBACK)
    }
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
            effective_from: Score::new(600),
            scale: IssueScale::default(),
            undelayed: vec!["blocked_then_bypassed".into()],
            ladders: default_ladders(),
            raising: vec!["instruction_injection".into()],
            templates: BTreeMap::new(),
            plugins: BTreeMap::new(),
            decider: None,
            most_retries: 3,
            auto_rollback: false,
        }
    }
}
