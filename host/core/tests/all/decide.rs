//! The decision: every cell of the matrix, every adjustment, and that more findings never loosen
//! it.

mod beyond;
mod build;
mod scales;
mod words;

use build::{decide, detection, effect, fault, findings, named, objection, rationality, risk};
use portcullis_core::fault::OnFault;
use portcullis_core::finding::{Change, Edit, Factor, FactorKind, Rewrite};
use portcullis_core::policy::{DecisionPolicy, RationalityThresholds, RiskThresholds};
use portcullis_core::review::{Attributed, Findings};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::verdict::{RewriteOutcome, settle_rewrites};
use proptest::prelude::*;

#[test]
fn every_cell_of_the_matrix() {
    use Verdict::{Allow as A, Block as B, Modify as M, Warn as W};
    // Both edges of each level; rationality high, medium, low.
    let cells = [
        (300, [A, A, W]),
        (599, [A, A, W]),
        (600, [A, W, M]),
        (799, [A, W, M]),
        (800, [W, M, B]),
        (949, [W, M, B]),
        (950, [B, B, B]),
        (1000, [B, B, B]),
    ];
    for (risk, row) in cells {
        for (scores, expected) in [([800, 1000], row[0]), ([500, 799], row[1]), ([0, 499], row[2])]
        {
            for score in scores {
                let decision = decide(&findings(risk, Some(score)), false);
                assert_eq!(
                    (decision.matrix, decision.verdict),
                    (expected, expected),
                    "risk {risk}, rationality {score}"
                );
            }
        }
        assert_eq!(
            decide(&findings(risk, None), false).verdict,
            row[0],
            "risk {risk}, rationality not scored"
        );
    }
}

/// Earlier failures add to a risk, and alone they are nothing to warn of.
#[test]
fn earlier_failures_alone_do_not_warn() {
    let repeated = |base: u16, added: u16, rational: u16| {
        let mut found = findings(base + added, Some(rational));
        let factor = |kind, weight| Factor {
            id: "f".into(),
            kind,
            weight: Score::new(weight),
            reason: "a reason".into(),
            evidence: Vec::new(),
        };
        found.risks[0].finding.factors =
            vec![factor(FactorKind::Base, base), factor(FactorKind::Repetition, added)];
        decide(&found, false).verdict
    };
    for (name, base, added, rational, verdict) in [
        ("an edit elsewhere", 700, 100, 900, Verdict::Allow),
        ("after many failures", 700, 240, 900, Verdict::Allow),
        ("grave by itself", 800, 100, 900, Verdict::Warn),
        ("odd by itself", 700, 50, 600, Verdict::Warn),
        ("odd and grave", 700, 100, 600, Verdict::Modify),
        ("critical", 700, 300, 900, Verdict::Block),
    ] {
        assert_eq!(repeated(base, added, rational), verdict, "{name}");
    }
}

#[test]
fn negligible_risk_is_allowed_however_odd_it_looks() {
    assert_eq!(decide(&findings(299, Some(0)), false).verdict, Verdict::Allow);
    assert_eq!(decide(&Findings::default(), false).verdict, Verdict::Allow);
}

#[test]
fn the_thresholds_are_the_policys() {
    let risk = |change: fn(&mut RiskThresholds)| {
        let mut policy = DecisionPolicy::default();
        change(&mut policy.risk);
        policy
    };
    let rationality = |change: fn(&mut RationalityThresholds)| {
        let mut policy = DecisionPolicy::default();
        change(&mut policy.rationality);
        policy
    };
    let first = DecisionPolicy { first_time: false, ..DecisionPolicy::default() };
    use Verdict::{Allow, Block, Modify, Warn};
    // Scores, thresholds instead of the default ones, the verdict with the defaults, and the
    // verdict with these.
    let cases: Vec<(u16, u16, DecisionPolicy, Verdict, Verdict)> = vec![
        (350, 200, risk(|risk| risk.negligible = Score::new(400)), Warn, Allow),
        (500, 700, risk(|risk| risk.medium = Score::new(500)), Allow, Warn),
        (500, 700, risk(|risk| risk.medium = Score::new(501)), Allow, Allow),
        (700, 700, risk(|risk| risk.high = Score::new(700)), Warn, Modify),
        (900, 700, risk(|risk| risk.critical = Score::new(900)), Modify, Block),
        (900, 700, risk(|risk| risk.high = Score::new(901)), Modify, Warn),
        // Out of order: the higher level takes precedence.
        (500, 700, risk(|risk| risk.critical = Score::new(500)), Allow, Block),
        (200, 700, risk(|risk| risk.medium = Score::new(200)), Allow, Warn),
        (700, 700, rationality(|levels| levels.high = Score::new(700)), Warn, Allow),
        (700, 700, rationality(|levels| levels.medium = Score::new(701)), Warn, Modify),
        (700, 700, first, Warn, Warn),
    ];
    for (score, sense, policy, usual, other) in cases {
        let found = findings(score, Some(sense));
        assert_eq!(decide(&found, false).verdict, usual, "risk {score}, rationality {sense}");
        let decision = portcullis_core::verdict::decide_verdict(&found, false, &policy);
        assert_eq!(decision.verdict, other, "risk {score}, rationality {sense}, {policy:?}");
        assert_eq!(decision.policy, policy);
    }
    let reasons = |sense| decide(&findings(500, Some(sense)), false).reasons.join("; ");
    assert_eq!(
        (reasons(299).as_str(), reasons(300).as_str()),
        ("Low rationality: an issue (score 0.30)", "Low rationality: an issue")
    );
    let found = findings(700, Some(600));
    assert_eq!(decide(&found, true).verdict, Allow);
    assert_eq!(
        portcullis_core::verdict::decide_verdict(&found, true, &first).verdict,
        Warn,
        "the relaxation is off"
    );
    let loud = risk(|risk| risk.named = Score::new(100));
    assert!(
        portcullis_core::verdict::decide_verdict(&findings(101, None), false, &loud).reasons[0]
            .starts_with("High risk action")
    );
}

