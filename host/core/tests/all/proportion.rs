//! Proportionality of interventions: of several issues the worst is answered, more detections never
//! make the answer milder, and limits never loosen.

use crate::harness::{Scripted, Sent, World, answer, detection, event, guidance, prompt};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{
    Background, Detection, Guidance, Issue, Report, Response, StopReport,
};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::policy::{InterventionPolicy, Strategy as Course};
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Score, Severity};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SOFT: &str = "soft_correction";
const CONTEXT: &str = "context_reinforcement";
const THROTTLE: &str = "resource_throttling";
const ROLLBACK: &str = "checkpoint_rollback";
const STOP: &str = "emergency_stop";

/// Returns interventions of all kinds, by name; the decider's kind follows the severity. Those in
/// `missing` do not exist.
fn interventions(missing: &[InterventionKind]) -> Scripted {
    let missing: Vec<String> = missing.iter().map(|kind| kind.plugin_name()).collect();
    let respond = |name: &str, issue: &Issue| match name {
        "emergency-stop" => {
            Response::Stop { message: issue.name.clone(), report: StopReport::default() }
        }
        "checkpoint-rollback" => {
            Response::RecoveryNeeded { reason: issue.name.clone(), steps: Vec::new() }
        }
        "resource-throttling" => {
            let limits = vec![Limit {
                quantity: Quantity::FileOperations,
                maximum: u64::from(issue.confidence.get() / 10),
                used: 0,
            }];
            Response::Guide(Guidance { limits, ..Guidance::default() })
        }
        "context-reinforcement" => {
            let background = vec![Background {
                title: "asked".into(),
                text: issue.name.clone(),
                emphasised: true,
            }];
            Response::Guide(Guidance { background, ..Guidance::default() })
        }
        _ => guidance(&issue.name),
    };
    let intervene = move |name: &str, issue: &Issue, _: &_| {
        let meant = if name == "decider" {
            ["soft-correction", "context-reinforcement", "resource-throttling", "emergency-stop"]
                [issue.severity as usize]
        } else {
            name
        };
        (!missing.iter().any(|gone| gone == name)).then(|| answer(name, Ok(respond(meant, issue))))
    };
    Scripted { intervene: Box::new(intervene), watched: false, ..Scripted::default() }
}

/// Sets the patterns' detections from now on.
fn notice(world: &mut World, detections: &[Detection]) {
    let detections = detections.to_vec();
    world.plugins.detect = Box::new(move |_, action, _| {
        let detections = if action.outcome.is_none() { detections.clone() } else { Vec::new() };
        vec![answer("pattern", Ok(Report { detections, state: None }))]
    });
}

/// Returns the interventions in an answer, in order.
fn answered(sent: &Sent) -> Vec<(InterventionKind, String)> {
    let interventions = sent.records.iter().filter_map(|record| record.intervention.as_ref());
    interventions
        .map(|one| {
            (
                *InterventionKind::ALL.iter().find(|kind| kind.as_str() == one.kind).unwrap(),
                one.issue.clone(),
            )
        })
        .collect()
}

/// Simultaneous detections as (pattern, severity, confidence, impact), and the answers in order.
type Together = (
    &'static str,
    &'static [(&'static str, Severity, u16, u16)],
    &'static [(&'static str, &'static str)],
);

