//! Calls that only the transcript shows, and the report of missing protection at a session's start.

use crate::harness::{HOME, World, event, post, pre, token};
use portcullis_agents::claude::wire as claude;
use portcullis_core::action::Status;
use portcullis_core::event::{CallEnd, CallResult};
use portcullis_core::pipeline::{
    MOST_MISSED, MissedCall, Ports, ReviewOutcome, Settings, missed_calls,
};
use portcullis_core::policy::Mode;
use portcullis_core::record::RecordKind;
use portcullis_core::undo::NoUndo;
use serde_json::{Value, json};

fn missed(id: &str, command: &str, result: Option<&str>) -> MissedCall {
    let result = result.map(|text| CallResult {
        failed: false,
        end: CallEnd::Finished,
        error: String::new(),
        output: text.into(),
        duration_ms: None,
        tokens: None,
        shown: Value::Null,
    });
    let input = json!({ "command": command }).as_object().cloned().unwrap();
    MissedCall { id: id.into(), tool: "Bash".into(), input, agent: None, result }
}

/// Returns the payload's own review with these calls added.
fn with_missed(world: &mut World, payload: &Value, calls: &[MissedCall]) -> ReviewOutcome {
    let event = claude::parse_event(payload.to_string().as_bytes()).unwrap();
    let state = world.state();
    let reviewed = world.review(&event, state);
    let settings = Settings {
        policy: &world.policy,
        masker: &world.masker,
        home: HOME,
        exceptions: &[],
        unwhole: &[],
        measured: None,
    };
    let mut looked = 0;
    let mut observe = |_: &[portcullis_core::observe::Query]| {
        looked += 1;
        portcullis_core::observe::Observations::new()
    };
    let mut ports = Ports {
        plugins: &mut world.plugins,
        observe: &mut observe,
        details: &|_| None,
        undo: &NoUndo,
    };
    let reviewed = missed_calls(&event, reviewed, calls, world.now, &settings, &mut ports);
    assert_eq!(looked, 0, "the workspace of now says nothing of a call of then");
    reviewed
}

#[test]
fn they_count_as_unreviewed_steps() {
    for (case, payload) in [
        ("stop", event("Stop", json!({}))),
        ("end", event("SessionEnd", json!({"reason": "exit"}))),
    ] {
        let mut world = World::default();
        world.runs("ls", "t1");
        let calls = [
            missed("t1", "ls", Some("done")),
            missed("t2", "touch a", Some("done")),
            missed("t3", "rm b", None),
        ];
        let reviewed = with_missed(&mut world, &payload, &calls);
        let kinds: Vec<RecordKind> = reviewed.records.iter().map(|record| record.kind).collect();
        assert_eq!(
            kinds,
            [RecordKind::Session, RecordKind::Unreviewed, RecordKind::Unreviewed],
            "{case}: a reviewed one is none"
        );
        let [_, second, third] = reviewed.records.as_slice() else { panic!("{case}") };
        assert_eq!(
            (second.call.as_deref(), second.details["found"].as_str()),
            (Some("t2"), Some("transcript")),
            "{case}"
        );
        assert_eq!(
            second.outcome.as_ref().map(|outcome| outcome.status),
            Some(Status::Ok),
            "{case}"
        );
        assert_eq!(
            (third.outcome.as_ref(), third.action.is_some()),
            (None, true),
            "{case}: how it ended is not known"
        );
        assert_ne!(second.id, third.id, "{case}");
        let statuses: Vec<Status> =
            reviewed.state.agent.steps.iter().map(|step| step.status).collect();
        assert_eq!(statuses, [Status::Ok, Status::Ok, Status::Pending], "{case}");
        assert_eq!(reviewed.state.session.totals.files, 2, "{case}: what may have happened counts");
        assert_eq!(
            reviewed.state.session.next_step, 3,
            "{case}: no other agent makes a step of the same position"
        );
        assert!(
            reviewed.reply.person[0].contains("found 2 calls that it did not review"),
            "{case}: {:?}",
            reviewed.reply.person
        );
        assert!(reviewed.reply.agent[0].contains("`Bash: touch a`, `Bash: rm b`."), "{case}");
        let again = missed_calls_again(&mut world, &payload, reviewed, &calls);
        assert_eq!(again.records.len(), 3, "{case}: each is told once");
    }
}

