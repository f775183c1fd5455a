//! In observe mode the interventions that would have been are recorded, and change nothing.

use crate::harness::{Sent, World, answer, detection, detects, usual_response};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{Guidance, Response};
use portcullis_core::policy::Mode;
use portcullis_core::record::{RecordKind, RecordedIntervention};
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::Severity;

fn given(sent: &Sent) -> Option<RecordedIntervention> {
    let mut records = sent.records.iter();
    records.find(|record| record.kind == RecordKind::Intervention)?.intervention.clone()
}

/// A session in which each step shows the pattern, with interventions that tighten limits.
fn world(pattern: &str) -> World {
    let mut world = World::default();
    world.policy.interventions.cooldown_ms = 0;
    world.policy.interventions.escalation_delay_steps = 1;
    world.plugins.detect = detects("noisy", vec![detection(pattern, Severity::High, 900, 500)]);
    world.plugins.intervene = Box::new(|name, issue, _| {
        let limits = vec![Limit { quantity: Quantity::FileOperations, maximum: 5, used: 0 }];
        let guidance = Guidance { limits, ..Guidance::default() };
        let response = match name {
            "resource-throttling" => Response::Guide(guidance),
            _ => usual_response(name, issue),
        };
        Some(answer(name, Ok(response)))
    });
    world
}

type Answers = Vec<(String, u8, u32)>;

/// Returns the answers to so many steps: kind, level, score.
fn play(world: &mut World, steps: usize) -> Answers {
    let one = |index| {
        let sent = world.bash("noisy", &format!("t{index}"));
        let done = given(&sent)?;
        let observing = world.policy.mode == Mode::Observe;
        assert_eq!(done.outcome == RecoveryOutcome::Observed, observing, "{done:?}");
        if observing {
            assert_eq!(
                (sent.effect(), sent.reply.agent.len(), sent.reply.person.len()),
                ("none", 0, 0),
                "{done:?}"
            );
        }
        Some((done.kind, done.level, done.score))
    };
    (0..steps).filter_map(one).collect()
}

#[test]
fn what_would_have_been_is_recorded_and_changes_nothing() {
    for pattern in ["loop", "scope_creep", "resource_spiral", "secret_egress", "hallucination"] {
        let enforced = play(&mut world(pattern), 3);
        let mut observed = world(pattern);
        observed.policy.mode = Mode::Observe;
        let limits = |world: &World| {
            let limits = world.state().session.limits;
            limits.into_iter().map(|limit| (limit.quantity, limit.maximum)).collect::<Vec<_>>()
        };
        observed.bash("ls", "first");
        let before = limits(&observed);
        let answers = play(&mut observed, 3);
        assert_eq!(
            answers.get(..enforced.len()),
            Some(&enforced[..]),
            "{pattern} escalates as usual"
        );
        assert_eq!(answers.len(), 3, "{pattern}: nothing stops it");
        let after = limits(&observed);
        let session = observed.state().session;
        assert_eq!((session.stopped, session.held, session.raised), (None, None, None));
        assert_eq!(after, before, "{pattern}");
    }
}

#[test]
fn what_was_observed_escalates_nothing_that_is_carried_out() {
    let mut world = world("loop");
    let first = play(&mut world, 1);
    world.policy.mode = Mode::Observe;
    play(&mut world, 3);
    world.policy.mode = Mode::Blocking;
    assert_eq!(play(&mut world, 1), first, "the agent hears it from the beginning");
}
