//! Responses of intervention plugins: which plugin answers, its faults, and the effect of guidance,
//! limits, plans and checkpoints.

use super::{ROLLBACK, SOFT, STOP, intervention, kind, world};
use crate::harness::{World, answer, detection, detects, fault, rules, says_of, usual_response};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Background, Guidance, Response};
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::{Severity, Verdict};

#[test]
fn a_missing_plugin_is_replaced_by_a_milder_one() {
    // The plugins that exist, and the answers to a critical leak and to a rule's violation.
    for (there, expected) in [
        (&["emergency-stop"][..], Some(STOP)),
        (&["checkpoint-rollback", "soft-correction"], Some(ROLLBACK)),
        (&["soft-correction"], Some(SOFT)),
        (&[], None),
    ] {
        for by_rule in [false, true] {
            let mut world = World::default();
            if by_rule {
                world.plugins.assess = says_of("noisy", rules(Verdict::Block, Severity::Critical));
            } else {
                world.plugins.detect = detects(
                    "noisy",
                    vec![detection("secret_egress", Severity::Critical, 900, 1000)],
                );
            }
            world.plugins.intervene = Box::new(|name, issue, _| {
                there.contains(&name).then(|| answer(name, Ok(usual_response(name, issue))))
            });
            let sent = world.bash("noisy", "t1");
            assert_eq!(kind(&sent).as_deref(), expected, "{there:?} rule {by_rule}");
            assert_eq!(
                world.state().session.stopped.is_some(),
                expected == Some(STOP),
                "{there:?} rule {by_rule}"
            );
            if by_rule {
                assert!(
                    matches!(sent.effect(), "deny" | "stop"),
                    "{there:?}: the block holds whatever answers"
                );
            }
        }
    }
}

#[test]
fn a_fault_of_wording_does_not_cost_the_answer() {
    for (pattern, severity, expected, stops) in
        [("loop", Severity::Medium, SOFT, false), ("secret_egress", Severity::Critical, STOP, true)]
    {
        let mut world = world(pattern, severity, 900, 500);
        world.plugins.intervene = Box::new(|name, _, _| {
            Some(answer(name, Err(fault(FaultKind::OutOfFuel, OnFault::Block))))
        });
        let sent = world.bash("noisy", "t1");
        let record = intervention(&sent).unwrap();
        assert_eq!(
            (kind(&sent).as_deref(), record.faults[0].kind),
            (Some(expected), FaultKind::OutOfFuel),
            "{pattern}"
        );
        assert_eq!(
            (world.state().session.stopped.is_some(), sent.effect() == "stop"),
            (stops, stops),
            "{pattern}"
        );
        assert!(
            sent.out.to_string().contains(&format!("{pattern} was seen")),
            "{pattern}: {}",
            sent.out
        );
    }
}

#[test]
fn a_checkpoint_that_does_not_exist_is_a_bad_value() {
    let mut world = world("loop", Severity::Critical, 900, 500);
    let response =
        Response::Rollback { checkpoint: "made\u{1b}up".into(), guidance: Guidance::default() };
    world.plugins.intervene = Box::new(move |name, _, _| {
        (name == "checkpoint-rollback").then(|| answer(name, Ok(response.clone())))
    });
    let sent = world.bash("noisy", "t1");
    let record = intervention(&sent).unwrap();
    assert_eq!(
        record.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
        [FaultKind::BadValue]
    );
    assert!(!record.faults[0].detail.contains('\u{1b}'));
    assert_eq!(
        record.intervention.as_ref().unwrap().outcome,
        RecoveryOutcome::Continue,
        "guidance stands in"
    );
}

fn limit(quantity: Quantity, maximum: u64) -> Limit {
    Limit { quantity, maximum, used: 7 }
}

