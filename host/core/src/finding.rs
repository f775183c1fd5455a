//! Answers of plugins: assessments, detections, responses.
//!
//! These are the shapes of `wit/plugin/{risk-calculator,pattern,intervention,audit-exporter}.wit`
//! on the host's side, documented there. They hold any value that a plugin returned; `review`
//! checks them.
#![allow(missing_docs, reason = "each item is documented in wit/plugin")]

use crate::action::{Attributes, Limit, Timestamp, Totals};
use crate::score::{Score, Severity, Verdict, named};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub kind: String,
    pub value: String,
    pub step: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    pub risk: Option<Risk>,
    pub rationality: Option<Rationality>,
    pub side_effects: Option<Vec<SideEffect>>,
    pub rulings: Vec<Ruling>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    pub score: Score,
    pub factors: Vec<Factor>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    pub id: String,
    pub kind: FactorKind,
    pub weight: Score,
    pub reason: String,
    pub evidence: Vec<Evidence>,
}

named! {
    FactorKind {
        Base => "base",
        Scope => "scope",
        Repetition => "repetition",
        Privilege => "privilege",
        Form => "form",
        Custom => "custom",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rationality {
    pub alignment: Option<Score>,
    pub progression: Option<Score>,
    pub efficiency: Option<Score>,
    pub completeness: Option<Score>,
    pub issues: Vec<String>,
    pub suggestions: Vec<String>,
}

impl Rationality {
    /// Returns the mean of the components that are present.
    #[must_use]
    pub fn score(&self) -> Option<Score> {
        let present: Vec<Score> =
            [self.alignment, self.progression, self.efficiency, self.completeness]
                .into_iter()
                .flatten()
                .collect();
        Score::mean_of(&present)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideEffect {
    pub kind: SideEffectKind,
    pub target: String,
    pub severity: Severity,
    pub reversible: bool,
    pub mitigation: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideEffectKind {
    FileWrite,
    FileDeletion,
    SystemChange,
    Process,
    Network,
    ResourceUse,
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    pub rule: String,
    pub verdict: Verdict,
    pub severity: Severity,
    pub reason: String,
    pub evidence: Vec<Evidence>,
    pub alternatives: Vec<String>,
    pub rewrite: Option<Rewrite>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewrite {
    pub edits: Vec<Edit>,
    pub explanation: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub parameter: String,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    SetText(String),
    SetInteger(i64),
    SetFlag(bool),
    Splice { start: u32, end: u32, text: String },
    Remove,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub detections: Vec<Detection>,
    pub state: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    pub pattern: String,
    pub severity: Severity,
    pub confidence: Score,
    pub impact: Score,
    pub first_step: u64,
    pub summary: String,
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub name: String,
    pub severity: Severity,
    pub confidence: Score,
    pub impact: Score,
    pub first_step: u64,
    pub summary: String,
    pub evidence: Vec<Evidence>,
    pub recurrences: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Situation {
    pub step: u64,
    pub level: u8,
    pub score: u32,
    pub totals: Totals,
    pub checkpoints: Vec<Checkpoint>,
    pub past: Vec<PastIntervention>,
    pub recent: Vec<String>,
    pub templates: Attributes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: String,
    pub step: u64,
    pub at: Timestamp,
    pub success_rate: Score,
    pub unsafe_because: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastIntervention {
    pub kind: String,
    pub issue: String,
    pub step: u64,
    pub at: Timestamp,
    pub effectiveness: Option<Score>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    Guide(Guidance),
    Rollback { checkpoint: String, guidance: Guidance },
    Stop { message: String, report: StopReport },
    RecoveryNeeded { reason: String, steps: Vec<String> },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guidance {
    pub messages: Vec<String>,
    pub background: Vec<Background>,
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    pub title: String,
    pub text: String,
    pub emphasised: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopReport {
    pub root_cause: String,
    pub contributing_factors: Vec<String>,
    pub immediate: Vec<String>,
    pub preventive: Vec<String>,
    pub configuration: Vec<String>,
}

/// One record of the journal, as an exporter gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    pub sequence: u64,
    pub id: String,
    pub at: Timestamp,
    pub kind: String,
    pub session: String,
    pub agent: Option<String>,
    pub subject: String,
    pub summary: String,
    pub decision: Option<AuditDecision>,
    pub detections: Vec<AuditDetection>,
    pub faults: Vec<AuditFault>,
    pub previous: String,
    pub hash: String,
    pub document: String,
    pub attributes: Attributes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditDecision {
    pub verdict: Verdict,
    pub risk: Score,
    pub rationality: Option<Score>,
    pub confidence: Score,
    pub reasons: Vec<String>,
    pub sources: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditDetection {
    pub pattern: String,
    pub severity: Severity,
    pub confidence: Score,
    pub impact: Score,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditFault {
    pub source: String,
    pub name: String,
    pub detail: String,
}

/// An exporter's output for some records.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    pub bytes: Vec<u8>,
    pub content_type: String,
}
