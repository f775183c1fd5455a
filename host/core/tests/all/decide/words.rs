//! The texts of a decision: its reasons in order, the alternatives, its confidence.

use super::build::{
    decide, detection, effect, fault, findings, named, objection, rationality, risk,
};
use portcullis_core::fault::OnFault;
use portcullis_core::finding::{Rationality, Risk, SideEffect, SideEffectKind};
use portcullis_core::review::{Findings, Objection};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::verdict::mean_confidence;

fn with(risk: u16, rationality: Option<u16>, change: impl FnOnce(&mut Findings)) -> Findings {
    let mut found = findings(risk, rationality);
    change(&mut found);
    found
}

fn because(reason: &str, verdict: Verdict) -> Objection {
    Objection { reason: reason.into(), ..objection(verdict, Severity::Low) }
}

fn bare(score: u16) -> Findings {
    Findings {
        risks: vec![named(Risk { score: Score::new(score), factors: vec![] })],
        ..Findings::default()
    }
}

fn senseless(score: u16) -> Findings {
    let bare = Rationality { progression: Some(Score::new(score)), ..Rationality::default() };
    Findings { rationalities: vec![named(bare)], ..findings(500, None) }
}

#[test]
fn the_reasons_of_each_finding() {
    let cases: Vec<(&str, Findings, Vec<&str>)> = vec![
        ("nothing", Findings::default(), vec![]),
        ("small and sensible", findings(599, Some(800)), vec![]),
        ("medium risk, not named", findings(600, None), vec!["risk 0.60"]),
        ("medium risk at the edge", findings(700, None), vec!["risk 0.70"]),
        ("medium risk and sense", findings(700, Some(800)), vec!["risk 0.70, rationality 0.80"]),
        ("medium sense alone", findings(500, Some(799)), vec!["risk 0.50, rationality 0.80"]),
        ("named risk", findings(701, None), vec!["High risk action: a reason"]),
        ("named risk without factors", bare(701), vec!["High risk action: risk 0.70"]),
        ("medium sense at the edge", findings(100, Some(500)), vec!["risk 0.10, rationality 0.50"]),
        ("low sense", findings(100, Some(499)), vec!["Low rationality: an issue"]),
        ("low sense without issues", senseless(400), vec!["Low rationality: score 0.40"]),
        ("very low sense without issues", senseless(200), vec!["Low rationality: score 0.20"]),
        (
            "very low sense",
            findings(100, Some(299)),
            vec!["Low rationality: an issue (score 0.30)"],
        ),
        (
            "a gap",
            with(100, None, |f| f.gaps.push("a part".into())),
            vec!["Not understood: a part"],
        ),
        ("a pattern", with(100, None, |f| f.detections.push(detection())), vec!["a loop"]),
        (
            "a fault",
            with(100, None, |f| f.faults.push(fault(OnFault::Warn))),
            vec!["p: trap: it trapped"],
        ),
        (
            "a small effect",
            with(100, None, |f| f.side_effects.push(effect(Severity::Medium))),
            vec![],
        ),
        (
            "rules: who decides comes first, who adds comes last",
            with(750, None, |f| {
                f.objections.extend([
                    because("adds", Verdict::Warn),
                    because("asks", Verdict::Ask),
                    because("asks too", Verdict::Ask),
                ]);
                f.side_effects.push(effect(Severity::High));
            }),
            vec![
                "asks",
                "asks too",
                "High risk action: a reason",
                "Side effects: deletes `/x` (cannot be undone)",
                "adds",
            ],
        ),
        (
            "the gravest of two that refuse comes first",
            with(100, None, |f| {
                f.objections.extend([
                    Objection { severity: Severity::High, ..because("our key", Verdict::Block) },
                    Objection {
                        severity: Severity::Critical,
                        ..because("the root", Verdict::Block)
                    },
                    Objection { severity: Severity::Critical, ..because("warns", Verdict::Warn) },
                ]);
            }),
            vec!["the root", "our key", "warns"],
        ),
    ];
    for (name, found, reasons) in cases {
        let decision = decide(&found, false);
        assert_eq!(decision.reasons, reasons, "{name}");
        assert_eq!(
            decision.primary_reason,
            reasons.first().copied().unwrap_or("no objections"),
            "{name}"
        );
    }
}