#[test]
fn of_several_issues_the_worst_is_answered() {
    use Severity::{Critical, High, Low, Medium};
    let cases: [Together; 7] = [
        (
            "the milder word would blur the sterner",
            &[("goal_drift", Low, 580, 400), ("scope_creep", Low, 250, 400)],
            &[(CONTEXT, "scope_creep")],
        ),
        (
            "whichever comes first",
            &[("scope_creep", Low, 250, 400), ("goal_drift", Low, 580, 400)],
            &[(CONTEXT, "scope_creep")],
        ),
        (
            "of two like words the surer one is said",
            &[("loop", Low, 300, 0), ("goal_drift", Low, 900, 900)],
            &[(SOFT, "goal_drift")],
        ),
        (
            "limits need no silence",
            &[("loop", Low, 300, 0), ("resource_spiral", Medium, 900, 500)],
            &[(THROTTLE, "resource_spiral")],
        ),
        (
            "what is more than words is done for each",
            &[
                ("resource_spiral", Medium, 900, 500),
                ("secret_egress", Critical, 900, 1000),
                ("loop", Critical, 900, 500),
            ],
            &[(STOP, "secret_egress"), (ROLLBACK, "loop"), (THROTTLE, "resource_spiral")],
        ),
        (
            "one pattern is one issue",
            &[("loop", Low, 900, 900), ("loop", Critical, 100, 0)],
            &[(ROLLBACK, "loop")],
        ),
        (
            "and the order of its detections is nothing",
            &[("loop", Critical, 100, 0), ("loop", High, 900, 900)],
            &[(ROLLBACK, "loop")],
        ),
    ];
    for (name, found, expected) in cases {
        let mut world = World::with(interventions(&[]));
        notice(
            &mut world,
            &found
                .iter()
                .map(|(pattern, severity, confidence, impact)| {
                    detection(pattern, *severity, *confidence, *impact)
                })
                .collect::<Vec<_>>(),
        );
        let answers = answered(&world.bash("make", "t1"));
        let brief: Vec<(&str, &str)> =
            answers.iter().map(|(kind, issue)| (kind.as_str(), issue.as_str())).collect();
        assert_eq!(brief, expected, "{name}");
    }
}

/// The steps at which the issue is seen after it was answered at step 0, and the steps whose
/// records report its effectiveness.
type Judged = (&'static str, &'static [u64], &'static [(u64, u16)]);

#[test]
fn a_record_tells_how_well_an_intervention_worked() {
    let cases: [Judged; 6] = [
        ("it never came back", &[], &[(6, 1000)]),
        ("it came back after five free steps", &[6], &[(6, 1000)]),
        ("it came back too early to be answered again", &[1], &[(1, 0)]),
        ("and again when it was", &[1, 5], &[(1, 0)]),
        ("two free steps", &[3], &[(3, 400), (9, 1000)]),
        ("each answer by itself", &[3, 7], &[(3, 400), (7, 600)]),
    ];
    for (name, seen, expected) in cases {
        let mut world = World::with(interventions(&[]));
        world.policy.interventions.escalation_delay_ms = u64::MAX;
        for step in 0..10 {
            let found = (step == 0 || seen.contains(&step))
                .then(|| detection("scope_creep", Severity::Medium, 600, 500));
            notice(&mut world, found.as_slice());
            world.now += 40_000;
            world.runs("make", &format!("t{step}"));
        }
        let mut judgements = Vec::new();
        for record in world.journal.iter().filter(|record| !record.judged.is_empty()) {
            assert_eq!(record.kind, RecordKind::Review, "{name}");
            judgements.extend(
                record
                    .judged
                    .iter()
                    .map(|past| (record.step.unwrap(), past.effectiveness.unwrap().get())),
            );
            assert!(
                record.judged.iter().all(|past| past.issue == "scope_creep"),
                "{name}: {record:?}"
            );
        }
        assert_eq!(judgements, expected, "{name}");
        let end = world.send(&event("SessionEnd", json!({"reason": "other"}))).records.remove(0);
        let helped = expected.iter().filter(|(_, score)| *score >= 600).count();
        assert!(
            end.summary.ends_with(&format!(" ({helped} of {} helped)", expected.len())),
            "{name}: {}",
            end.summary
        );
        let effectiveness = end.details["effectiveness"].as_array().cloned().unwrap_or_default();
        let sum = |key: &str| {
            effectiveness.iter().filter_map(|one| one[key].as_u64()).sum::<u64>() as usize
        };
        assert_eq!(
            (sum("judged"), sum("helped")),
            (expected.len(), helped),
            "{name}: {effectiveness:?}"
        );
        assert!(
            effectiveness.iter().all(|one| one["issue_type"] == "scope_creep"),
            "{name}: {effectiveness:?}"
        );
    }
}

#[test]
fn a_return_before_the_delay_counts_as_failure() {
    // Seen at steps 0, 1 and 6: five free steps are between the last two, but the answer was given
    // at the first.
    let mut world = World::with(interventions(&[]));
    let level = |sent: &Sent| {
        sent.records.iter().find_map(|record| record.intervention.as_ref()).map(|one| one.level)
    };
    let mut levels = Vec::new();
    for step in 0..7 {
        let found = if [0, 1, 6].contains(&step) {
            vec![detection("loop", Severity::Medium, 600, 500)]
        } else {
            Vec::new()
        };
        notice(&mut world, &found);
        world.now += 31_000;
        levels.extend(level(&world.bash("make", &format!("t{step}"))));
    }
    assert_eq!(levels, [0, 1]);
}

#[test]
fn a_disabled_choice_of_the_decider_becomes_the_next_milder_one() {
    let cases = [
        (Severity::High, &[][..], vec![], THROTTLE),
        (Severity::High, &[THROTTLE][..], vec![], CONTEXT),
        (Severity::High, &[THROTTLE, CONTEXT][..], vec![], SOFT),
        (Severity::Critical, &[STOP][..], vec![], ROLLBACK),
        (Severity::Critical, &[STOP, ROLLBACK][..], vec![], THROTTLE),
        (Severity::Critical, &[STOP][..], vec![InterventionKind::CheckpointRollback], THROTTLE),
        (Severity::Medium, &[][..], vec![], CONTEXT),
        (Severity::Medium, &[STOP][..], vec![], CONTEXT),
    ];
    // The row of `goal_drift` has no limits, and that of `resource_spiral` has.
    for ((severity, disabled, missing, expected), pattern) in
        cases.iter().flat_map(|case| [(case, "goal_drift"), (case, "resource_spiral")])
    {
        let mut world = World::with(interventions(missing));
        world.policy.interventions = InterventionPolicy {
            strategy: Course::Custom,
            decider: Some("decider".into()),
            disabled: disabled.iter().map(|kind| (*kind).to_owned()).collect(),
            ..InterventionPolicy::default()
        };
        // The host's own choice is the mildest here.
        notice(&mut world, &[detection(pattern, *severity, 0, 0)]);
        let answers = answered(&world.bash("make", "t1"));
        let kinds: Vec<&str> = answers.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, [*expected], "{pattern} {severity:?} without {disabled:?}, {missing:?}");
    }
}

