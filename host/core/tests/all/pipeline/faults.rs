//! Every fault under every policy: it counts, it is named, and it never looks like "nothing found".

use crate::harness::{
    World, answer, detection, detects, event, failed, fault, guidance, one_object, post, says,
};
use portcullis_agents::claude::wire as claude;
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{Assessment, Report, Ruling};
use portcullis_core::pipeline::{FaultOrigin, fault_record, fault_reply};
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Severity, Verdict};
use serde_json::json;

/// The part that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    RiskCalculator,
    Pattern,
    ShellReader,
}

#[test]
fn every_fault_under_every_policy() {
    for kind in FaultKind::ALL.iter().copied() {
        for policy in OnFault::ALL.iter().copied() {
            for who in [Who::RiskCalculator, Who::Pattern, Who::ShellReader] {
                let mut world = World::default();
                match who {
                    Who::RiskCalculator => {
                        world.plugins.assess =
                            Box::new(move |_, _| vec![answer("judge", Err(fault(kind, policy)))])
                    }
                    Who::Pattern => {
                        world.plugins.detect =
                            Box::new(move |_, _, _| vec![answer("judge", Err(fault(kind, policy)))])
                    }
                    Who::ShellReader => {
                        world.plugins.read = Box::new(move |_| Err(fault(kind, policy)))
                    }
                }
                let sent = world.bash("make it", "t1");
                // A person has to judge text that the reader cannot read, regardless of its policy.
                let expected = if who == Who::ShellReader {
                    Verdict::Ask
                } else {
                    policy.max(kind.least_reaction()).to_verdict()
                };
                let taken = match expected {
                    Verdict::Warn => ("none", 0),
                    Verdict::Ask => ("ask", 0),
                    _ => ("deny", 2),
                };
                let case = format!("{kind} {policy} {who:?}");
                assert_eq!(
                    (sent.verdict(), sent.effect(), sent.answer.exit),
                    (expected, taken.0, taken.1),
                    "{case}"
                );
                let recorded: Vec<FaultKind> =
                    sent.records[0].faults.iter().map(|fault| fault.kind).collect();
                assert_eq!(recorded, [kind], "{case}");
                assert!(
                    sent.out.to_string().contains(kind.as_str()),
                    "{case}: the reply names it: {}",
                    sent.out
                );
                if who != Who::ShellReader {
                    assert!(
                        sent.decision()
                            .reasons
                            .iter()
                            .any(|reason| reason.contains("it did not answer")),
                        "{case}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_fault_after_the_fact_is_recorded_and_refuses_nothing() {
    for policy in OnFault::ALL.iter().copied() {
        let mut world = World::default();
        world.bash("make it", "t1");
        world.plugins.detect =
            Box::new(move |_, _, _| vec![answer("judge", Err(fault(FaultKind::Trap, policy)))]);
        let input = || json!({"command": "make it"});
        for payload in [
            post("Bash", input(), "t1", json!("done")),
            failed("Bash", input(), "t1", "Exit code 1"),
        ] {
            let sent = world.send(&payload);
            assert_eq!((sent.effect(), sent.answer.exit), ("none", 0), "{policy}");
            assert_eq!(sent.records[0].faults.len(), 1, "{policy}");
        }
    }
}

/// Answers that the host cannot accept.
#[test]
fn answers_that_cannot_be_are_faults_of_their_plugin() {
    let ruling = |rule: &str| Ruling {
        rule: rule.into(),
        verdict: Verdict::Allow,
        severity: Severity::Low,
        reason: "fine by me".into(),
        evidence: Vec::new(),
        alternatives: Vec::new(),
        rewrite: None,
    };
    let mut world = World::default();
    world.plugins.assess = says(Assessment {
        rulings: vec![ruling("permit\u{1b}[2J"), ruling(&"x".repeat(9000))],
        ..Assessment::default()
    });
    let sent = world.bash("make it", "t1");
    assert_eq!(sent.verdict(), Verdict::Block, "an allow is a fault, not a consent");
    for fault in &sent.records[0].faults {
        assert_eq!((fault.kind, fault.source.as_str()), (FaultKind::BadValue, "judge"));
        assert!(
            fault.detail.len() <= 1024 && !fault.detail.contains('\u{1b}'),
            "{} bytes",
            fault.detail.len()
        );
    }

    let mut later = detection("loop", Severity::Medium, 900, 500);
    later.first_step = 99;
    let named = |pattern: &str| detection(pattern, Severity::Low, 100, 0);
    let many = vec![named("loop"); 17];
    for (name, detections, state) in [
        ("it began in the future", vec![later], None),
        ("it is named as only the host names its issues", vec![named("rule:a_rule")], None),
        ("it has no name", vec![named("")], None),
        ("its name is too long", vec![named(&"x".repeat(129))], None),
        ("there are too many", many, None),
        ("its state is too large", Vec::new(), Some(vec![0; 64 * 1024 + 1])),
    ] {
        let mut world = World::default();
        world.plugins.detect = Box::new(move |_, _, _| {
            vec![answer(
                "pattern",
                Ok(Report { detections: detections.clone(), state: state.clone() }),
            )]
        });
        let sent = world.bash("make it", "t1");
        assert_eq!(sent.effect(), "deny", "{name}: {}", sent.out);
        assert!(!sent.records[0].faults.is_empty(), "{name}");
        assert!(
            sent.records[0].faults.iter().all(|fault| fault.kind == FaultKind::BadValue
                || fault.kind == FaultKind::OutputTooLarge),
            "{name}"
        );
        let stopped = world.state().session.stopped.is_some()
            || world.plugins.asked.iter().any(|(kind, _)| kind == "emergency-stop");
        assert!(!stopped, "{name}: nothing that cannot be ends a session");
        assert!(world.agent().plugins.values().all(|state| state.len() <= 64 * 1024), "{name}");
    }
}

#[test]
fn a_detection_counts_beside_a_fault_of_another_plugin() {
    let mut world = World::default();
    let mut detect = detects("make", vec![detection("loop", Severity::Medium, 900, 500)]);
    world.plugins.detect = Box::new(move |history, action, state| {
        let mut answers = detect(history, action, state);
        answers.push(answer("judge", Err(fault(FaultKind::Timeout, OnFault::Warn))));
        answers
    });
    world.plugins.intervene =
        Box::new(|name, _, _| Some(answer(name, Ok(guidance("try another way")))));
    let sent = world.bash("make it", "t1");
    assert_eq!((sent.records[0].detections.len(), sent.records[0].faults.len()), (1, 1));
    assert!(
        sent.at("/hookSpecificOutput/additionalContext")
            .unwrap()
            .as_str()
            .unwrap()
            .contains("try another way")
    );
}

#[test]
fn the_policy_answers_without_a_review() {
    for (policy, taken, exit) in
        [(OnFault::Warn, "none", 0), (OnFault::Ask, "ask", 0), (OnFault::Block, "deny", 2)]
    {
        let fault = Fault {
            policy,
            ..Fault::from_host(FaultKind::Store, "the journal `x` cannot be written")
        };
        let answer = claude::render_reply("PreToolUse", &fault_reply(&fault));
        let out = one_object(&answer.stdout);
        assert_eq!((crate::harness::effect(&out), answer.exit), (taken, exit), "{policy}");
        assert!(out["systemMessage"].as_str().unwrap().contains("journal"), "{policy}");
    }
    let error = claude::parse_event(b"{").unwrap_err();
    let fault = Fault::from_host(FaultKind::BadInput, error.problem);
    let record = fault_record(&fault, FaultOrigin::default(), 5, "seed");
    assert_eq!((record.kind, record.at, record.faults.len()), (RecordKind::Fault, 5, 1));
    assert_ne!(record.id, fault_record(&fault, FaultOrigin::default(), 5, "other seed").id);
    assert_eq!(record, fault_record(&fault, FaultOrigin::default(), 5, "seed"));
}

#[test]
fn an_event_of_no_interest_is_answered_neutrally() {
    let mut world = World::default();
    let sent = world.send(&event("Notification", json!({"message": "waiting"})));
    assert_eq!((sent.out, sent.records.len(), sent.answer.exit), (json!({}), 0, 0));
}