/// A case: the findings, true if the shape is new, and the verdict.
type Case = (&'static str, Findings, bool, Verdict);

#[test]
fn adjustments_come_in_order() {
    let warned = || findings(700, Some(600));
    let with = |change: fn(&mut Findings)| {
        let mut findings = findings(700, Some(600));
        change(&mut findings);
        findings
    };
    let quiet = |change: fn(&mut Findings)| {
        let mut findings = findings(100, Some(1000));
        change(&mut findings);
        findings
    };
    let cases: Vec<Case> = vec![
        ("a warning stays one the second time", warned(), false, Verdict::Warn),
        ("the first time it is a note", warned(), true, Verdict::Allow),
        ("but not at high risk", findings(800, Some(900)), true, Verdict::Warn),
        (
            "nor with a rule",
            with(|f| f.objections.push(objection(Verdict::Warn, Severity::Low))),
            true,
            Verdict::Warn,
        ),
        ("nor with a pattern", with(|f| f.detections.push(detection())), true, Verdict::Warn),
        ("nor with a fault", with(|f| f.faults.push(fault(OnFault::Warn))), true, Verdict::Warn),
        (
            "nor where not all was understood",
            with(|f| f.gaps.push("a part".into())),
            true,
            Verdict::Warn,
        ),
        (
            "a dangerous form turns a warning into a modification",
            with(|f| f.forms.push("form".into())),
            true,
            Verdict::Modify,
        ),
        (
            "a form alone changes nothing",
            quiet(|f| f.forms.push("form".into())),
            false,
            Verdict::Allow,
        ),
        (
            "a form where not all was understood",
            quiet(|f| {
                f.forms.push("form".into());
                f.gaps.push("a part".into());
            }),
            true,
            Verdict::Modify,
        ),
        (
            "a critical side effect blocks",
            quiet(|f| f.side_effects.push(effect(Severity::Critical))),
            true,
            Verdict::Block,
        ),
        (
            "a high one does not",
            quiet(|f| f.side_effects.push(effect(Severity::High))),
            true,
            Verdict::Allow,
        ),
        ("partial coverage warns", quiet(|f| f.gaps.push("a part".into())), true, Verdict::Warn),
        ("a limit asks", quiet(|f| f.limits.push("a part".into())), true, Verdict::Ask),
        (
            "a limit does not loosen a stop",
            quiet(|f| {
                f.limits.push("a part".into());
                f.side_effects.push(effect(Severity::Critical));
            }),
            true,
            Verdict::Block,
        ),
        (
            "a rule asks",
            quiet(|f| f.objections.push(objection(Verdict::Ask, Severity::Low))),
            true,
            Verdict::Ask,
        ),
        (
            "the strictest rule counts",
            quiet(|f| {
                f.objections.push(objection(Verdict::Block, Severity::Low));
                f.objections.push(objection(Verdict::Warn, Severity::Low));
            }),
            true,
            Verdict::Block,
        ),
        (
            "a rule cannot loosen",
            with(|f| {
                f.side_effects.push(effect(Severity::Critical));
                f.objections.push(objection(Verdict::Warn, Severity::Low));
            }),
            true,
            Verdict::Block,
        ),
        (
            "a fault warns by policy",
            quiet(|f| f.faults.push(fault(OnFault::Warn))),
            true,
            Verdict::Warn,
        ),
        (
            "a fault asks by policy",
            quiet(|f| f.faults.push(fault(OnFault::Ask))),
            true,
            Verdict::Ask,
        ),
        (
            "a fault blocks by policy",
            quiet(|f| f.faults.push(fault(OnFault::Block))),
            true,
            Verdict::Block,
        ),
    ];
    for (name, findings, first_time, expected) in cases {
        let decision = decide(&findings, first_time);
        assert_eq!(decision.verdict, expected, "{name}: {decision:?}");
        let changed = decision.adjustments.last().map_or(decision.matrix, |last| last.to);
        assert_eq!(changed, decision.verdict, "{name}: the adjustments lead to the verdict");
    }
}

#[test]
fn the_highest_risk_and_the_lowest_rationality_count() {
    let mut both = findings(300, Some(1000));
    both.risks.push(risk(820));
    both.rationalities.push(rationality(520));
    let decision = decide(&both, false);
    assert_eq!((decision.risk, decision.rationality), (Score::new(820), Some(Score::new(520))));
    assert_eq!(decision.verdict, Verdict::Modify);
}

#[test]
fn reasons_come_in_order() {
    let mut all = findings(820, Some(300));
    all.side_effects.push(effect(Severity::High));
    let reasons = decide(&all, false).reasons;
    let starts =
        ["High risk action: a reason", "Low rationality: an issue", "Side effects: deletes `/x`"];
    assert_eq!(reasons.len(), starts.len(), "{reasons:?}");
    for (reason, start) in reasons.iter().zip(starts) {
        assert!(reason.starts_with(start), "{reason} should start with {start}");
    }
}

#[test]
fn only_a_critical_block_by_a_rule_stops_the_session() {
    for (verdict, severity, stops) in [
        (Verdict::Block, Severity::Critical, true),
        (Verdict::Block, Severity::High, false),
        (Verdict::Ask, Severity::Critical, false),
    ] {
        let mut found = findings(100, None);
        found.objections.push(objection(verdict, severity));
        assert_eq!(decide(&found, false).stops.is_some(), stops, "{verdict} {severity}");
    }
}

fn rewrite(text: &str) -> Attributed<Rewrite> {
    let edits = vec![Edit { parameter: "command".into(), change: Change::SetText(text.into()) }];
    named(Rewrite { edits, explanation: text.into() })
}

#[test]
fn a_modification_needs_exactly_one_rewrite() {
    let modify = decide(&findings(820, Some(600)), false);
    assert_eq!(modify.verdict, Verdict::Modify);
    let one = [rewrite("a")];
    let same = [rewrite("a"), rewrite("a")];
    let two = [rewrite("a"), rewrite("b")];
    assert!(matches!(settle_rewrites(&modify, &[]), RewriteOutcome::Ask(_)));
    assert!(matches!(settle_rewrites(&modify, &one), RewriteOutcome::Rewrite(_)));
    assert!(matches!(settle_rewrites(&modify, &same), RewriteOutcome::Rewrite(_)));
    assert!(matches!(settle_rewrites(&modify, &two), RewriteOutcome::Ask(_)));
    let allow = decide(&findings(100, None), false);
    assert!(
        matches!(settle_rewrites(&allow, &one), RewriteOutcome::Unchanged),
        "an offer alone changes nothing"
    );
}

fn any_finding() -> impl Strategy<Value = Findings> {
    let verdict =
        prop::sample::select(&[Verdict::Warn, Verdict::Modify, Verdict::Ask, Verdict::Block][..]);
    let severity = prop::sample::select(Severity::ALL);
    let policy = prop::sample::select(OnFault::ALL);
    let score = 0_u16..=1000;
    (
        prop::collection::vec(score.clone().prop_map(risk), 0..3),
        prop::collection::vec(score.prop_map(rationality), 0..3),
        prop::collection::vec(severity.clone().prop_map(effect), 0..2),
        prop::collection::vec(
            (verdict, severity).prop_map(|(verdict, severity)| objection(verdict, severity)),
            0..3,
        ),
        prop::collection::vec(policy.prop_map(fault), 0..2),
        (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
    )
        .prop_map(
            |(
                risks,
                rationalities,
                side_effects,
                objections,
                faults,
                (form, gap, limit, detected),
            )| Findings {
                risks,
                rationalities,
                side_effects,
                objections,
                faults,
                forms: if form { vec!["form".into()] } else { vec![] },
                gaps: if gap { vec!["gap".into()] } else { vec![] },
                limits: if limit { vec!["limit".into()] } else { vec![] },
                detections: if detected { vec![detection()] } else { vec![] },
                ..Findings::default()
            },
        )
}

fn joined(a: &Findings, b: &Findings) -> Findings {
    let mut both = a.clone();
    both.risks.extend(b.risks.iter().cloned());
    both.rationalities.extend(b.rationalities.iter().cloned());
    both.side_effects.extend(b.side_effects.iter().cloned());
    both.objections.extend(b.objections.iter().cloned());
    both.faults.extend(b.faults.iter().cloned());
    both.forms.extend(b.forms.iter().cloned());
    both.gaps.extend(b.gaps.iter().cloned());
    both.limits.extend(b.limits.iter().cloned());
    both.detections.extend(b.detections.iter().cloned());
    both
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn more_findings_never_loosen(a in any_finding(), b in any_finding(), first_time: bool) {
        let alone = decide(&a, first_time).verdict;
        let together = decide(&joined(&a, &b), first_time).verdict;
        prop_assert!(together >= alone, "{alone} became {together}");
    }

    #[test]
    fn scores_stay_in_range(a in any_finding(), first_time: bool) {
        let decision = decide(&a, first_time);
        prop_assert!(decision.risk.get() <= 1000 && (100..=1000).contains(&decision.confidence.get()));
        prop_assert_eq!(decision.clone(), decide(&a, first_time));
    }
}
