//! The choice of a checkpoint.

mod words;

use super::*;
use portcullis_plugin::intervention::{Checkpoint, PastIntervention, Plan, Severity};
use portcullis_plugin::testing::{self, BuildContext, BuildIssue, NOW};
use portcullis_plugin::types::{Outcome, Status, StepDetail};

const MINUTE: u64 = 60_000;

/// Returns the answer: the checkpoint with the message, or the plan.
fn answer(
    settings: &[Setting],
    issue: &Issue,
    situation: &Situation,
    context: &Context,
) -> Result<Result<(String, String), Plan>, Error> {
    let prepared = CheckpointRollback::prepare(settings)?;
    match CheckpointRollback::intervene(&prepared, issue, situation, context)? {
        Response::Rollback(rollback) => {
            assert!(rollback.guidance.limits.is_empty());
            assert!(rollback.guidance.background.iter().all(|fact| fact.text.len() <= 4096));
            let [message] = <[String; 1]>::try_from(rollback.guidance.messages).unwrap();
            assert!(message.len() <= 4096);
            Ok(Ok((rollback.checkpoint, message)))
        }
        Response::RecoveryNeeded(plan) => {
            assert!(
                plan.reason.len() <= 4096
                    && plan.steps.len() <= 64
                    && plan.steps.iter().all(|step| step.len() <= 4096)
            );
            Ok(Err(plan))
        }
        other => panic!("neither back nor a plan: {other:?}"),
    }
}

fn bare(name: &str, severity: Severity) -> Issue {
    testing::issue(name, severity, "a summary of it")
}

fn full(name: &str) -> Issue {
    [
        ("path", "/srv/other"),
        ("command", "cargo test"),
        ("host", "files.example"),
        ("error", "no such file"),
        ("growth", "files x 2"),
    ]
    .iter()
    .chain(&[("alternative", "git revert"), ("refused", "rm -rf build")])
    .fold(bare(name, Severity::High), |issue, (kind, value)| issue.with(kind, value))
}

/// Returns a checkpoint taken before that step, so many minutes ago.
fn taken(id: &str, step: u64, minutes: u64) -> Checkpoint {
    Checkpoint {
        id: id.into(),
        step,
        at: NOW - minutes * MINUTE,
        success_rate: 900,
        unsafe_because: None,
    }
}

fn with(checkpoints: Vec<Checkpoint>) -> Situation {
    Situation { checkpoints, ..testing::situation() }
}

fn back(minutes: u64, effectiveness: Option<u16>) -> PastIntervention {
    PastIntervention {
        kind: "checkpoint_rollback".into(),
        issue: "loop".into(),
        step: 5,
        at: NOW - minutes * MINUTE,
        effectiveness,
    }
}