#[test]
fn side_effects_in_words() {
    use SideEffectKind::{
        FileDeletion, FileWrite, Network, Other, Process, ResourceUse, SystemChange,
    };
    let cases: Vec<(SideEffectKind, &str, bool, &str)> = vec![
        (FileWrite, "/x", true, "writes `/x`"),
        (FileDeletion, "/x", false, "deletes `/x` (cannot be undone)"),
        (SystemChange, "nginx", true, "changes the system: `nginx`"),
        (SystemChange, "", false, "changes the system (cannot be undone)"),
        (Process, "4711", true, "affects the process `4711`"),
        (Network, "example.org", true, "contacts `example.org`"),
        (ResourceUse, "memory", true, "uses up `memory`"),
        (Other("melts".into()), "wax", true, "melts `wax`"),
        (Other("evasion".into()), "", true, "hides traces or leaves a protection out"),
        (
            Other("persistence".into()),
            "cron",
            false,
            "makes something start later: `cron` (cannot be undone)",
        ),
        (Other("privilege".into()), "", true, "acts with more power"),
    ];
    let reasons = |effects: Vec<SideEffect>| {
        decide(&with(100, None, |f| f.side_effects.extend(effects.into_iter().map(named))), false)
            .reasons
    };
    let effect = |kind: &SideEffectKind, target: &str, reversible: bool| SideEffect {
        kind: kind.clone(),
        target: target.into(),
        severity: Severity::High,
        reversible,
        mitigation: None,
    };
    for (kind, target, reversible, words) in &cases {
        assert_eq!(
            reasons(vec![effect(kind, target, *reversible)]),
            [format!("Side effects: {words}")]
        );
    }
    let two = vec![effect(&FileWrite, "a", true), effect(&FileWrite, "b", true)];
    assert_eq!(reasons(two), ["Side effects: writes `a`; writes `b`"]);
}

#[test]
fn alternatives_are_listed() {
    let rule = |texts: &[&str]| Objection {
        alternatives: texts.iter().map(|text| (*text).into()).collect(),
        ..because("no", Verdict::Warn)
    };
    let mitigated = |severity, text: &str| {
        let mut found = effect(severity);
        found.finding.mitigation = Some(text.into());
        found
    };
    let sense = |text: &str| {
        let mut found = rationality(300);
        found.finding.suggestions.push(text.into());
        found
    };
    let cases: Vec<(&str, Findings, Vec<&str>)> = vec![
        ("nothing", findings(100, None), vec![]),
        (
            "rules, then effects, then sense, each once",
            with(100, None, |f| {
                f.objections.extend([rule(&["a", "b"]), rule(&["b", "c"])]);
                f.side_effects.extend([
                    mitigated(Severity::High, "d"),
                    mitigated(Severity::Medium, "of a small one"),
                    mitigated(Severity::Critical, "a"),
                ]);
                f.rationalities.push(sense("e"));
            }),
            vec!["a", "b", "c", "d", "e"],
        ),
        (
            "the same advice in other words once",
            with(100, None, |f| {
                let read = "save it to a file, read the file, then run it";
                f.objections.push(rule(&[read, "remove `a` only", "remove `b` only"]));
                f.side_effects.extend([
                    mitigated(Severity::High, "Save it to a file, read it, then run it."),
                    mitigated(Severity::High, "check what goes out: it cannot be taken back"),
                ]);
                f.rationalities.push(sense("check first what goes out: it cannot be taken back"));
            }),
            vec![
                "save it to a file, read the file, then run it",
                "remove `a` only",
                "remove `b` only",
                "check what goes out: it cannot be taken back",
            ],
        ),
        (
            "eight at most",
            with(100, None, |f| {
                f.objections.push(rule(&["1", "2", "3", "4", "5", "6", "7", "8", "9"]))
            }),
            vec!["1", "2", "3", "4", "5", "6", "7", "8"],
        ),
    ];
    for (name, found, expected) in cases {
        assert_eq!(decide(&found, false).alternatives, expected, "{name}");
    }
}

#[test]
fn confidence_falls_with_gaps_and_faults() {
    let of = |sense: Option<u16>, gaps: usize, faults: usize| Findings {
        risks: vec![risk(100)],
        rationalities: sense.map(rationality).into_iter().collect(),
        gaps: vec!["a part".into(); gaps],
        faults: vec![fault(OnFault::Warn); faults],
        ..Findings::default()
    };
    let cases = [
        (of(Some(900), 0, 0), 1000),
        (of(None, 0, 0), 900),
        (of(Some(900), 1, 0), 700),
        (of(Some(900), 2, 0), 700),
        (of(Some(900), 0, 1), 850),
        (of(Some(900), 0, 2), 700),
        (of(Some(900), 0, 3), 550),
        (of(Some(900), 0, 9), 550),
        (of(None, 1, 1), 450),
        (of(None, 1, 3), 150),
        (of(None, 1, usize::from(u16::MAX) + 1), 150),
    ];
    for (found, expected) in cases {
        assert_eq!(
            mean_confidence(&found),
            Score::new(expected),
            "{} gaps, {} faults",
            found.gaps.len(),
            found.faults.len()
        );
        assert_eq!(decide(&found, false).confidence, mean_confidence(&found));
    }
}
