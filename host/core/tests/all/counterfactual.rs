//! Counterfactuals: each statement is true when it is decided again, and nothing that would change
//! the verdict by itself is left out.

use portcullis_core::counterfactual::{
    Counterfactual, FindingChange, decide_again, find_counterfactuals,
};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{Factor, FactorKind, Rationality, Risk, SideEffect, SideEffectKind};
use portcullis_core::policy::DecisionPolicy;
use portcullis_core::review::{Attributed, Findings, Objection};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::verdict::{Decision, decide_verdict};
use proptest::prelude::*;

fn named<T>(finding: T) -> Attributed<T> {
    Attributed { plugin: "p".into(), finding }
}

fn factor(kind: FactorKind, weight: u16, reason: &str) -> Factor {
    Factor {
        id: reason.into(),
        kind,
        weight: Score::new(weight),
        reason: reason.into(),
        evidence: vec![],
    }
}

fn findings(risk: u16, rationality: Option<u16>) -> Findings {
    let risk =
        Risk { score: Score::new(risk), factors: vec![factor(FactorKind::Base, risk, "base")] };
    let rationality = rationality.map(|score| {
        named(Rationality { progression: Some(Score::new(score)), ..Rationality::default() })
    });
    Findings {
        risks: vec![named(risk)],
        rationalities: rationality.into_iter().collect(),
        ..Findings::default()
    }
}

fn form(findings: &mut Findings, weight: u16) {
    findings.forms.push("force".into());
    findings.risks[0].finding.factors.push(factor(FactorKind::Form, weight, "force"));
}

fn objection(rule: &str, verdict: Verdict) -> Objection {
    Objection {
        source: "rules".into(),
        rule: rule.into(),
        verdict,
        severity: Severity::Low,
        reason: "because".into(),
        alternatives: vec![],
        rewrite: false,
    }
}

fn effect(target: &str) -> Attributed<SideEffect> {
    let kind = SideEffectKind::FileDeletion;
    named(SideEffect {
        kind,
        target: target.into(),
        severity: Severity::Critical,
        reversible: false,
        mitigation: None,
    })
}

fn fault() -> Fault {
    Fault {
        source: "third".into(),
        kind: FaultKind::Trap,
        detail: "it trapped".into(),
        policy: OnFault::Ask,
    }
}

fn decided(findings: &Findings, first_time: bool) -> Decision {
    decide_verdict(findings, first_time, &DecisionPolicy::default())
}

fn describe_counterfactuals(findings: &Findings, first_time: bool) -> Vec<String> {
    let all = find_counterfactuals(findings, &decided(findings, first_time));
    all.iter()
        .map(|Counterfactual { changes, verdict }| {
            let changes: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
            format!("{} -> {verdict}", changes.join(" + "))
        })
        .collect()
}