/// The issue began at step 3.
#[test]
fn the_newest_safe_checkpoint_is_taken() {
    let poor = |checkpoint: Checkpoint, rate| Checkpoint { success_rate: rate, ..checkpoint };
    let marked = |checkpoint: Checkpoint, reason: &str| Checkpoint {
        unsafe_because: Some(reason.into()),
        ..checkpoint
    };
    type Case =
        (&'static str, Vec<Checkpoint>, Vec<PastIntervention>, Result<&'static str, &'static str>);
    let cases: Vec<Case> = vec![
        ("one", vec![taken("a", 2, 5)], vec![], Ok("a")),
        ("just before it", vec![taken("a", 3, 5)], vec![], Ok("a")),
        (
            "the newest of several",
            vec![taken("c", 3, 1), taken("b", 2, 2), taken("a", 1, 3)],
            vec![],
            Ok("c"),
        ),
        (
            "in any order",
            vec![taken("a", 1, 3), taken("c", 3, 1), taken("b", 2, 2)],
            vec![],
            Ok("c"),
        ),
        ("after it began", vec![taken("late", 4, 1), taken("a", 1, 3)], vec![], Ok("a")),
        ("none", vec![], vec![], Err("there is no checkpoint")),
        (
            "only after it began",
            vec![taken("late", 4, 1)],
            vec![],
            Err("after this began at step 3"),
        ),
        (
            "marked",
            vec![marked(taken("b", 2, 1), "tests\nfail"), taken("a", 1, 3)],
            vec![],
            Ok("a"),
        ),
        (
            "only marked",
            vec![marked(taken("b", 2, 1), "tests\nfail")],
            vec![],
            Err("not safe: tests fail"),
        ),
        (
            "marked without a word",
            vec![marked(taken("b", 2, 1), " ")],
            vec![],
            Err("marked as unsafe"),
        ),
        ("enough success", vec![poor(taken("b", 2, 1), 800)], vec![], Ok("b")),
        (
            "too little success",
            vec![poor(taken("b", 2, 1), 799), taken("a", 1, 2)],
            vec![],
            Ok("a"),
        ),
        (
            "only too little success",
            vec![poor(taken("b", 2, 1), 600)],
            vec![],
            Err("only 0.60 of the steps"),
        ),
        ("old enough to keep", vec![taken("a", 1, 30)], vec![], Ok("a")),
        ("too old", vec![taken("a", 1, 31)], vec![], Err("31 minutes old, 30 are allowed")),
        ("without a name", vec![taken(" \u{200b}", 2, 1), taken("a", 1, 2)], vec![], Ok("a")),
        ("twice in vain", vec![taken("a", 1, 9)], vec![back(1, None), back(2, Some(599))], Ok("a")),
        (
            "three times in vain",
            vec![taken("a", 1, 9)],
            vec![back(1, None), back(2, Some(0)), back(3, Some(200))],
            Err("a rollback was the answer 3 times"),
        ),
        (
            "it worked between",
            vec![taken("a", 1, 9)],
            vec![back(1, None), back(2, Some(600)), back(3, None), back(4, None)],
            Ok("a"),
        ),
        (
            "newer than the returns",
            vec![taken("b", 2, 1)],
            vec![back(2, None), back(3, None), back(4, None)],
            Ok("b"),
        ),
        (
            "other answers do not count",
            vec![taken("a", 1, 9)],
            (1..5)
                .map(|minutes| PastIntervention {
                    kind: "soft_correction".into(),
                    ..back(minutes, None)
                })
                .collect(),
            Ok("a"),
        ),
        (
            "several, none",
            vec![taken("c", 5, 1), taken("b", 4, 1), poor(taken("a", 1, 1), 0)],
            vec![],
            Err("none of the 3 checkpoints"),
        ),
    ];
    for (name, checkpoints, past, expected) in cases {
        let situation = Situation { past, ..with(checkpoints) };
        match (
            answer(&[], &bare("loop", Severity::High), &situation, &testing::context()).unwrap(),
            expected,
        ) {
            (Ok((id, _)), Ok(wanted)) => assert_eq!(id, wanted, "{name}"),
            (Err(plan), Err(part)) => {
                assert!(plan.reason.contains(part), "{name}: {}", plan.reason)
            }
            (answer, expected) => panic!("{name}: {answer:?} for {expected:?}"),
        }
    }
}

fn ended(seconds_ago: u64) -> Outcome {
    Outcome {
        at: NOW - seconds_ago * 1000,
        status: Status::Ok,
        exit_code: None,
        error: String::new(),
        output: String::new(),
        duration_ms: None,
        bytes: 0,
        tokens: None,
    }
}

fn remember(step: u64, status: Status, seconds_ago: u64) {
    let outcome = Outcome { status, ..ended(seconds_ago) };
    testing::remember(
        step,
        StepDetail {
            tool: "Bash".into(),
            parameters: "{}".into(),
            effects: vec![],
            paths: vec![],
            outcome: Some(outcome),
        },
    );
}

/// The checkpoint was taken five minutes, or 300 seconds, ago; the steps before it are as the host
/// remembers them.
#[test]
fn no_step_may_have_failed_just_before() {
    let issue = Issue { first_step: 50, ..bare("loop", Severity::High) };
    let settings = [Setting::new("quiet_seconds", 62)];
    for (first, steps, settings, expected) in [
        (40, &[][..], &[][..], Ok("a")),
        (41, &[(40, Status::Ok, 310)], &[], Ok("a")),
        (
            42,
            &[(41, Status::Failed, 310)],
            &[],
            Err("step 41 failed 10 seconds before it was taken"),
        ),
        (
            44,
            &[(43, Status::Ok, 310), (42, Status::Failed, 359)],
            &[],
            Err("step 42 failed 59 seconds"),
        ),
        (45, &[(44, Status::Failed, 360)], &[], Ok("a")),
        (45, &[(44, Status::Failed, 360)], &settings, Err("step 44 failed 60 seconds")),
        (47, &[(46, Status::Ok, 361), (45, Status::Failed, 310)], &[], Ok("a")),
    ] {
        for (step, status, seconds_ago) in steps {
            remember(*step, *status, *seconds_ago);
        }
        match (
            answer(settings, &issue, &with(vec![taken("a", first, 5)]), &testing::context())
                .unwrap(),
            expected,
        ) {
            (Ok((id, _)), Ok(wanted)) => assert_eq!(id, wanted),
            (Err(plan), Err(part)) => assert!(plan.reason.contains(part), "{}", plan.reason),
            (answer, expected) => panic!("{answer:?} for {expected:?}"),
        }
    }
}

/// The host answers sixteen times; it has to report a failure further back itself.
#[test]
fn no_more_steps_are_looked_up_than_the_host_answers() {
    let asked = std::cell::RefCell::new(Vec::new());
    let outcome = |step: u64| Outcome {
        status: if step < 20 { Status::Failed } else { Status::Ok },
        ..ended(310)
    };
    let detail = |step| {
        asked.borrow_mut().push(step);
        Some(StepDetail {
            tool: "Bash".into(),
            parameters: "{}".into(),
            effects: vec![],
            paths: vec![],
            outcome: Some(outcome(step)),
        })
    };
    let config = config::Config::read(&Settings::check(config::SPECS, &[]).unwrap()).unwrap();
    let issue = Issue { first_step: 50, ..bare("loop", Severity::High) };
    let situation = with(vec![taken("b", 22, 5), taken("a", 40, 5)]);
    assert!(
        matches!(choice::of(&config, &issue, &situation, &testing::context(), &detail), Choice::Safe(taken) if taken.id == "a")
    );
    assert_eq!(asked.into_inner(), (24..40).rev().collect::<Vec<_>>());
}

/// The operator's settings can make an unsafe checkpoint safe, and the other way round.
#[test]
fn the_bounds_are_settings() {
    let poor = Checkpoint { success_rate: 500, ..taken("a", 1, 40) };
    let settings = [Setting::new("min_success_rate", 0.5), Setting::new("kept_minutes", 40)];
    let returned = Situation { past: vec![back(1, None)], ..with(vec![taken("a", 1, 9)]) };
    for (settings, situation, safe) in [
        (&settings[..], with(vec![poor.clone()]), true),
        (&settings[..1], with(vec![poor.clone()]), false),
        (&settings[1..], with(vec![poor]), false),
        (&[], returned.clone(), true),
        (&[Setting::new("max_depth", 1)], returned, false),
    ] {
        let found = answer(settings, &bare("loop", Severity::Low), &situation, &testing::context())
            .unwrap();
        assert_eq!(found.is_ok(), safe, "{settings:?}: {found:?}");
    }
    for (setting, message) in [
        (Setting::new("min_success_rate", 2), "setting `min_success_rate`: should be from 0 to 1"),
        (Setting::new("max_depth", 0), "setting `max_depth`: should be from 1 to 10"),
        (Setting::new("kept_minutes", 0), "setting `kept_minutes`: should be from 1 to 10080"),
        (
            Setting::new("quiet_second", 1),
            "setting `quiet_second`: unknown; did you mean `quiet_seconds`?",
        ),
        (
            Setting::new("templates.plan", "{none_save}"),
            "setting `templates.plan`: line 1: unknown placeholder `{none_save}`; did you mean `{none_safe}`?",
        ),
    ] {
        assert_eq!(CheckpointRollback::prepare(&[setting]).unwrap_err().message(), message);
    }
    let other = Settings::check(&[], &[]).unwrap().to_bytes();
    for foreign in [&[][..], &[9], &[1, 255], b"checkpoint", &other] {
        assert!(
            CheckpointRollback::intervene(
                foreign,
                &bare("loop", Severity::Low),
                &testing::situation(),
                &testing::context()
            )
            .is_err()
        );
    }
}
