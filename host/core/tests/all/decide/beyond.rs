//! The values that accompany the verdict: its adjustments, later tightening, and the limits of
//! exceptions.

use super::build::{decide, effect, fault, findings, objection, rationality};
use portcullis_core::fault::OnFault;
use portcullis_core::review::{Findings, OWN, Objection};
use portcullis_core::score::{Severity, Verdict};

fn own(verdict: Verdict) -> Objection {
    Objection { source: OWN.into(), rule: "guard".into(), ..objection(verdict, Severity::High) }
}

fn with(risk: u16, change: impl FnOnce(&mut Findings)) -> Findings {
    let mut found = findings(risk, None);
    change(&mut found);
    found
}

#[test]
fn every_change_of_the_verdict_is_reported_once() {
    let cases: Vec<(&str, Findings, bool, Vec<&str>)> = vec![
        ("nothing", findings(700, None), false, vec![]),
        (
            "a critical side effect",
            with(100, |f| f.side_effects.push(effect(Severity::Critical))),
            false,
            vec!["critical side effect on `/x`"],
        ),
        (
            "one without a target",
            with(100, |f| {
                let mut nowhere = effect(Severity::Critical);
                nowhere.finding.target.clear();
                f.side_effects.push(nowhere);
            }),
            false,
            vec!["critical side effect"],
        ),
        ("a high one", with(100, |f| f.side_effects.push(effect(Severity::High))), false, vec![]),
        ("a gap", with(100, |f| f.gaps.push("a part".into())), false, vec!["partial coverage"]),
        (
            "a gap where more was found",
            with(900, |f| {
                f.rationalities.push(rationality(100));
                f.gaps.push("a part".into());
            }),
            false,
            vec![],
        ),
        (
            "a form",
            with(800, |f| f.forms.push("upload".into())),
            false,
            vec!["dangerous form: upload"],
        ),
        (
            "the first of its kind",
            with(700, |f| f.rationalities.push(rationality(600))),
            true,
            vec!["first action of its kind"],
        ),
        (
            "a rule",
            with(100, |f| f.objections.push(objection(Verdict::Ask, Severity::Low))),
            false,
            vec!["rule `r` of `p`"],
        ),
        (
            "a rule that says no more",
            with(100, |f| {
                f.objections.extend([
                    objection(Verdict::Ask, Severity::Low),
                    objection(Verdict::Warn, Severity::Low),
                ])
            }),
            false,
            vec!["rule `r` of `p`"],
        ),
        (
            "a fault",
            with(100, |f| f.faults.push(fault(OnFault::Block))),
            false,
            vec!["fault of `p`: trap"],
        ),
    ];
    for (name, found, first, causes) in cases {
        let decision = decide(&found, first);
        let reported: Vec<&str> =
            decision.adjustments.iter().map(|change| change.cause.as_str()).collect();
        assert_eq!(reported, causes, "{name}");
        let mut verdict = decision.matrix;
        for change in &decision.adjustments {
            assert!(change.from == verdict && change.to != verdict, "{name}: {change:?}");
            verdict = change.to;
        }
    }
}

#[test]
fn tightening_only_tightens() {
    for from in Verdict::ALL {
        for to in Verdict::ALL {
            let found = with(100, |f| f.objections.push(objection(*from, Severity::Low)));
            let mut decision = decide(&found, false);
            let before = decision.adjustments.len();
            decision.tighten_to(*to, "a stopped session");
            assert_eq!(decision.verdict, (*from).max(*to), "{from}, {to}");
            assert_eq!(
                decision.adjustments.len() - before,
                usize::from(to > from),
                "{from}, {to}: what changed nothing is not a change"
            );
            assert_eq!(decision.explanation, explanation(decision.verdict), "{from}, {to}");
        }
    }
    let mut decision =
        decide(&with(100, |f| f.objections.push(objection(Verdict::Warn, Severity::Low))), false);
    decision.tighten_to(Verdict::Ask, "no safer form");
    let last = decision.adjustments.last().expect("a change");
    assert_eq!(
        (last.cause.as_str(), last.from, last.to),
        ("no safer form", Verdict::Warn, Verdict::Ask)
    );
}

fn explanation(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "No objection",
        Verdict::Warn => "No objection, with a warning: because",
        Verdict::Modify => "It may run only in a safer form: because",
        Verdict::Ask => "A person has to decide: because",
        Verdict::Block => "It must not run: because",
    }
}

#[test]
fn decisions_beyond_exceptions_give_the_reason() {
    let cases: Vec<(&str, Findings, Option<&str>)> = vec![
        ("nothing", findings(100, None), None),
        ("high risk", findings(949, None), None),
        ("critical risk", findings(950, None), Some("its risk is critical")),
        (
            "a block",
            with(100, |f| f.objections.push(objection(Verdict::Block, Severity::High))),
            None,
        ),
        ("a fault", with(100, |f| f.faults.push(fault(OnFault::Block))), None),
        (
            "a critical rule",
            with(100, |f| f.objections.push(objection(Verdict::Warn, Severity::Critical))),
            Some("the rule `r` finds it critical"),
        ),
        (
            "the guard's own",
            with(100, |f| f.objections.push(own(Verdict::Ask))),
            Some("the rule `guard` protects the guard itself"),
        ),
        (
            "the guard's own beside a critical rule",
            with(100, |f| {
                f.objections
                    .extend([objection(Verdict::Block, Severity::Critical), own(Verdict::Ask)])
            }),
            Some("the rule `guard` protects the guard itself"),
        ),
        (
            "a critical side effect",
            with(100, |f| f.side_effects.push(effect(Severity::Critical))),
            Some("its side effect on `/x` is critical"),
        ),
        ("a high side effect", with(100, |f| f.side_effects.push(effect(Severity::High))), None),
    ];
    for (name, found, why) in cases {
        let decision = decide(&found, false);
        assert_eq!(decision.check_exceptable().err(), why, "{name}");
        assert_eq!(decision.beyond_exceptions.as_deref(), why, "{name}");
        // Records from before this field existed know only the level.
        let older = portcullis_core::verdict::Decision { beyond_exceptions: None, ..decision };
        assert_eq!(
            older.check_exceptable().is_err(),
            found.risk().is_some_and(|risk| risk.finding.score.get() >= 950),
            "{name}, older"
        );
    }
}

#[test]
fn the_rule_that_stops_is_named() {
    let named = |rule: &str, verdict| Objection {
        rule: rule.into(),
        ..objection(verdict, Severity::Critical)
    };
    let found = with(100, |f| {
        f.objections.extend([
            named("asks", Verdict::Ask),
            named("blocks", Verdict::Block),
            named("too", Verdict::Block),
        ])
    });
    assert_eq!(decide(&found, false).stops.as_deref(), Some("blocks"));
}
