//! Exceptions: the decisions they lift, those they never lift, and the actions they apply to.

use crate::harness::{
    CWD, Sent, World, answer, by, detection, detects, effects, fault, judged, pre, rewrites, risk,
    rules, says, says_of, token,
};
use portcullis_core::exceptions::{Exception, ExceptionScope};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Assessment, Change};
use portcullis_core::policy::{Detail, Mode};
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::undo::OnFailure;
use serde_json::{Value, json};

const COMMAND: &str = "make it";
const HOUR: u64 = 3_600_000;

fn terms(now: u64) -> ExceptionScope {
    ExceptionScope {
        id: "e1".into(),
        session: None,
        project: None,
        once: false,
        granted_at: now,
        expires_at: now + HOUR,
        reason: "I know it".into(),
    }
}

/// Makes an exception for the review of that call, in a world of its own, then sends the call once
/// more.
fn again(
    said: Assessment,
    change: impl FnOnce(&mut World, &mut Exception),
    payload: &Value,
) -> Sent {
    let mut world = World::default();
    world.plugins.assess = says(said);
    let first = world.send(payload);
    let mut exception = Exception::from_review(&first.records[0], terms(world.now))
        .expect("a review that can be lifted");
    change(&mut world, &mut exception);
    world.exceptions = vec![exception];
    world.send(payload)
}

fn bash(input: Value, id: &str) -> Value {
    pre("Bash", input, id)
}

#[test]
fn an_exception_lifts_every_objection_but_critical_ones() {
    for (case, said, before) in [
        ("warn", rules(Verdict::Warn, Severity::Medium), Verdict::Warn),
        ("ask", rules(Verdict::Ask, Severity::High), Verdict::Ask),
        ("block", rules(Verdict::Block, Severity::High), Verdict::Block),
        ("modify", rewrites(&[Change::SetText("ls".into())]), Verdict::Modify),
        (
            "modify without a way",
            rewrites(&[Change::SetText("ls".into()), Change::SetText("pwd".into())]),
            Verdict::Ask,
        ),
        ("high risk that makes no sense", judged(850, 100), Verdict::Block),
        ("a side effect", effects(Severity::High), Verdict::Allow),
    ] {
        let mut world = World::default();
        world.plugins.assess = says_of(COMMAND, said);
        let first = world.bash(COMMAND, "t1");
        assert_eq!(first.verdict(), before, "{case}");
        let exception = Exception::from_review(&first.records[0], terms(world.now));
        if before == Verdict::Allow {
            assert!(exception.unwrap_err().contains("no objection"), "{case}");
            continue;
        }
        world.exceptions = vec![exception.unwrap()];
        let sent = world.bash(COMMAND, "t2");
        assert_eq!(
            (sent.verdict(), sent.effect(), sent.answer.exit),
            (Verdict::Allow, "none", 0),
            "{case}"
        );
        assert!(
            !sent.out.to_string().contains("permissionDecision"),
            "{case}: it does not consent for the person"
        );
        let last = sent.decision().adjustments.last().unwrap();
        assert_eq!(
            (last.cause.as_str(), last.from, last.to),
            ("exception e1", before, Verdict::Allow),
            "{case}: both stand there"
        );
        assert!(sent.decision().primary_reason.contains("I know it"), "{case}");
        assert_eq!(sent.records[0].details["exception"], "e1", "{case}");
        assert_eq!(
            sent.records[0].action.as_ref().unwrap().run_as,
            None,
            "{case}: it runs as received"
        );
        assert_eq!(sent.reply.person.len(), 1, "{case}: the person sees it");
        assert!(sent.spent.is_empty(), "{case}: it lasts");
    }
}

#[test]
fn an_exception_lifts_a_question_about_a_loss() {
    let mut world = World { loss: Some("x cannot be saved"), ..World::default() };
    world.policy.on_failure = OnFailure::Ask;
    let first = world.bash(COMMAND, "t1");
    assert_eq!(first.verdict(), Verdict::Ask, "only because of the loss");
    let once = ExceptionScope { once: true, ..terms(world.now) };
    world.exceptions = vec![Exception::from_review(&first.records[0], once).unwrap()];
    let sent = world.bash(COMMAND, "t2");
    assert_eq!((sent.verdict(), sent.effect()), (Verdict::Allow, "none"));
    let last = sent.decision().adjustments.last().unwrap();
    assert_eq!((last.cause.as_str(), last.from), ("exception e1", Verdict::Ask));
    assert_eq!(sent.spent, ["e1"]);
    let other = world.bash("make that", "t3");
    assert_eq!(other.verdict(), Verdict::Ask, "another action");
}