/// A case: the limits that interventions propose in turn, and those in force at the end.
type Tightened = (&'static str, Vec<Vec<Limit>>, Vec<(Quantity, u64)>);

#[test]
fn limits_only_tighten() {
    use Quantity::{BatchSize, FileOperations, Other, Tokens};
    // In force from the beginning, and listed only if a case changes them.
    let mut fresh = World::default();
    fresh.bash("ls", "t0");
    let first: Vec<(Quantity, u64)> = fresh
        .state()
        .session
        .limits
        .into_iter()
        .map(|limit| (limit.quantity, limit.maximum))
        .filter(|(quantity, _)| *quantity != FileOperations)
        .collect();
    let long = Other("x".repeat(65));
    let cases: Vec<Tightened> = vec![
        ("tighter", vec![vec![limit(FileOperations, 50)]], vec![(FileOperations, 50)]),
        ("looser", vec![vec![limit(FileOperations, 5000)]], vec![(FileOperations, 100)]),
        (
            "tighter, then looser",
            vec![vec![limit(FileOperations, 20)], vec![limit(FileOperations, 90)]],
            vec![(FileOperations, 20)],
        ),
        (
            "new, then looser",
            vec![vec![limit(Tokens, 1000)], vec![limit(Tokens, 9000)]],
            vec![(FileOperations, 100), (Tokens, 1000)],
        ),
        (
            "both ways at once",
            vec![vec![limit(BatchSize, 8), limit(BatchSize, 4), limit(BatchSize, 6)]],
            vec![(FileOperations, 100), (BatchSize, 4)],
        ),
        (
            "a quantity with too long a name",
            vec![vec![limit(long, 1)]],
            vec![(FileOperations, 100)],
        ),
    ];
    for (name, proposals, expected) in cases {
        let mut world = world("loop", Severity::Critical, 900, 500);
        for (index, limits) in proposals.into_iter().enumerate() {
            let response = Response::Guide(Guidance { limits, ..Guidance::default() });
            world.plugins.intervene =
                Box::new(move |name, _, _| Some(answer(name, Ok(response.clone()))));
            let sent = world.bash("noisy", &format!("t{index}"));
            assert_eq!(
                intervention(&sent).unwrap().intervention.as_ref().unwrap().outcome,
                RecoveryOutcome::Limit,
                "{name}"
            );
        }
        let mut limits = world.state().session.limits;
        limits.retain(|limit| !first.contains(&(limit.quantity.clone(), limit.maximum)));
        assert!(
            limits.iter().all(|limit| limit.used == 0),
            "{name}: a plugin does not say what is used: {limits:?}"
        );
        assert_eq!(
            limits.into_iter().map(|limit| (limit.quantity, limit.maximum)).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
    }
}

#[test]
fn guidance_reaches_the_agent_emphasised_first() {
    let mut world = world("loop", Severity::Medium, 600, 500);
    let background = |title: &str, emphasised| Background {
        title: title.into(),
        text: "text".into(),
        emphasised,
    };
    let guidance = Guidance {
        messages: vec!["try this".into()],
        background: vec![background("a", false), background("b", true)],
        limits: Vec::new(),
    };
    world.plugins.intervene =
        Box::new(move |name, _, _| Some(answer(name, Ok(Response::Guide(guidance.clone())))));
    let sent = world.bash("noisy", "t1");
    assert_eq!(
        sent.reply.agent,
        ["Portcullis: try this", "Portcullis: b: text", "Portcullis: a: text"]
    );
    assert!(sent.reply.person.is_empty());
    assert_eq!(
        intervention(&sent).unwrap().intervention.as_ref().unwrap().outcome,
        RecoveryOutcome::Rebuild
    );
}

#[test]
fn a_plan_waits_for_the_person() {
    let mut world = world("loop", Severity::Medium, 600, 500);
    let plan =
        Response::RecoveryNeeded { reason: "no way back".into(), steps: vec!["look".into()] };
    world.plugins.intervene = Box::new(move |name, _, _| Some(answer(name, Ok(plan.clone()))));
    let sent = world.bash("noisy", "t1");
    assert_eq!(sent.reply.agent, ["Portcullis: no way back"]);
    assert_eq!(sent.reply.person, ["Portcullis: no way back", "Portcullis: - look"]);
    assert_eq!(
        intervention(&sent).unwrap().intervention.as_ref().unwrap().outcome,
        RecoveryOutcome::Wait
    );
}

#[test]
fn a_situation_tells_what_went_before() {
    let mut world = world("loop", Severity::Medium, 600, 500);
    world.policy.interventions.templates.insert("loop".into(), "stop that".into());
    let shown = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let keep = std::rc::Rc::clone(&shown);
    world.plugins.intervene = Box::new(move |name, issue, situation| {
        keep.borrow_mut().push((issue.clone(), situation.clone()));
        Some(answer(name, Ok(usual_response(name, issue))))
    });
    world.bash("noisy", "n0");
    world.bash("ls", "q0");
    world.bash("ls", "q1");
    world.now += 60_000;
    world.bash("noisy", "n1");
    let shown = shown.borrow();
    let [(first, before), (second, after)] = shown.as_slice() else {
        panic!("two answers: {shown:?}")
    };
    assert_eq!((first.recurrences, second.recurrences, before.level, after.level), (0, 1, 0, 1));
    assert_eq!((before.past.len(), after.past.len(), after.past[0].kind.as_str()), (0, 1, SOFT));
    assert_eq!((before.step, after.step, after.score), (0, 3, 750));
    assert_eq!(
        after.recent.iter().map(String::as_str).collect::<Vec<_>>(),
        ["allow Bash: noisy", "allow Bash: ls", "allow Bash: ls", "allow Bash: noisy"]
    );
    assert_eq!(after.templates, [("loop".to_owned(), "stop that".to_owned())]);
}