fn any_detection() -> impl Strategy<Value = Detection> {
    let patterns = &[
        "loop",
        "goal_drift",
        "scope_creep",
        "resource_spiral",
        "hallucination",
        "secret_egress",
        "blocked_then_bypassed",
        "mine",
    ][..];
    let part = || 0_u16..=1000;
    (prop::sample::select(patterns), prop::sample::select(Severity::ALL), part(), part()).prop_map(
        |(pattern, severity, confidence, impact)| detection(pattern, severity, confidence, impact),
    )
}

/// One turn of a session: elapsed milliseconds, true if the person speaks first, and the patterns'
/// detections.
type Turn = (u64, bool, Vec<Detection>);

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let found =
        prop_oneof![2 => Just(Vec::new()), 3 => prop::collection::vec(any_detection(), 1..4)];
    prop::collection::vec(
        (prop::sample::select(&[0, 1_000, 31_000, 121_000][..]), prop::bool::weighted(0.1), found),
        0..8,
    )
}

fn policy() -> impl Strategy<Value = InterventionPolicy> {
    let courses =
        prop::sample::select(&[Course::Progressive, Course::PatternSpecific, Course::Custom][..]);
    let disabled = prop::collection::vec(prop::sample::select(InterventionKind::ALL), 0..2);
    (courses, disabled, 0_u32..12).prop_map(|(strategy, disabled, most)| InterventionPolicy {
        strategy,
        decider: Some("decider".into()),
        disabled: disabled.iter().map(|kind| kind.as_str().to_owned()).collect(),
        most,
        ..InterventionPolicy::default()
    })
}

fn turn(world: &mut World, index: usize, (wait, speaks, found): &Turn) -> Sent {
    world.now += wait;
    if *speaks {
        world.send(&prompt("go on"));
    }
    notice(world, found);
    let sent = world.bash("make it", &format!("t{index}"));
    world.send(&crate::harness::post(
        "Bash",
        json!({ "command": "make it" }),
        &format!("t{index}"),
        json!("done"),
    ));
    sent
}

