//! Interventions in a session: scores, ladders, delays, silence, and the responses of plugins.

mod responses;

use crate::harness::{Sent, World, answer, by, detection, detects, post, pre};
use portcullis_core::finding::{Guidance, Response, StopReport};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::ladder::{Ladder, LadderAnswer};
use portcullis_core::policy::{InterventionPolicy, IssueScale, Strategy};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::{Score, Severity};
use serde_json::json;

const SOFT: &str = "soft_correction";
const CONTEXT: &str = "context_reinforcement";
const THROTTLE: &str = "resource_throttling";
const ROLLBACK: &str = "checkpoint_rollback";
const STOP: &str = "emergency_stop";

#[test]
fn scores_follow_the_formula() {
    let scale = IssueScale::default();
    for (severity, confidence, impact, level, expected) in [
        (Severity::Low, 1000, 0, 0, 200),
        (Severity::Low, 0, 1000, 0, 0),
        (Severity::Medium, 600, 500, 0, 450),
        (Severity::Medium, 1000, 1000, 0, 1000),
        (Severity::High, 800, 250, 0, 800),
        (Severity::High, 800, 250, 2, 1400),
        (Severity::Critical, 1000, 1000, 4, 3200),
    ] {
        assert_eq!(
            scale.score_issue(severity, Score::new(confidence), Score::new(impact), level),
            expected,
            "{severity} {confidence} {impact} {level}"
        );
    }
    for (score, kind) in [
        (0, SOFT),
        (299, SOFT),
        (300, CONTEXT),
        (499, CONTEXT),
        (500, THROTTLE),
        (699, THROTTLE),
        (700, ROLLBACK),
        (899, ROLLBACK),
        (900, STOP),
        (9000, STOP),
    ] {
        assert_eq!(scale.allowed_kind(score).as_str(), kind, "{score}");
    }
    assert_eq!(InterventionKind::CheckpointRollback.plugin_name(), "checkpoint-rollback");
}

fn intervention(sent: &Sent) -> Option<&Record> {
    sent.records.iter().find(|record| record.kind == RecordKind::Intervention)
}

fn kind(sent: &Sent) -> Option<String> {
    Some(intervention(sent)?.intervention.as_ref()?.kind.clone())
}

fn world(pattern: &str, severity: Severity, confidence: u16, impact: u16) -> World {
    let mut world = World::default();
    world.plugins.detect = detects("noisy", vec![detection(pattern, severity, confidence, impact)]);
    world
}

#[test]
fn every_pattern_has_its_ladder() {
    let ladders = [
        ("repetitive_errors", [SOFT, CONTEXT, ROLLBACK, ROLLBACK]),
        ("goal_drift", [SOFT, CONTEXT, ROLLBACK, ROLLBACK]),
        ("loop", [SOFT, CONTEXT, ROLLBACK, ROLLBACK]),
        ("a pattern of somebody's own", [SOFT, CONTEXT, ROLLBACK, ROLLBACK]),
        ("scope_creep", [CONTEXT, THROTTLE, STOP, STOP]),
        ("resource_spiral", [THROTTLE, ROLLBACK, STOP, STOP]),
        ("hallucination", [CONTEXT, ROLLBACK, STOP, STOP]),
        ("instruction_injection", [CONTEXT, ROLLBACK, STOP, STOP]),
        ("blocked_then_bypassed", [CONTEXT, STOP, STOP, STOP]),
        ("secret_egress", [CONTEXT, STOP, STOP, STOP]),
    ];
    for (pattern, ladder) in ladders {
        for (severity, expected) in Severity::ALL.iter().zip(ladder) {
            // Goes straight to the column of the severity, even with a low score.
            let mut direct = world(pattern, *severity, 100, 0);
            direct.policy.interventions.strategy = Strategy::PatternSpecific;
            assert_eq!(
                kind(&direct.bash("noisy", "t1")).as_deref(),
                Some(expected),
                "{pattern} {severity}"
            );
            // Progressive begins at the lowest column, except that critical goes to the last one at
            // once.
            let first = if *severity == Severity::Critical { ladder[3] } else { ladder[0] };
            let sent = world(pattern, *severity, 1000, 1000).bash("noisy", "t1");
            assert_eq!(kind(&sent).as_deref(), Some(first), "{pattern} {severity}, progressive");
        }
    }
}