#[test]
fn every_change_that_counts_is_stated() {
    let with = |risk, rationality, change: fn(&mut Findings)| {
        let mut findings = findings(risk, rationality);
        change(&mut findings);
        findings
    };
    let cases: Vec<(&str, Findings, bool, &[&str])> = vec![
        ("nothing objects", findings(100, Some(900)), false, &[]),
        (
            "the matrix alone",
            findings(850, Some(300)),
            false,
            &[
                "RiskBelow(Score(800)) -> modify",
                "RiskBelow(Score(600)) -> warn",
                "RiskBelow(Score(300)) -> allow",
                "RationalityFrom(Score(500)) -> modify",
                "RationalityFrom(Score(800)) -> warn",
            ],
        ),
        (
            "a rule alone",
            with(100, None, |f| f.objections.push(objection("r", Verdict::Ask))),
            false,
            &["WithoutRule { source: \"rules\", rule: \"r\" } -> allow"],
        ),
        (
            "two rules: only together",
            with(100, None, |f| {
                f.objections.extend([objection("a", Verdict::Ask), objection("b", Verdict::Ask)])
            }),
            false,
            &[
                "WithoutRule { source: \"rules\", rule: \"a\" } + WithoutRule { source: \"rules\", rule: \"b\" } -> allow",
            ],
        ),
        (
            "the stricter of two rules",
            with(100, None, |f| {
                f.objections.extend([objection("a", Verdict::Block), objection("b", Verdict::Warn)])
            }),
            false,
            &[
                "WithoutRule { source: \"rules\", rule: \"a\" } -> warn",
                "WithoutRule { source: \"rules\", rule: \"a\" } + WithoutRule { source: \"rules\", rule: \"b\" } -> allow",
            ],
        ),
        (
            "a form that makes a warning a modification",
            with(800, None, |f| form(f, 200)),
            false,
            &["WithoutForm(\"force\") -> allow", "RiskBelow(Score(800)) -> allow"],
        ),
        (
            "a critical effect",
            with(100, None, |f| f.side_effects.push(effect("~/a"))),
            false,
            &["NotCritical(\"~/a\") -> allow"],
        ),
        (
            "what is not understood",
            with(100, None, |f| f.gaps.push("a part".into())),
            false,
            &["Understood -> allow"],
        ),
        (
            "a fault",
            with(100, None, |f| f.faults.push(fault())),
            false,
            &["WithoutFault(\"third\") -> allow"],
        ),
        (
            "the second time",
            findings(700, Some(600)),
            false,
            &[
                "RiskBelow(Score(600)) -> allow",
                "RationalityFrom(Score(800)) -> allow",
                "FirstOfItsKind -> allow",
            ],
        ),
        ("the first time", findings(700, Some(600)), true, &["SeenBefore -> warn"]),
    ];
    for (name, findings, first_time, expected) in cases {
        assert_eq!(describe_counterfactuals(&findings, first_time), expected, "{name}");
    }
}

fn arbitrary() -> impl Strategy<Value = (Findings, bool)> {
    let verdicts =
        prop::sample::select(vec![Verdict::Warn, Verdict::Modify, Verdict::Ask, Verdict::Block]);
    let rules = prop::collection::vec(verdicts, 0..3);
    let parts = (
        0..=1000_u16,
        prop::option::of(0..=1000_u16),
        rules,
        any::<[bool; 4]>(),
        0..300_u16,
        any::<bool>(),
    );
    parts.prop_map(
        |(risk, rationality, rules, [form_too, critical, gap, faulty], weight, first_time)| {
            let mut found = findings(risk, rationality);
            for (index, verdict) in rules.into_iter().enumerate() {
                found.objections.push(objection(&format!("r{index}"), verdict));
            }
            if form_too {
                form(&mut found, weight);
            }
            found.side_effects.extend(critical.then(|| effect("/x")));
            found.gaps.extend(gap.then(|| "a part".to_owned()));
            found.faults.extend(faulty.then(fault));
            (found, first_time)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_statement_is_true_and_needs_all_of_its_changes((findings, first_time) in arbitrary()) {
        let decision = decided(&findings, first_time);
        let all = find_counterfactuals(&findings, &decision);
        for Counterfactual { changes, verdict } in &all {
            // Decided independently of the module's own way.
            let (mut changed, mut first) = (findings.clone(), first_time);
            changes.iter().for_each(|change| change.apply_to(&mut changed, &mut first));
            prop_assert_eq!(decided(&changed, first).verdict, *verdict, "{:?}", changes);
            prop_assert!(*verdict != decision.verdict, "{:?} changes nothing", changes);
            for left_out in changes {
                let rest: Vec<FindingChange> = changes.iter().filter(|change| *change != left_out).cloned().collect();
                prop_assert!(decide_again(&findings, &decision, &rest) != *verdict, "{:?} is not needed in {:?}", left_out, changes);
            }
        }
        // Some change always leads to an allowance, unless the action is allowed already.
        prop_assert_eq!(all.iter().any(|found| found.verdict == Verdict::Allow), decision.verdict != Verdict::Allow);
    }
}