fn played(turns: &[Turn], policy: &InterventionPolicy, missing: &[InterventionKind]) -> World {
    let mut world = World::with(interventions(missing));
    world.policy.interventions = policy.clone();
    turns.iter().enumerate().for_each(|(index, one)| drop(turn(&mut world, index, one)));
    world
}

/// Returns the strictness of the client's answer.
fn strictness(out: &Value) -> u8 {
    match crate::harness::effect(out) {
        "none" => 0,
        "rewrite" => 1,
        "ask" => 2,
        "deny" => 3,
        _ => 4,
    }
}

fn maxima(world: &World) -> BTreeMap<String, u64> {
    world
        .state()
        .session
        .limits
        .into_iter()
        .map(|limit| (format!("{:?}", limit.quantity), limit.maximum))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// After any history, one more detection never makes the answer milder.
    #[test]
    fn more_detections_never_mean_a_milder_answer(
        before in turns(),
        mut found in prop::collection::vec(any_detection(), 0..4),
        more in any_detection(),
        at in any::<prop::sample::Index>(),
        policy in policy(),
        missing in prop::collection::vec(prop::sample::select(InterventionKind::ALL), 0..2),
    ) {
        let outcome = |found: &[Detection]| {
            let mut world = played(&before, &policy, &missing);
            let sent = turn(&mut world, before.len(), &(40_000, false, found.to_vec()));
            let state = world.state().session;
            let sternest = answered(&sent).into_iter().map(|(kind, _)| kind).max();
            (sternest, strictness(&sent.out), sent.verdict(), state.stopped.is_some(), state.held.is_some() || state.stopped.is_some())
        };
        let alone = outcome(&found);
        found.insert(at.index(found.len() + 1), more);
        let together = outcome(&found);
        let (sternest, answer, verdict, stopped, held) = together;
        prop_assert!(
            sternest >= alone.0 && answer >= alone.1 && verdict >= alone.2 && stopped >= alone.3 && held >= alone.4,
            "{:?} became {:?}", alone, together
        );
    }

    /// With any proposals of interventions and any events between them, a limit that is in force
    /// stays and never loosens.
    #[test]
    fn limits_only_tighten(turns in turns(), starts in prop::collection::vec(any::<bool>(), 8), configured in 1_u64..500) {
        let mut world = World::with(interventions(&[]));
        let mut before = BTreeMap::new();
        for (index, one) in turns.iter().enumerate() {
            if starts[index % starts.len()] {
                world.send(&event("SessionStart", json!({ "source": "resume" })));
            }
            turn(&mut world, index, one);
            // The operator's limits apply when a session begins, not in the middle of one.
            world.policy.limits.file_operations = configured;
            let after = maxima(&world);
            for (quantity, maximum) in &before {
                prop_assert!(after.get(quantity).is_some_and(|now| now <= maximum), "{} {} became {:?}", quantity, maximum, after.get(quantity));
            }
            before = after;
        }
    }

    /// An additional or more severe intervention never leaves a session with a looser limit.
    #[test]
    fn a_limit_is_the_tightest_that_was_set(proposals in prop::collection::vec((0_usize..5, 0_u64..2000), 1..12)) {
        let quantities = [Quantity::FileOperations, Quantity::Tokens, Quantity::Time, Quantity::BatchSize, Quantity::Other("cups".into())];
        let mut world = World::default();
        let mut least: BTreeMap<String, u64> = BTreeMap::new();
        world.bash("ls", "t0");
        least.extend(maxima(&world));
        for (index, (which, maximum)) in proposals.iter().enumerate() {
            let quantity = quantities[*which].clone();
            let one = least.entry(format!("{quantity:?}")).or_insert(u64::MAX);
            *one = (*one).min(*maximum);
            let limits = vec![Limit { quantity, maximum: *maximum, used: 0 }];
            world.plugins.intervene = Box::new(move |name, _, _| Some(answer(name, Ok(Response::Guide(Guidance { limits: limits.clone(), ..Guidance::default() })))));
            notice(&mut world, &[Detection { severity: Severity::Critical, confidence: Score::MAX, ..detection("loop", Severity::Low, 0, 0) }]);
            world.bash("make", &format!("n{index}"));
            prop_assert_eq!(&maxima(&world), &least);
        }
    }
}
