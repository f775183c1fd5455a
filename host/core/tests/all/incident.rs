//! Incidents from records: the sources of each part, and the parts that are left out if a record
//! lacks the data.

use portcullis_core::incident::{Incident, STATE, compose_incident, stops_session};
use portcullis_core::record::Record;
use serde_json::{Value, json};

fn record(extra: Value) -> Record {
    let mut record = json!({
        "version": 1, "id": "r", "at": 1000, "kind": "review", "client": "claude", "session": "s", "event": "PreToolUse",
        "subject": "Bash", "summary": "Bash: x", "mode": "blocking",
    });
    record.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    serde_json::from_value(record).unwrap()
}

fn stop(details: Value) -> Record {
    record(json!({
        "id": "stop", "at": 9000, "kind": "intervention", "subject": "emergency_stop", "summary": "it went wrong", "step": 7,
        "intervention": {
            "kind": "emergency_stop", "issue": "loop", "level": 2, "score": 950, "outcome": "stop",
            "response": { "stop": { "message": "m", "report": {
                "root_cause": "", "contributing_factors": [], "immediate": [], "preventive": [], "configuration": [] } } },
        },
        "details": details,
    }))
}

fn details(state: Value) -> Value {
    Value::Object(std::iter::once((STATE.to_owned(), state)).collect())
}

fn outcome(step: u64, status: &str) -> Record {
    let ended = json!({ "at": 1, "status": status, "error": "", "output": "", "bytes": 0 });
    record(json!({ "id": "o", "kind": "outcome", "step": step, "outcome": ended }))
}

fn composed(stop: &Record, earlier: &[Record]) -> Incident {
    compose_incident(stop, earlier, true, &[]).unwrap()
}

#[test]
fn only_a_stop_is_one() {
    let mut held = stop(json!({}));
    held.intervention.as_mut().unwrap().outcome = portcullis_core::recover::RecoveryOutcome::Wait;
    for (record, is) in [(stop(json!({})), true), (held, false), (record(json!({})), false)] {
        assert_eq!(
            (stops_session(&record), compose_incident(&record, &[], true, &[]).is_some()),
            (is, is),
            "{}",
            record.kind
        );
    }
}

/// A record from an older version has no state, and a plugin that failed no report.
#[test]
fn missing_parts_are_omitted_and_nothing_is_empty() {
    for details in [json!({}), details(json!("damaged")), details(json!({ "issue": 1 }))] {
        let incident = composed(&stop(details), &[]);
        assert_eq!(
            (incident.state.issue.name.as_str(), incident.state.issue.first_step),
            ("loop", 7)
        );
        assert_eq!(incident.report.root_cause, "it went wrong");
        let recommended = &incident.report.recommendations;
        assert!(
            [&recommended.immediate, &recommended.preventive, &recommended.configuration]
                .iter()
                .all(|lines| lines.len() == 1)
        );
        assert_eq!(incident.report.timeline.len(), 1, "the stop itself");
        assert!(
            incident.recovery[1].not_now.is_some()
                && incident.recovery.iter().all(|way| way.command.ends_with(" stop"))
        );
        let again: Incident =
            serde_json::from_str(&serde_json::to_string(&incident).unwrap()).unwrap();
        assert_eq!(again, incident);
    }
}

#[test]
fn actions_are_joined_with_their_ends_and_bounded() {
    let review = |step: u64| record(json!({ "step": step, "summary": format!("Bash: {step}") }));
    let mut records: Vec<Record> = (0..70).map(review).collect();
    records.push(outcome(68, "ok"));
    records.push(outcome(69, "failed"));
    let unreviewed = |step: u64| {
        record(json!({ "id": "u", "kind": "unreviewed", "step": step, "summary": "Bash: u",
        "outcome": { "at": 1, "status": "ok", "error": "", "output": "", "bytes": 0 } }))
    };
    records.extend([unreviewed(67), unreviewed(90)]);
    let actions = composed(&stop(json!({})), &records).actions;
    assert_eq!(actions.len(), 50);
    let shown: Vec<(&str, &str)> = actions[46..]
        .iter()
        .map(|action| (action.what.as_str(), action.progress.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("Bash: 67", "ended"),
            ("Bash: 68", "ended"),
            ("Bash: 69", "failed"),
            ("Bash: u", "ended")
        ]
    );
}

#[test]
fn the_way_back_undoes_what_happened_since_it_began() {
    let kept = |step: u64| {
        record(
            json!({ "step": step, "summary": format!("Bash: {step}"), "checkpoint": { "id": format!("c{step}"), "complete": true } }),
        )
    };
    let bare = |step: u64| record(json!({ "step": step }));
    let state = |first_step: u64| {
        let issue = json!({ "name": "loop", "severity": "high", "confidence": 900, "impact": 500, "first_step": first_step,
            "summary": "it", "evidence": [], "recurrences": 0 });
        details(
            json!({ "issue": issue, "started": 0, "roots": [], "goals": [], "limits": [], "interventions": [],
            "totals": portcullis_core::action::Totals::default() }),
        )
    };
    let chose = |issue: &str, checkpoint: &str| {
        let response = json!({ "rollback": { "checkpoint": checkpoint, "guidance": { "messages": [], "background": [], "limits": [] } } });
        let intervention = json!({ "kind": "checkpoint_rollback", "issue": issue, "level": 1, "score": 800, "outcome": "restore",
            "response": response });
        record(
            json!({ "id": "i", "kind": "intervention", "step": 5, "intervention": intervention }),
        )
    };
    for (first_step, records, expected) in [
        (3, vec![], None),
        (3, vec![bare(3)], None),
        (
            3,
            vec![kept(1), kept(3), kept(4)],
            Some(("c3", "the first action since it began", "before `Bash: 3`")),
        ),
        (
            3,
            vec![kept(1), bare(3), kept(4), kept(5)],
            Some(("c4", "the first action since it began", "before `Bash: 4`")),
        ),
        (
            3,
            vec![kept(1), kept(2), bare(3)],
            Some(("c2", "no checkpoint was taken since it began", "before `Bash: 2`")),
        ),
        (
            3,
            vec![kept(1), kept(3), chose("loop", "c1"), kept(6)],
            Some(("c1", "checkpoint_rollback at step 5 chose", "before `Bash: 1`")),
        ),
        (
            3,
            vec![kept(1), chose("loop", "c1"), kept(4), chose("loop", "c4")],
            Some(("c4", "chose that checkpoint", "before `Bash: 4`")),
        ),
        (
            3,
            vec![kept(1), kept(3), chose("other", "c1")],
            Some(("c3", "the first action since it began", "before `Bash: 3`")),
        ),
        (
            3,
            vec![kept(3), chose("loop", "gone")],
            Some(("gone", "chose that checkpoint", "at the checkpoint gone")),
        ),
    ] {
        let way = &composed(&stop(state(first_step)), &records).recovery[1];
        assert_eq!(way.checkpoint.as_deref(), expected.map(|(id, ..)| id));
        assert_eq!(way.not_now.is_none(), expected.is_some());
        let (because, before) = expected.map_or(("", ""), |(_, because, before)| (because, before));
        assert!(
            way.because.as_deref().unwrap_or_default().contains(because)
                && way.because.is_some() == expected.is_some(),
            "{way:?}"
        );
        assert!(way.what.contains(before) && way.what.contains(because), "{way:?}");
    }
}