fn missed_calls_again(
    world: &mut World,
    payload: &Value,
    reviewed: ReviewOutcome,
    calls: &[MissedCall],
) -> ReviewOutcome {
    let event = claude::parse_event(payload.to_string().as_bytes()).unwrap();
    let settings = Settings {
        policy: &world.policy,
        masker: &world.masker,
        home: HOME,
        exceptions: &[],
        unwhole: &[],
        measured: None,
    };
    let mut observe =
        |_: &[portcullis_core::observe::Query]| portcullis_core::observe::Observations::new();
    let mut ports = Ports {
        plugins: &mut world.plugins,
        observe: &mut observe,
        details: &|_| None,
        undo: &NoUndo,
    };
    missed_calls(&event, reviewed, calls, world.now, &settings, &mut ports)
}

#[test]
fn they_are_bounded_masked_and_named_by_their_agent() {
    let mut world = World::default();
    let stop = event("Stop", json!({}));
    let many: Vec<MissedCall> = (0..MOST_MISSED + 10)
        .map(|number| missed(&format!("m{number}"), "ls", Some("x")))
        .collect();
    let reviewed = with_missed(&mut world, &stop, &many);
    assert_eq!(reviewed.records.len(), 1 + MOST_MISSED, "the others are still missing next time");
    assert!(reviewed.reply.person[0].contains("and 59 more"), "{:?}", reviewed.reply.person);

    let mut secret = missed("m1", &format!("deploy {}", token()), Some(&token()));
    secret.agent = Some("a7".into());
    let reviewed = with_missed(&mut World::default(), &stop, &[secret]);
    assert_eq!(
        (reviewed.records[1].agent.as_deref(), reviewed.records[1].step),
        (Some("a7"), None)
    );
    let all = format!("{:?}{:?}", reviewed.records, reviewed.reply);
    assert!(!all.contains(&token()), "masked as any other");
    let mut world = World::default();
    let reviewed = with_missed(&mut world, &stop, &[]);
    assert!(
        reviewed.reply.person.is_empty() && reviewed.records.len() == 1,
        "nothing is missing, nothing is said"
    );
}

#[test]
fn observe_mode_tells_only_the_person() {
    let mut world = World::default();
    world.policy.mode = Mode::Observe;
    let reviewed = with_missed(&mut world, &event("Stop", json!({})), &[missed("m1", "ls", None)]);
    assert_eq!((reviewed.reply.agent.len(), reviewed.reply.person.len()), (0, 1));
}

#[test]
fn a_sessions_start_tells_what_is_not_whole() {
    let start = event("SessionStart", json!({"source": "startup"}));
    for (mode, informed) in [(Mode::Blocking, true), (Mode::Observe, false)] {
        let mut world = World::default();
        world.policy.mode = mode;
        world.unwhole =
            vec!["The client is too old.".into(), "The journal is\u{1b}[2J broken.".into()];
        let sent = world.send(&start);
        let context = sent.at("/hookSpecificOutput/additionalContext").and_then(Value::as_str);
        assert_eq!(
            context.is_some_and(|text| text.contains("The client is too old. The journal is")),
            informed,
            "{mode}"
        );
        assert!(
            sent.out["systemMessage"].as_str().unwrap().contains("portcullis doctor"),
            "{mode}"
        );
        assert_eq!(sent.records[0].details["unwhole"][0], "The client is too old.", "{mode}");
        assert!(!sent.out.to_string().contains("\\u001b"), "{mode}");
    }
    let sent = World::default().send(&start);
    assert!(
        sent.out.get("systemMessage").is_none() && sent.records[0].details.is_empty(),
        "whole: nothing to say"
    );
}

#[test]
fn a_call_that_was_missed_is_known_when_its_outcome_comes_late() {
    let mut world = World::default();
    let reviewed = with_missed(&mut world, &event("Stop", json!({})), &[missed("m1", "ls", None)]);
    let (session, agent) = reviewed.state.encode().unwrap();
    world.session = Some(session);
    world.agents.insert(String::new(), agent);
    let late = world.send(&post("Bash", json!({"command": "ls"}), "m1", json!("done")));
    assert_eq!(late.kinds(), [RecordKind::Outcome]);
    assert_eq!(
        world.send(&pre("Bash", json!({"command": "ls"}), "m2")).kinds(),
        [RecordKind::Review]
    );
}
