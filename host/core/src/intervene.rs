//! Whether and how a session is answered: from issues to the intervention that is due.
//!
//! The controller scores an issue, looks up the answer in the ladder of its pattern, and keeps the
//! delays. Wording and shaping are the intervention plugins' work; carrying it out is `recover`'s.

use crate::decide::Decision;
use crate::finding::{Detection, Issue, PastIntervention, Response};
use crate::policy::{InterventionPolicy, Strategy};
use crate::review::{Findings, Named, RULE};
use crate::score::{Score, Severity};
use crate::session::{IssueState, Session};
use crate::text::cut;
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// The interventions, from mildest to sternest.
    Kind {
        /// Guidance.
        SoftCorrection => "soft_correction",
        /// The request, its constraints and boundaries once more.
        ContextReinforcement => "context_reinforcement",
        /// New limits.
        ResourceThrottling => "resource_throttling",
        /// The files as they were.
        CheckpointRollback => "checkpoint_rollback",
        /// The end of the session.
        EmergencyStop => "emergency_stop",
    }
}

impl Kind {
    /// The builtin plugin that does it: the same name with hyphens.
    #[must_use]
    pub fn plugin(self) -> String {
        self.as_str().replace('_', "-")
    }

    /// What a response amounts to, whoever gave it.
    #[must_use]
    pub const fn of(response: &Response) -> Self {
        match response {
            Response::Guide(guidance) if !guidance.limits.is_empty() => Self::ResourceThrottling,
            Response::Guide(guidance) if !guidance.background.is_empty() => Self::ContextReinforcement,
            Response::Guide(_) => Self::SoftCorrection,
            Response::Rollback { .. } | Response::RecoveryNeeded { .. } => Self::CheckpointRollback,
            Response::Stop { .. } => Self::EmergencyStop,
        }
    }

    /// It is words alone, which the cooldown and the number of interventions silence.
    #[must_use]
    pub fn is_guidance(self) -> bool {
        self < Self::ResourceThrottling
    }

    /// This kind and all milder ones, sternest first.
    pub fn and_milder(self) -> impl Iterator<Item = Self> {
        Self::ALL.iter().rev().copied().filter(move |kind| *kind <= self)
    }
}

/// The answers to a pattern by column: low, medium, high, critical.
fn ladder(issue: &str) -> [Kind; 4] {
    use Kind::{CheckpointRollback as R, ContextReinforcement as C, EmergencyStop as E, ResourceThrottling as T, SoftCorrection as S};
    match issue {
        "scope_creep" | "blocked_then_bypassed" => [C, T, E, E],
        "resource_spiral" => [T, R, E, E],
        "hallucination" | "instruction_injection" => [C, R, E, E],
        "secret_egress" => [C, E, E, E],
        _ => [S, C, R, R],
    }
}

/// An intervention that is due.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// What it answers.
    pub issue: Issue,
    /// The sternest kind that it may be.
    pub kind: Kind,
    /// How far the host has escalated.
    pub level: u8,
    /// The score, in thousandths.
    pub score: u32,
    /// The cooldown or the session's number of interventions silences guidance.
    pub quiet: bool,
}

impl Due {
    /// A rule was violated, and nobody decides otherwise than the host.
    #[must_use]
    pub fn is_of_a_rule(&self) -> bool {
        self.issue.name.starts_with(RULE)
    }
}

/// What came up: detections, and a rule whose violation is critical.
#[must_use]
pub fn issues(findings: &Findings, decision: Option<&Decision>, step: u64) -> Vec<Issue> {
    let mut issues: Vec<Issue> = findings.detections.iter().map(from_detection).collect();
    let stop = decision.and_then(|decision| decision.stops.as_ref());
    let objection = stop
        .and_then(|rule| findings.objections.iter().find(|objection| &objection.rule == rule && objection.severity == Severity::Critical));
    if let Some(objection) = objection {
        issues.push(Issue {
            name: format!("{RULE}{}", cut(&objection.rule, 128)),
            severity: Severity::Critical,
            confidence: Score::MAX,
            impact: Score::MAX,
            first_step: step,
            summary: objection.reason.clone(),
            evidence: Vec::new(),
            recurrences: 0,
        });
    }
    issues
}

fn from_detection(named: &Named<Detection>) -> Issue {
    let detection = &named.finding;
    Issue {
        name: detection.pattern.clone(),
        severity: detection.severity,
        confidence: detection.confidence,
        impact: detection.impact,
        first_step: detection.first_step,
        summary: detection.summary.clone(),
        evidence: detection.evidence.clone(),
        recurrences: 0,
    }
}

