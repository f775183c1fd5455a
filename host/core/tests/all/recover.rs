//! Answers to an issue and their effects: a plugin that decides, plugins that replace the builtin
//! ones, restarts that are counted, and an agent that is held for a person.

use crate::harness::{
    CWD, Sent, World, answer, by, detection, detects, fault, guidance, pre, prompt, usual_response,
};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Background, Guidance, Response, StopReport};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::policy::Strategy;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::{Severity, Verdict};
use serde_json::json;

fn world() -> World {
    let mut world = World::default();
    world.plugins.detect = detects("noisy", vec![detection("loop", Severity::Medium, 900, 500)]);
    world
}

fn custom(decides: Option<Response>) -> World {
    let mut world = world();
    world.policy.interventions.strategy = Strategy::Custom;
    world.policy.interventions.decider = Some("mine".into());
    world.plugins.intervene = Box::new(move |name, issue, _| match (name, &decides) {
        ("mine", Some(response)) => Some(answer(name, Ok(response.clone()))),
        ("mine", None) => Some(answer(name, Err(fault(FaultKind::Trap, OnFault::Ask)))),
        _ => Some(answer(name, Ok(usual_response(name, issue)))),
    });
    world
}

fn intervention_record(sent: &Sent) -> Option<&Record> {
    sent.records.iter().find(|record| record.kind == RecordKind::Intervention)
}

fn kind(sent: &Sent) -> Option<&str> {
    Some(intervention_record(sent)?.intervention.as_ref()?.kind.as_str())
}

fn limits() -> Response {
    let limits = vec![Limit { quantity: Quantity::FileOperations, maximum: 5, used: 0 }];
    Response::Guide(Guidance { messages: vec!["less".into()], limits, ..Guidance::default() })
}

fn context() -> Response {
    let background =
        vec![Background { title: "request".into(), text: "make it".into(), emphasised: true }];
    Response::Guide(Guidance { messages: vec!["again".into()], background, ..Guidance::default() })
}

fn stop() -> Response {
    Response::Stop { message: "enough".into(), report: StopReport::default() }
}

fn plan() -> Response {
    Response::RecoveryNeeded {
        reason: "nothing safe is known".into(),
        steps: vec!["look at a.txt".into()],
    }
}

#[test]
fn a_response_is_of_a_kind() {
    let rollback = Response::Rollback { checkpoint: "c".into(), guidance: Guidance::default() };
    let table = [
        (guidance("so"), InterventionKind::SoftCorrection),
        (context(), InterventionKind::ContextReinforcement),
        (limits(), InterventionKind::ResourceThrottling),
        (rollback, InterventionKind::CheckpointRollback),
        (plan(), InterventionKind::CheckpointRollback),
        (stop(), InterventionKind::EmergencyStop),
    ];
    for (response, kind) in table {
        assert_eq!(InterventionKind::of_response(&response), kind, "{response:?}");
    }
}

#[test]
fn a_plugin_decides() {
    let table = [
        (Some(guidance("so")), "soft_correction", RecoveryOutcome::Continue, 0),
        (Some(context()), "context_reinforcement", RecoveryOutcome::Rebuild, 0),
        (Some(limits()), "resource_throttling", RecoveryOutcome::Limit, 0),
        (Some(stop()), "emergency_stop", RecoveryOutcome::Stop, 0),
        // It fails: as with `progressive`, and its fault is reported.
        (None, "soft_correction", RecoveryOutcome::Continue, 1),
    ];
    for (response, expected, outcome, faults) in table {
        let mut world = custom(response.clone());
        let sent = world.bash("noisy", "t1");
        let record = intervention_record(&sent).unwrap();
        let intervention = record.intervention.as_ref().unwrap();
        assert_eq!(
            (intervention.kind.as_str(), intervention.outcome, record.faults.len()),
            (expected, outcome, faults),
            "{response:?}"
        );
        assert_eq!(world.plugins.asked[0], ("mine".to_owned(), "loop".to_owned()));
    }
}

#[test]
fn disabled_interventions_stay_off() {
    let mut world = custom(Some(stop()));
    world.policy.interventions.disabled = vec!["emergency_stop".into()];
    let sent = world.bash("noisy", "t1");
    assert_eq!((kind(&sent), world.state().session.stopped), (Some("checkpoint_rollback"), None));
}

#[test]
fn nobody_decides_over_a_critical_rule() {
    let mut world = custom(Some(guidance("it is fine")));
    world.plugins.assess = Box::new(|_, _| {
        vec![answer("rules", Ok(crate::harness::rules(Verdict::Block, Severity::Critical)))]
    });
    let sent = world.bash("rm -rf /", "t1");
    assert!(world.state().session.stopped.is_some(), "{:?}", kind(&sent));
}

#[test]
fn somebody_elses_plugin_takes_a_builtin_ones_place() {
    let mut world = world();
    world.policy.interventions.plugins.insert("soft_correction".into(), "my-words".into());
    let sent = world.bash("noisy", "t1");
    assert_eq!(kind(&sent), Some("soft_correction"));
    assert_eq!(world.plugins.asked, [("my-words".to_owned(), "loop".to_owned())]);
    assert!(sent.out.to_string().contains("my-words on loop"), "{}", sent.out);
}

/// After three restarts for one issue, only a person may start the next one.
#[test]
fn new_beginnings_are_counted() {
    let mut world = custom(Some(context()));
    world.policy.interventions.cooldown_ms = 0;
    world.policy.interventions.escalation_delay_steps = 0;
    let mut outcomes = Vec::new();
    for round in 0..5 {
        let sent = world.bash("noisy", &format!("t{round}"));
        outcomes.push(intervention_record(&sent).unwrap().intervention.as_ref().unwrap().outcome);
    }
    use RecoveryOutcome::{Rebuild, Wait};
    assert_eq!(outcomes, [Rebuild, Rebuild, Rebuild, Wait, Wait]);
    assert!(world.state().session.held.is_some());
}

#[test]
fn the_agent_is_held_until_a_person_says_something() {
    let mut world = custom(Some(plan()));
    let first = world.bash("noisy", "t1");
    assert_eq!(
        intervention_record(&first).unwrap().intervention.as_ref().unwrap().outcome,
        RecoveryOutcome::Wait
    );
    assert!(
        first.reply.person.iter().any(|text| text.contains("look at a.txt")),
        "{:?}",
        first.reply.person
    );
    let write =
        |id: &str| pre("Write", json!({ "file_path": format!("{CWD}/a.txt"), "content": "x" }), id);
    let read = |id: &str| pre("Read", json!({ "file_path": format!("{CWD}/a.txt") }), id);
    let rows = [
        (world.send(&read("r1")), Verdict::Allow),
        (world.send(&write("w1")), Verdict::Ask),
        (world.send(&by("scout", write("w2"))), Verdict::Ask),
    ];
    for (sent, verdict) in rows {
        assert_eq!(sent.verdict(), verdict, "{:?}", sent.decision());
        let says = sent
            .out
            .to_string()
            .contains("held until the person's next prompt: nothing safe is known");
        assert_eq!(says, verdict == Verdict::Ask, "{}", sent.out);
    }
    world.send(&prompt("go on with the other file"));
    assert_eq!(world.send(&write("w3")).verdict(), Verdict::Allow);
}