#[test]
fn what_spoke_against_a_lifted_action_is_kept_at_each_detail() {
    for detail in [Detail::Debug, Detail::Info, Detail::Warn, Detail::Error] {
        let mut world = World::default();
        world.policy.detail = detail;
        world.plugins.assess = says_of(COMMAND, rules(Verdict::Ask, Severity::High));
        let first = world.bash(COMMAND, "t1");
        world.exceptions =
            vec![Exception::from_review(&first.records[0], terms(world.now)).unwrap()];
        let sent = world.bash(COMMAND, "t2");
        assert_eq!(sent.verdict(), Verdict::Allow, "{detail:?}");
        let kept = sent.records[0].findings.as_ref().map(|findings| findings.objections.len());
        assert_eq!(kept, Some(1), "{detail:?}");
    }
}

#[test]
fn critical_objections_stay() {
    for (case, said, why) in [
        ("risk", risk(960), "its risk is critical"),
        ("a rule", rules(Verdict::Block, Severity::Critical), "finds it critical"),
        ("a rule that only warns", rules(Verdict::Warn, Severity::Critical), "finds it critical"),
        ("a side effect", effects(Severity::Critical), "is critical"),
    ] {
        let mut world = World::default();
        world.plugins.assess = says(rules(Verdict::Block, Severity::High));
        let mut exception =
            Exception::from_review(&world.bash(COMMAND, "t1").records[0], terms(world.now))
                .unwrap();
        exception.once = true;
        world.exceptions = vec![exception];
        world.plugins.assess = says(said);
        let sent = world.bash(COMMAND, "t2");
        assert!(sent.verdict() > Verdict::Allow && sent.spent.is_empty(), "{case}");
        let note = format!(
            "the exception `e1` does not count here: {}",
            if why.starts_with("its") { why } else { "" }
        );
        assert!(
            sent.decision()
                .reasons
                .iter()
                .any(|reason| reason.starts_with(&note) && reason.contains(why)),
            "{case}"
        );
        assert!(
            sent.effect() == "stop" || sent.out.to_string().contains("does not count here"),
            "{case}: it is said: {}",
            sent.out
        );
        let refused = Exception::from_review(&sent.records[0], terms(world.now)).unwrap_err();
        assert!(refused.contains("cannot be lifted") && refused.contains(why), "{case}: {refused}");
    }
}

#[test]
fn a_stopped_session_stays_stopped() {
    let mut world = World::default();
    world.plugins.assess = says(rules(Verdict::Block, Severity::High));
    let first = world.bash(COMMAND, "t1");
    let exception = Exception {
        once: true,
        ..Exception::from_review(&first.records[0], terms(world.now)).unwrap()
    };
    world.exceptions = vec![exception];
    world.plugins.detect =
        detects("make it", vec![detection("secret_egress", Severity::Critical, 1000, 1000)]);
    let sent = world.bash(COMMAND, "t2");
    assert_eq!(
        (sent.effect(), sent.verdict(), sent.spent.len()),
        ("stop", Verdict::Block, 0),
        "what stops it now is no longer lifted"
    );
    let sent = world.bash(COMMAND, "t3");
    assert_eq!((sent.effect(), sent.spent.len()), ("stop", 0));
    let refused = Exception::from_review(&sent.records[0], terms(world.now)).unwrap_err();
    assert!(refused.contains("the session was stopped"), "{refused}");
}

#[test]
fn a_fault_that_keeps_coming_can_be_lifted() {
    let mut world = World::default();
    world.plugins.assess =
        Box::new(|_, _| vec![answer("judge", Err(fault(FaultKind::Trap, OnFault::Block)))]);
    let first = world.bash(COMMAND, "t1");
    assert_eq!(first.verdict(), Verdict::Block);
    world.exceptions = vec![Exception::from_review(&first.records[0], terms(world.now)).unwrap()];
    let sent = world.bash(COMMAND, "t2");
    assert_eq!(
        (sent.verdict(), sent.records[0].faults.len()),
        (Verdict::Allow, 1),
        "the fault stays in the record"
    );
    assert!(
        sent.decision().primary_reason.ends_with("in spite of a fault of the review itself"),
        "{}",
        sent.decision().primary_reason
    );
}

