//! Findings for the tests, one of each kind.

use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{
    Detection, Factor, FactorKind, Rationality, Risk, SideEffect, SideEffectKind,
};
use portcullis_core::policy::DecisionPolicy;
use portcullis_core::review::{Attributed, Findings, Objection};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::verdict::Decision;

pub(crate) fn decide(findings: &Findings, first_time: bool) -> Decision {
    portcullis_core::verdict::decide_verdict(findings, first_time, &DecisionPolicy::default())
}

pub(crate) fn named<T>(finding: T) -> Attributed<T> {
    Attributed { plugin: "p".into(), finding }
}

pub(crate) fn risk(score: u16) -> Attributed<Risk> {
    let factor = Factor {
        id: "base".into(),
        kind: FactorKind::Base,
        weight: Score::new(score),
        reason: "a reason".into(),
        evidence: vec![],
    };
    named(Risk { score: Score::new(score), factors: vec![factor] })
}

pub(crate) fn rationality(score: u16) -> Attributed<Rationality> {
    named(Rationality {
        progression: Some(Score::new(score)),
        issues: vec!["an issue".into()],
        ..Rationality::default()
    })
}

pub(crate) fn effect(severity: Severity) -> Attributed<SideEffect> {
    named(SideEffect {
        kind: SideEffectKind::FileDeletion,
        target: "/x".into(),
        severity,
        reversible: false,
        mitigation: None,
    })
}

pub(crate) fn objection(verdict: Verdict, severity: Severity) -> Objection {
    Objection {
        source: "p".into(),
        rule: "r".into(),
        verdict,
        severity,
        reason: "because".into(),
        alternatives: vec![],
        rewrite: false,
    }
}

pub(crate) fn fault(policy: OnFault) -> Fault {
    Fault { source: "p".into(), kind: FaultKind::Trap, detail: "it trapped".into(), policy }
}

pub(crate) fn detection() -> Attributed<Detection> {
    named(Detection {
        pattern: "loop".into(),
        severity: Severity::Medium,
        confidence: Score::new(700),
        impact: Score::new(500),
        first_step: 0,
        summary: "a loop".into(),
        evidence: vec![],
    })
}

pub(crate) fn findings(risk_score: u16, rationality_score: Option<u16>) -> Findings {
    Findings {
        risks: vec![risk(risk_score)],
        rationalities: rationality_score.map(rationality).into_iter().collect(),
        ..Findings::default()
    }
}