/// base x confidence x (1 + impact) + .3 x level, in thousandths; may exceed 1000.
#[must_use]
pub fn score(severity: Severity, confidence: Score, impact: Score, level: u8) -> u32 {
    let base: u32 = match severity {
        Severity::Low => 200,
        Severity::Medium => 500,
        Severity::High => 800,
        Severity::Critical => 1000,
    };
    base * u32::from(confidence.get()) / 1000 * (1000 + u32::from(impact.get())) / 1000 + 300 * u32::from(level)
}

/// The sternest kind that a score allows.
#[must_use]
pub const fn allowed(score: u32) -> Kind {
    match score {
        ..300 => Kind::SoftCorrection,
        300..500 => Kind::ContextReinforcement,
        500..700 => Kind::ResourceThrottling,
        700..900 => Kind::CheckpointRollback,
        900.. => Kind::EmergencyStop,
    }
}

/// Takes note of an issue and says which intervention is due; none while the escalation delay runs.
/// `step` counts the steps of all the session's agents, since they share its issues.
pub fn due(mut issue: Issue, session: &mut Session, step: u64, now: u64, policy: &InterventionPolicy) -> Option<Due> {
    let known = session.issues.get(&issue.name).cloned();
    let state = match known {
        None => IssueState { recurrences: 0, level: 0, step, at: now },
        Some(state) => again(&state, &issue, session, step, now, policy)?,
    };
    issue.recurrences = state.recurrences;
    let level = state.level;
    session.note_issue(&issue.name, state);
    let score = score(issue.severity, issue.confidence, issue.impact, level);
    let kind = choose(&issue, score, policy.strategy);
    let cooling = session.interventions.back().is_some_and(|past| now.saturating_sub(past.at) < policy.cooldown_ms);
    let quiet = cooling || session.totals.interventions >= policy.most;
    Some(Due { issue, kind, level, score, quiet })
}

/// The issue came back: one level up, or down where the last answer worked for a while.
fn again(state: &IssueState, issue: &Issue, session: &mut Session, step: u64, now: u64, policy: &InterventionPolicy) -> Option<IssueState> {
    let waited =
        step.saturating_sub(state.step) >= policy.escalation_delay_steps || now.saturating_sub(state.at) >= policy.escalation_delay_ms;
    if !waited && issue.severity != Severity::Critical {
        return None;
    }
    let free = step.saturating_sub(state.step).saturating_sub(1).min(5);
    let effectiveness = Score::new(u16::try_from(free * 200).unwrap_or(1000));
    if let Some(past) = session.interventions.iter_mut().rev().find(|past| past.issue == issue.name && past.effectiveness.is_none()) {
        past.effectiveness = Some(effectiveness);
    }
    let level = if effectiveness >= Score::new(600) { state.level.saturating_sub(1) } else { state.level.saturating_add(1).min(4) };
    Some(IssueState { recurrences: state.recurrences.saturating_add(1), level, step, at: now })
}

fn choose(issue: &Issue, score: u32, strategy: Strategy) -> Kind {
    let ladder = ladder(&issue.name);
    let column = |index: usize| ladder.get(index.min(3)).copied().unwrap_or(Kind::SoftCorrection);
    if issue.name.starts_with(RULE) {
        return Kind::EmergencyStop;
    }
    match strategy {
        Strategy::PatternSpecific => column(issue.severity as usize),
        Strategy::Progressive | Strategy::Custom if issue.severity == Severity::Critical => column(3),
        Strategy::Progressive | Strategy::Custom => {
            let wanted = column(issue.recurrences as usize);
            wanted.min(allowed(score)).max(column(0))
        }
    }
}

/// Whether an issue was answered so often by starting over that a person has to look.
#[must_use]
pub fn is_beyond_retries(issue: &Issue, session: &Session, policy: &InterventionPolicy) -> bool {
    let again = [Kind::ContextReinforcement, Kind::CheckpointRollback];
    let retried = |past: &&PastIntervention| past.issue == issue.name && again.iter().any(|kind| past.kind == kind.as_str());
    let times = session.interventions.iter().filter(retried).count();
    u32::try_from(times).unwrap_or(u32::MAX) >= policy.most_retries
}

/// Remembers what was done.
#[must_use]
pub fn past(due: &Due, kind: Kind, step: u64, now: u64) -> PastIntervention {
    PastIntervention { kind: kind.as_str().into(), issue: due.issue.name.clone(), step, at: now, effectiveness: None }
}