#[test]
fn it_is_meant_for_exactly_one_action() {
    type Change = fn(&mut World, &mut Exception);
    let none: Change = |_, _| {};
    let call = || json!({"command": COMMAND, "description": "make it"});
    let sent_by =
        |agent: &str, payload: Value| if agent.is_empty() { payload } else { by(agent, payload) };
    for (case, payload, change, lifted) in [
        ("the same", bash(call(), "t2"), none, true),
        ("a subagent", sent_by("a1", bash(call(), "t2")), none, true),
        (
            "another description",
            bash(json!({"description": "x", "command": COMMAND}), "t2"),
            none,
            true,
        ),
        ("another command", bash(json!({"command": "make it now"}), "t2"), none, false),
        (
            "one more parameter",
            bash(json!({"command": COMMAND, "run_in_background": true}), "t2"),
            none,
            false,
        ),
        ("another tool", pre("Monitor", call(), "t2"), none, false),
        (
            "another folder",
            {
                let mut other = bash(call(), "t2");
                other["cwd"] = "/home/me/shop/src".into();
                other
            },
            none,
            false,
        ),
        (
            "this session",
            bash(call(), "t2"),
            |_, exception| exception.session = Some("s1".into()),
            true,
        ),
        (
            "another session",
            bash(call(), "t2"),
            |_, exception| exception.session = Some("s2".into()),
            false,
        ),
        (
            "this project",
            bash(call(), "t2"),
            |_, exception| exception.project = Some(CWD.into()),
            true,
        ),
        (
            "another project",
            bash(call(), "t2"),
            |_, exception| exception.project = Some("/home/me/sho".into()),
            false,
        ),
        (
            "just before its end",
            bash(call(), "t2"),
            |world, exception| exception.expires_at = world.now + 1,
            true,
        ),
        (
            "at its end",
            bash(call(), "t2"),
            |world, exception| exception.expires_at = world.now,
            false,
        ),
        (
            "the clock set back",
            bash(call(), "t2"),
            |world, exception| exception.granted_at = world.now + 1,
            false,
        ),
        ("cut", bash(call(), "t2"), |_, exception| exception.parameters.truncate(20), false),
    ] {
        let mut world = World::default();
        world.plugins.assess = says(rules(Verdict::Block, Severity::High));
        let first = world.send(&bash(call(), "t1"));
        let mut exception = Exception::from_review(&first.records[0], terms(world.now)).unwrap();
        change(&mut world, &mut exception);
        world.exceptions = vec![exception];
        assert_eq!(world.send(&payload).verdict() == Verdict::Allow, lifted, "{case}");
    }
}

#[test]
fn only_a_shell_commands_description_does_not_count() {
    let payload =
        |text: &str| pre("mcp__db__run", json!({"sql": "drop", "description": text}), "t");
    let mut world = World::default();
    world.plugins.assess = says(rules(Verdict::Block, Severity::High));
    let first = world.send(&payload("a"));
    world.exceptions = vec![Exception::from_review(&first.records[0], terms(world.now)).unwrap()];
    assert_eq!(world.send(&payload("a")).verdict(), Verdict::Allow);
    assert_eq!(world.send(&payload("b")).verdict(), Verdict::Block);
}

#[test]
fn once_is_once_and_only_when_it_is_used() {
    let once = |_: &mut World, exception: &mut Exception| exception.once = true;
    let sent = again(
        rules(Verdict::Block, Severity::High),
        once,
        &bash(json!({"command": COMMAND}), "t1"),
    );
    assert_eq!((sent.verdict(), sent.spent), (Verdict::Allow, vec!["e1".to_owned()]));
    let observing = |world: &mut World, exception: &mut Exception| {
        exception.once = true;
        world.policy.mode = Mode::Observe;
    };
    let sent = again(
        rules(Verdict::Block, Severity::High),
        observing,
        &bash(json!({"command": COMMAND}), "t1"),
    );
    assert!(sent.spent.is_empty(), "who only observes uses nothing up");

    let mut world = World::default();
    world.plugins.assess = says(rules(Verdict::Block, Severity::High));
    let first = world.bash(COMMAND, "t1");
    let lasting = Exception {
        id: "e2".into(),
        ..Exception::from_review(&first.records[0], terms(world.now)).unwrap()
    };
    world.exceptions = vec![Exception { id: "e1".into(), once: true, ..lasting.clone() }, lasting];
    let sent = world.bash(COMMAND, "t2");
    assert_eq!(
        (sent.records[0].details["exception"].as_str(), sent.spent.len()),
        (Some("e2"), 0),
        "one that lasts goes first"
    );
    world.plugins.assess = says(Assessment::default());
    world.exceptions.remove(1);
    assert!(world.bash(COMMAND, "t3").spent.is_empty(), "nothing spoke against it");
}

#[test]
fn a_secret_in_it_is_compared_by_its_placeholder() {
    let payload = |token: &str| bash(json!({"command": format!("deploy --token {token}")}), "t");
    let mut world = World::default();
    world.plugins.assess = says(rules(Verdict::Block, Severity::High));
    let first = world.send(&payload(&token()));
    let exception = Exception::from_review(&first.records[0], terms(world.now)).unwrap();
    let document = serde_json::to_string(&exception).unwrap();
    assert!(!document.contains(&token()), "the exception holds no secret");
    world.exceptions = vec![serde_json::from_str(&document).unwrap()];
    assert_eq!(world.send(&payload(&token())).verdict(), Verdict::Allow);
    assert_eq!(world.send(&payload(&token().to_lowercase())).verdict(), Verdict::Block);
}

#[test]
fn incomplete_reviews_give_no_exception() {
    let mut world = World::default();
    world.plugins.assess = says(rules(Verdict::Block, Severity::High));
    let long = world.send(&bash(json!({"command": "x".repeat(70_000)}), "t1"));
    assert!(
        Exception::from_review(&long.records[0], terms(world.now))
            .unwrap_err()
            .contains("only a part")
    );
    let prompt = world.send(&crate::harness::prompt("fix it"));
    assert!(
        Exception::from_review(&prompt.records[0], terms(world.now))
            .unwrap_err()
            .contains("is not a review")
    );
}