#[test]
fn the_policy_sets_the_ladder_of_any_pattern() {
    use InterventionKind::{CheckpointRollback, EmergencyStop, ResourceThrottling, SoftCorrection};
    // A builtin pattern, one of the builtin ones without an entry, and somebody else's.
    for pattern in ["secret_egress", "loop", "a pattern of somebody's own"] {
        let answers = [SoftCorrection, ResourceThrottling, CheckpointRollback, EmergencyStop];
        let ladder = Ladder::from_kinds(answers).unwrap();
        for (severity, expected) in Severity::ALL.iter().zip(answers) {
            let mut world = world(pattern, *severity, 100, 0);
            world.policy.interventions.strategy = Strategy::PatternSpecific;
            world.policy.interventions.ladders.insert(pattern.to_owned(), ladder.clone());
            let sent = world.bash("noisy", "t1");
            assert_eq!(kind(&sent).as_deref(), Some(expected.as_str()), "{pattern} {severity}");
        }
    }
    assert_eq!(
        Ladder::from_kinds([EmergencyStop, EmergencyStop, SoftCorrection, EmergencyStop]),
        None
    );
}

#[test]
fn a_plugins_own_intervention_has_a_place_in_the_ladder() {
    let guide = |text: &str| {
        Response::Guide(Guidance { messages: vec![text.to_owned()], ..Default::default() })
    };
    let stop = Response::Stop { message: "stop".into(), report: StopReport::default() };
    // The answers, what the plugin says (none: it does not exist), the names in the records of
    // three occurrences, and whether there is a fault.
    let row = [SOFT, "context_reinforcement:mine", "checkpoint_rollback:mine", STOP];
    for (case, says, expected, is_fault) in [
        ("it is there", Some(guide("mine")), [SOFT, row[1], row[2]], false),
        ("nobody gives it", None, [SOFT, CONTEXT, ROLLBACK], false),
        ("it is too strict", Some(stop), [SOFT, row[1], row[2]], true),
    ] {
        let mut world = world("loop", Severity::Medium, 600, 500);
        world.policy.interventions.disabled = vec![CONTEXT.into()];
        let answers = row.map(|name| LadderAnswer::parse_answer(name).unwrap());
        world.policy.interventions.ladders.insert("loop".into(), Ladder::new(answers).unwrap());
        let mut usual = world.plugins.intervene;
        world.plugins.intervene = Box::new(move |name, issue, situation| match name {
            "mine" => Some(answer(name, Ok(says.clone()?))),
            _ => usual(name, issue, situation),
        });
        for (index, expected) in expected.into_iter().enumerate() {
            // Switching the kind off leaves the plugin's own intervention in its place.
            let expected = if expected == CONTEXT { SOFT } else { expected };
            let sent = world.bash("noisy", &format!("n{index}"));
            assert_eq!(kind(&sent).as_deref(), Some(expected), "{case}");
            let record = intervention(&sent).unwrap();
            let own = expected.contains(':');
            assert_eq!(!record.faults.is_empty(), is_fault && own, "{case}: {:?}", record.faults);
            let stopped = world.state().session.stopped.is_some();
            assert!(!stopped, "{case}: a place in the ladder is a limit");
            for quiet in 0..2 {
                world.bash("ls", &format!("q{index}-{quiet}"));
            }
            world.now += 60_000;
        }
    }
}

