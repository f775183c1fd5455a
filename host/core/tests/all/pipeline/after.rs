//! After a tool ran: outcomes join their steps, and calls that bypassed the review are found.

use crate::harness::{Sent, World, by, event, failed, post, pre, rules, says_of, without};
use portcullis_core::action::Status;
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Severity, Verdict};
use serde_json::{Value, json};

fn ls() -> Value {
    json!({"command": "ls"})
}

/// A case: the payloads after the review; and for the last one its kind, true if it joined, status,
/// exit code, steps.
type Case = (&'static str, Vec<Value>, RecordKind, bool, Status, Option<i32>, usize);

#[test]
fn outcomes_join_their_steps() {
    use RecordKind::{Outcome, Unreviewed};
    let review = || pre("Bash", ls(), "t1");
    let cases: Vec<Case> = vec![
        (
            "it went well",
            vec![review(), post("Bash", ls(), "t1", json!("a"))],
            Outcome,
            true,
            Status::Ok,
            None,
            1,
        ),
        (
            "it failed",
            vec![review(), failed("Bash", ls(), "t1", "Exit code 3\nno")],
            Outcome,
            true,
            Status::Failed,
            Some(3),
            1,
        ),
        (
            "a person refused it",
            vec![
                review(),
                failed("Bash", ls(), "t1", "The user doesn't want to proceed with this tool use."),
            ],
            Outcome,
            true,
            Status::Refused,
            None,
            1,
        ),
        (
            "the client dropped it, and nobody objected",
            vec![
                review(),
                failed(
                    "Bash",
                    ls(),
                    "t1",
                    "<tool_use_error>Sibling tool call errored</tool_use_error>",
                ),
            ],
            Outcome,
            true,
            Status::Failed,
            None,
            1,
        ),
        (
            "it was killed",
            vec![review(), failed("Bash", ls(), "t1", "Exit code -9")],
            Outcome,
            true,
            Status::Failed,
            Some(-9),
            1,
        ),
        (
            "an odd exit code",
            vec![review(), failed("Bash", ls(), "t1", "Exit code 99999999999")],
            Outcome,
            true,
            Status::Failed,
            None,
            1,
        ),
        (
            "it failed without a code",
            vec![review(), failed("Bash", ls(), "t1", "")],
            Outcome,
            true,
            Status::Failed,
            None,
            1,
        ),
        (
            "rewritten by another hook",
            vec![review(), post("Bash", json!({"command": "ls -l"}), "t1", json!("a"))],
            Outcome,
            true,
            Status::Ok,
            None,
            1,
        ),
        (
            "without ids",
            vec![
                without("tool_use_id", review()),
                without("tool_use_id", post("Bash", ls(), "", json!("a"))),
            ],
            Outcome,
            true,
            Status::Ok,
            None,
            1,
        ),
        (
            "never reviewed",
            vec![post("Bash", ls(), "t1", json!("a"))],
            Unreviewed,
            false,
            Status::Ok,
            None,
            1,
        ),
        (
            "another call's id",
            vec![review(), post("Bash", ls(), "t2", json!("a"))],
            Unreviewed,
            false,
            Status::Ok,
            None,
            2,
        ),
        (
            "another agent's call",
            vec![review(), by("a1", post("Bash", ls(), "t1", json!("a")))],
            Unreviewed,
            false,
            Status::Ok,
            None,
            1,
        ),
    ];
    for (name, payloads, kind, joined, status, code, steps) in cases {
        let mut world = World::default();
        let sent: Vec<Sent> = payloads.iter().map(|payload| world.send(payload)).collect();
        let last = &sent.last().unwrap().records[0];
        assert_eq!((last.kind, last.details.contains_key("review")), (kind, joined), "{name}");
        let outcome = last.outcome.as_ref().unwrap();
        assert_eq!((outcome.status, outcome.exit_code), (status, code), "{name}");
        if joined {
            assert_eq!(last.details["review"], sent[0].records[0].id, "{name}");
            assert_eq!(last.step, sent[0].records[0].step, "{name}");
        } else {
            assert!(last.action.is_some(), "{name}: what nobody reviewed is recorded in full");
        }
        let agent = world
            .state_of(
                payloads
                    .last()
                    .unwrap()
                    .get("agent_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )
            .agent;
        assert_eq!(
            (agent.steps.len(), agent.steps.back().unwrap().status),
            (steps, status),
            "{name}"
        );
    }
}

#[test]
fn an_allowed_call_joins_its_step() {
    let mut world = World::default();
    world.plugins.assess = says_of("ls", rules(Verdict::Ask, Severity::High));
    let review = world.bash("ls", "t1");
    assert_eq!(review.effect(), "ask");
    assert_eq!(
        world.agent().steps.back().unwrap().status,
        Status::Refused,
        "until somebody tells otherwise it did not run"
    );
    let ended = world.send(&post("Bash", ls(), "t1", json!("a")));
    assert_eq!(ended.records[0].details.get("review"), Some(&json!(review.records[0].id)));
    let agent = world.agent();
    assert_eq!((agent.steps.len(), agent.steps.back().unwrap().status), (1, Status::Ok));
    world.bash("touch x", "t2");
    assert_eq!(world.state().session.limits[0].used, 1);
}

#[test]
fn files_of_a_call_that_a_person_allowed_count() {
    let mut world = World::default();
    world.plugins.assess = says_of("touch", rules(Verdict::Ask, Severity::High));
    world.bash("touch a b", "t1");
    assert_eq!(world.state().session.limits[0].used, 0);
    world.send(&post("Bash", json!({"command": "touch a b"}), "t1", json!("")));
    let state = world.state();
    assert_eq!(
        (state.session.limits[0].used, state.session.totals.files, state.agent.totals.files),
        (2, 2, 2)
    );
}

#[test]
fn a_call_that_ran_although_it_was_refused_is_not_hidden() {
    let mut world = World::default();
    world.plugins.assess = says_of("ls", rules(Verdict::Block, Severity::High));
    let review = world.bash("ls", "t1");
    assert_eq!(review.effect(), "deny");
    let ended = world.send(&post("Bash", ls(), "t1", json!("a")));
    assert_eq!(ended.records[0].kind, RecordKind::Unreviewed, "no review let it run");
    assert!(ended.records[0].action.is_some());
}

#[test]
fn a_batch_finds_what_no_other_event_reported() {
    let mut world = World::default();
    world.bash("ls", "known");
    world.send(&post("Bash", ls(), "known", json!("a")));
    let call = |tool: &str, id: Option<&str>| match id {
        Some(id) => {
            json!({"tool_name": tool, "tool_input": {}, "tool_use_id": id, "tool_response": "<tool_use_error>Error: no</tool_use_error>"})
        }
        None => json!({"tool_name": tool, "tool_input": {}, "tool_response": "ok"}),
    };
    let calls = [
        call("Bash", Some("known")),
        call("Teleport", Some("new")),
        call("Teleport", Some("newer")),
        call("Teleport", None),
    ];
    let batch = event("PostToolBatch", json!({ "tool_calls": calls }));
    let sent = world.send(&batch);
    assert_eq!(sent.kinds(), [RecordKind::Unreviewed; 3]);
    let ids: Vec<Option<&str>> = sent.records.iter().map(|record| record.call.as_deref()).collect();
    assert_eq!(ids, [Some("new"), Some("newer"), None]);
    assert_eq!(
        sent.records[0].outcome.as_ref().unwrap().status,
        Status::Failed,
        "a refusal by the client is not a success"
    );
    assert_eq!((sent.effect(), sent.answer.exit), ("none", 0));
    assert_eq!(world.send(&batch).kinds(), [RecordKind::Unreviewed], "what has an id is told once");
    let own: Vec<&str> = sent.records.iter().map(|record| record.id.as_str()).collect();
    assert!(own[0] != own[1] && own[1] != own[2], "{own:?}");
}

#[test]
fn an_unreviewed_call_is_reported_once_though_its_batch_reports_it_too() {
    let mut world = World::default();
    assert_eq!(world.send(&post("Bash", ls(), "t1", json!("a"))).kinds(), [RecordKind::Unreviewed]);
    let batch = json!({"tool_calls": [{"tool_name": "Bash", "tool_input": ls(), "tool_use_id": "t1", "tool_response": "a"}]});
    assert!(world.send(&event("PostToolBatch", batch)).records.is_empty());
}

#[test]
fn a_refused_call_in_a_batch_had_its_review() {
    let mut world = World::default();
    world.plugins.assess = says_of("ls", rules(Verdict::Block, Severity::High));
    world.bash("ls", "t1");
    let batch = json!({"tool_calls": [{"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1", "tool_response": "PreToolUse:Bash hook error"}]});
    assert!(world.send(&event("PostToolBatch", batch)).records.is_empty());
    assert_eq!(world.agent().steps.len(), 1);
}

#[test]
fn repetition_follows_outcomes() {
    let mut world = World::default();
    let repetition = |world: &World| {
        let agent = world.agent();
        let step = *agent.steps.back().unwrap();
        let repetition = agent.find_repetition(step.shape, step.identity);
        (repetition.seen, repetition.failures, repetition.successes)
    };
    world.fails("make it", "t1", "Exit code 2\nno rule");
    assert_eq!(repetition(&world), (1, 1, 0));
    world.fails("make it", "t2", "Exit code 2\nno rule");
    assert_eq!(repetition(&world), (2, 2, 0));
    world.bash("make it", "t3");
    assert_eq!(repetition(&world), (3, 2, 0), "a review alone changes neither");
    world.send(&post("Bash", json!({"command": "make it"}), "t3", json!("done")));
    assert_eq!(repetition(&world), (3, 0, 1));
    world.runs("make that", "t4");
    assert_eq!(repetition(&world), (4, 0, 1), "the same shape, another action");
    let errors: Vec<u64> = world.agent().steps.iter().map(|step| step.error).collect();
    assert!(errors[0] != 0 && errors[0] == errors[1] && errors[2] == 0, "{errors:?}");
}

#[test]
fn a_subagent_has_its_own_history_under_its_session() {
    let mut world = World::default();
    world.bash("ls", "t1");
    let sent = world.send(&by("a1", pre("Bash", ls(), "t2")));
    assert_eq!((sent.records[0].step, sent.records[0].agent.as_deref()), (Some(1), Some("a1")));
    assert_eq!((world.agent().steps.len(), world.state_of("a1").agent.steps.len()), (1, 1));
    assert_eq!(world.state().session.totals.steps, 2);
}