/// Another occurrence: quiet steps and milliseconds since the last one.
type Wait = (u64, u64);
/// A case: changes of policy, pattern, severity, confidence, impact, the occurrences, and the
/// answer to each with its level.
type Case = (
    &'static str,
    fn(&mut InterventionPolicy),
    (&'static str, Severity, u16, u16),
    Vec<Wait>,
    Vec<Option<(&'static str, u8)>>,
);

#[test]
fn answers_escalate_wait_and_fall_silent() {
    let usual: fn(&mut InterventionPolicy) = |_| {};
    let medium = ("loop", Severity::Medium, 600, 500);
    let cases: Vec<Case> = vec![
        (
            "one step right for each recurrence",
            usual,
            medium,
            vec![(0, 0), (2, 60_000), (2, 60_000), (2, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((ROLLBACK, 2)), Some((ROLLBACK, 3))],
        ),
        (
            "never past what the score allows",
            usual,
            ("loop", Severity::Low, 500, 0),
            vec![(0, 0), (2, 60_000), (2, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((ROLLBACK, 2))],
        ),
        (
            "nor past it where the score is small",
            usual,
            ("loop", Severity::Low, 100, 0),
            vec![(0, 0), (3, 60_000), (3, 60_000)],
            vec![Some((SOFT, 0)), Some((SOFT, 0)), Some((SOFT, 0))],
        ),
        (
            "nothing before three steps or two minutes",
            usual,
            medium,
            vec![(0, 0), (1, 60_000)],
            vec![Some((SOFT, 0)), None],
        ),
        (
            "three steps are enough",
            usual,
            medium,
            vec![(0, 0), (2, 31_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1))],
        ),
        (
            "two minutes are enough",
            usual,
            medium,
            vec![(0, 0), (0, 60_000), (0, 60_000)],
            vec![Some((SOFT, 0)), None, Some((CONTEXT, 1))],
        ),
        (
            "what worked lets the level fall",
            usual,
            medium,
            vec![(0, 0), (2, 60_000), (4, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((CONTEXT, 0))],
        ),
        (
            "the level has an end",
            |policy| policy.cooldown_ms = 0,
            medium,
            vec![(0, 0), (2, 1), (2, 1), (2, 1), (2, 1), (2, 1)],
            vec![
                Some((SOFT, 0)),
                Some((CONTEXT, 1)),
                Some((ROLLBACK, 2)),
                Some((ROLLBACK, 3)),
                Some((ROLLBACK, 4)),
                Some((ROLLBACK, 4)),
            ],
        ),
        (
            "critical does not wait",
            usual,
            ("loop", Severity::Critical, 900, 500),
            vec![(0, 0), (0, 0)],
            vec![Some((ROLLBACK, 0)), Some((ROLLBACK, 1))],
        ),
        (
            "the cooldown silences guidance, which counts as not given",
            usual,
            medium,
            vec![(0, 0), (2, 0), (2, 0), (2, 30_000)],
            vec![Some((SOFT, 0)), None, None, Some((CONTEXT, 1))],
        ),
        (
            "the cooldown silences guidance alone",
            usual,
            medium,
            vec![(0, 0), (2, 30_000), (2, 0)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((ROLLBACK, 2))],
        ),
        (
            "no cooldown",
            |policy| policy.cooldown_ms = 0,
            medium,
            vec![(0, 0), (2, 0)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1))],
        ),
        (
            "past the most, guidance is silent",
            |policy| policy.most = 1,
            medium,
            vec![(0, 0), (2, 60_000), (2, 60_000)],
            vec![Some((SOFT, 0)), None, None],
        ),
        (
            "past the most, only guidance is silent",
            |policy| policy.most = 2,
            medium,
            vec![(0, 0), (2, 60_000), (2, 60_000), (2, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((ROLLBACK, 2)), Some((ROLLBACK, 3))],
        ),
        (
            "none at all are wanted, but a stop is none of them",
            |policy| policy.most = 0,
            ("secret_egress", Severity::Critical, 900, 1000),
            vec![(0, 0)],
            vec![Some((STOP, 0))],
        ),
        (
            "a disabled one: a milder one stands in",
            |policy| policy.disabled = vec![CONTEXT.into()],
            medium,
            vec![(0, 0), (2, 60_000)],
            vec![Some((SOFT, 0)), Some((SOFT, 1))],
        ),
        (
            "the mildest disabled: nothing",
            |policy| policy.disabled = vec![SOFT.into()],
            medium,
            vec![(0, 0), (2, 60_000)],
            vec![None, Some((CONTEXT, 1))],
        ),
        (
            "limits stand in only where the ladder has them",
            |policy| policy.disabled = vec![ROLLBACK.into(), CONTEXT.into()],
            ("loop", Severity::Critical, 900, 500),
            vec![(0, 0)],
            vec![Some((SOFT, 0))],
        ),
        (
            "a disabled stop holds all the same",
            |policy| policy.disabled = vec![STOP.into()],
            ("secret_egress", Severity::Critical, 900, 1000),
            vec![(0, 0)],
            vec![Some((ROLLBACK, 0))],
        ),
        (
            "what works is a setting",
            |policy| policy.effective_from = Score::new(1000),
            medium,
            vec![(0, 0), (2, 60_000), (4, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1)), Some((ROLLBACK, 2))],
        ),
        (
            "so are the weights of severities and the scores that answers need",
            |policy| {
                policy.scale.base = [0, 100, 1000, 1000].map(Score::new);
                policy.scale.from = [500, 600, 1000, 1000].map(Score::new);
            },
            medium,
            vec![(0, 0), (2, 60_000), (2, 60_000)],
            vec![Some((SOFT, 0)), Some((SOFT, 1)), Some((CONTEXT, 2))],
        ),
        (
            "another delay in steps",
            |policy| policy.escalation_delay_steps = 1,
            medium,
            vec![(0, 0), (0, 60_000)],
            vec![Some((SOFT, 0)), Some((CONTEXT, 1))],
        ),
    ];
    for (name, change, (pattern, severity, confidence, impact), waits, expected) in cases {
        let mut world = world(pattern, severity, confidence, impact);
        change(&mut world.policy.interventions);
        let mut found = Vec::new();
        for (index, (steps, ms)) in waits.into_iter().enumerate() {
            for step in 0..steps {
                world.bash("ls", &format!("q{index}-{step}"));
            }
            world.now += ms;
            let sent = world.bash("noisy", &format!("n{index}"));
            found.push(kind(&sent).map(|kind| {
                (kind, intervention(&sent).unwrap().intervention.as_ref().unwrap().level)
            }));
        }
        let found: Vec<Option<(&str, u8)>> = found
            .iter()
            .map(|found| found.as_ref().map(|(kind, level)| (kind.as_str(), *level)))
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn effectiveness_is_how_far_the_next_steps_were_free() {
    for (quiet, expected) in [(2, 400), (3, 600), (4, 800), (5, 1000), (9, 1000)] {
        let mut world = world("loop", Severity::Medium, 600, 500);
        world.bash("noisy", "n0");
        (0..quiet).for_each(|step| drop(world.bash("ls", &format!("q{step}"))));
        world.now += 60_000;
        world.bash("noisy", "n1");
        let past = world.state().session.interventions;
        assert_eq!(past[0].effectiveness, Some(Score::new(expected)), "{quiet} quiet steps");
        assert_eq!(past[1].effectiveness, None, "too early to say");
    }
}

#[test]
fn a_subagents_steps_do_not_lower_the_level_of_its_session() {
    let mut world = world("loop", Severity::Medium, 600, 500);
    (0..50).for_each(|step| drop(world.bash("ls", &format!("q{step}"))));
    world.bash("noisy", "n0");
    let noisy = |id: &str| by("a1", pre("Bash", json!({"command": "noisy"}), id));
    let quiet = |id: &str| by("a1", pre("Bash", json!({"command": "ls"}), id));
    world.now += 60_000;
    world.send(&quiet("s1"));
    world.send(&quiet("s2"));
    let sent = world.send(&noisy("s3"));
    assert_eq!(kind(&sent).as_deref(), Some(CONTEXT), "three steps have gone by in the session");
    world.now += 60_000;
    world.bash("ls", "q51");
    world.bash("ls", "q52");
    assert_eq!(
        kind(&world.bash("noisy", "n1")).as_deref(),
        Some(ROLLBACK),
        "as have three more; the main agent's fifty are not counted again"
    );
}

#[test]
fn an_issue_after_the_fact_is_answered_too() {
    let mut world = World::default();
    world.plugins.detect = Box::new(|_, action, _| {
        let detections = if action.outcome.is_some() {
            vec![detection("loop", Severity::Medium, 600, 500)]
        } else {
            Vec::new()
        };
        vec![answer("pattern", Ok(portcullis_core::finding::Report { detections, state: None }))]
    });
    world.bash("ls", "t1");
    let sent = world.send(&post("Bash", json!({"command": "ls"}), "t1", json!("done")));
    assert_eq!((kind(&sent).as_deref(), sent.effect(), sent.answer.exit), (Some(SOFT), "none", 0));
    assert_eq!(
        sent.at("/hookSpecificOutput/additionalContext"),
        Some(&json!("Portcullis: soft-correction on loop"))
    );
    assert_eq!(sent.records[0].kind, RecordKind::Outcome, "the outcome comes first");
}
