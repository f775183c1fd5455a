//! A modification is carried out if it is one rewrite, valid and safe; otherwise a person decides.

use crate::harness::{
    World, answer, fault, post, pre, rewrites, risk, rules, says_of, token, without,
};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Assessment, Change};
use portcullis_core::mask::PLACEHOLDER;
use portcullis_core::score::{Severity, Verdict};
use serde_json::{Value, json};

fn text(text: &str) -> Change {
    Change::SetText(text.into())
}

fn splice(start: u32, end: u32, text: &str) -> Change {
    Change::Splice { start, end, text: text.into() }
}

/// A case: the command, the changes that rules offer for it, the assessment of the new form, and
/// the new form.
type Case = (&'static str, &'static str, Vec<Change>, Assessment, Option<&'static str>);

#[test]
fn a_change_is_carried_out_or_left_to_a_person() {
    let fine = Assessment::default;
    let cases: Vec<Case> = vec![
        ("one rewrite", "rm -r risky", vec![text("mv safe q")], fine(), Some("mv safe q")),
        (
            "the same twice",
            "rm -r risky",
            vec![text("mv safe q"), text("mv safe q")],
            fine(),
            Some("mv safe q"),
        ),
        ("a part of it", "rm -r risky", vec![splice(6, 11, "safe")], fine(), Some("rm -r safe")),
        (
            "the new form is warned about",
            "rm -r risky",
            vec![text("mv safe q")],
            rules(Verdict::Warn, Severity::Low),
            Some("mv safe q"),
        ),
        ("two that differ", "rm -r risky", vec![text("mv safe q"), text("ls safe")], fine(), None),
        ("no change at all", "rm -r risky", vec![text("rm -r risky")], fine(), None),
        (
            "one that is blocked",
            "rm -r risky",
            vec![text("mv safe q")],
            rules(Verdict::Block, Severity::High),
            None,
        ),
        (
            "one that is asked about",
            "rm -r risky",
            vec![text("mv safe q")],
            rules(Verdict::Ask, Severity::High),
            None,
        ),
        (
            "one that would be changed again",
            "rm -r risky",
            vec![text("mv safe q")],
            rewrites(&[text("ls")]),
            None,
        ),
        ("one that is riskier", "rm -r risky", vec![text("mv safe q")], risk(500), None),
        ("one of another type", "rm -r risky", vec![Change::SetInteger(5)], fine(), None),
        ("one outside the text", "rm -r risky", vec![splice(6, 99, "safe")], fine(), None),
        ("one inside a character", "rm é risky", vec![splice(4, 5, "safe")], fine(), None),
    ];
    for (name, command, changes, judged, expected) in cases {
        let mut world = World::default();
        let offer = rewrites(&changes);
        world.plugins.assess = Box::new(move |action, _| {
            let said =
                if action.parameters.contains("risky") { offer.clone() } else { judged.clone() };
            vec![answer("judge", Ok(said))]
        });
        let sent = world.send(&pre("Bash", json!({"command": command, "timeout": 5}), "t1"));
        match expected {
            Some(new) => {
                assert_eq!((sent.effect(), sent.verdict()), ("rewrite", Verdict::Modify), "{name}");
                assert_eq!(
                    sent.at("/hookSpecificOutput/updatedInput"),
                    Some(&json!({"command": new, "timeout": 5})),
                    "{name}"
                );
                assert!(
                    sent.records[0].action.as_ref().unwrap().run_as.as_ref().unwrap().contains(new),
                    "{name}"
                );
                assert!(sent.at("/systemMessage").is_some(), "{name}: the person is told");
            }
            None => {
                assert_eq!(
                    (sent.effect(), sent.verdict(), sent.answer.exit),
                    ("ask", Verdict::Ask, 0),
                    "{name}"
                );
                assert_eq!(sent.records[0].action.as_ref().unwrap().run_as, None, "{name}");
                assert!(
                    sent.decision().explanation.starts_with("A person has to decide"),
                    "{name}: {}",
                    sent.decision().explanation
                );
            }
        }
        let parameters: Value =
            serde_json::from_str(&sent.records[0].action.as_ref().unwrap().parameters).unwrap();
        assert_eq!(
            parameters["command"], command,
            "{name}: the record holds the action as received"
        );
    }
}

#[test]
fn faults_of_the_second_look_are_recorded() {
    for (policy, taken) in
        [(OnFault::Warn, "rewrite"), (OnFault::Ask, "ask"), (OnFault::Block, "ask")]
    {
        let mut world = World::default();
        let offer = rewrites(&[text("mv safe q")]);
        world.plugins.assess = Box::new(move |action, _| {
            let said = if action.parameters.contains("risky") {
                Ok(offer.clone())
            } else {
                Err(fault(FaultKind::OutOfFuel, policy))
            };
            vec![answer("judge", said)]
        });
        let sent = world.bash("rm risky", "t1");
        assert_eq!(sent.effect(), taken, "{policy}");
        assert_eq!(
            sent.records[0].faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
            [FaultKind::OutOfFuel],
            "{policy}"
        );
    }
}

#[test]
fn a_rewrite_keeps_the_secret_beside_it() {
    let token = token();
    let command = format!("push risky --token {token} --force");
    let mut world = World::default();
    world.plugins.assess = Box::new(|action, _| {
        let said = match action.parameters.find("risky") {
            // As the plugin sees it: the parameters begin with `{"command":"`.
            Some(at) => rewrites(&[splice(at as u32 - 12, at as u32 - 7, "safe")]),
            None => Assessment::default(),
        };
        vec![answer("judge", Ok(said))]
    });
    let sent = world.bash(&command, "t1");
    assert_eq!(
        sent.at("/hookSpecificOutput/updatedInput/command"),
        Some(&json!(format!("push safe --token {token} --force")))
    );
    let run_as = sent.records[0].action.as_ref().unwrap().run_as.clone().unwrap();
    assert!(run_as.contains(PLACEHOLDER) && !run_as.contains(&token), "{run_as}");
}

#[test]
fn a_rewrite_that_touches_or_uncovers_a_secret_is_refused() {
    let secret = "hunter2x";
    for (name, command, from, to, new) in [
        ("touches it", "risky PASSWORD=hunter2x go", "PASSWORD=<sec", "go", "x"),
        ("takes it out", "risky PASSWORD=hunter2x go", "<secret:", " go", ""),
        (
            "takes the name away that tells it",
            "PASSWORD=hunter2x risky",
            "PASSWORD=",
            "<secret",
            "",
        ),
        ("the same, and more", "PASSWORD=hunter2x risky hunter2x", "PASSWORD=", "<secret", "WORD="),
    ] {
        let mut world = World::default();
        world.plugins.assess = Box::new(move |action, _| {
            let seen = action.parameters.strip_prefix("{\"command\":\"").unwrap_or_default();
            let said = match (seen.contains("risky"), seen.find(from), seen.find(to)) {
                (true, Some(start), Some(end)) => {
                    rewrites(&[splice(start as u32, end as u32, new)])
                }
                _ => Assessment::default(),
            };
            vec![answer("judge", Ok(said))]
        });
        let sent = world.bash(command, "t1");
        assert_eq!(sent.effect(), "ask", "{name}: {}", sent.out);
        assert!(!world.plugins.shown.contains(secret), "{name}: plugins saw it");
        assert!(!world.documents().concat().contains(secret), "{name}: the journal holds it");
    }
}

#[test]
fn the_outcome_of_a_rewritten_call_joins_its_review() {
    for id in [true, false] {
        let strip = |payload: Value| if id { payload } else { without("tool_use_id", payload) };
        let mut world = World::default();
        world.plugins.assess = says_of("risky", rewrites(&[text("mv safe q")]));
        let review = world.send(&strip(pre("Bash", json!({"command": "rm risky"}), "t1")));
        assert_eq!(review.effect(), "rewrite");
        let ended =
            world.send(&strip(post("Bash", json!({"command": "mv safe q"}), "t1", json!("done"))));
        assert_eq!(
            ended.records[0].details.get("review"),
            Some(&json!(review.records[0].id)),
            "with id: {id}"
        );
        assert_eq!(world.agent().steps.len(), 1, "with id: {id}");
    }
}

#[test]
fn the_agent_is_informed_of_a_rewrite_with_its_outcome() {
    let mut world = World::default();
    world.plugins.assess = says_of("risky", rewrites(&[text("mv safe q")]));
    let review = world.send(&pre("Bash", json!({"command": "rm risky"}), "t1"));
    let specific = &review.out["hookSpecificOutput"];
    assert_eq!(
        specific.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["hookEventName".into(), "updatedInput".into()])
    );
    let ended = world.send(&post("Bash", json!({"command": "mv safe q"}), "t1", json!("done")));
    let message = ended.out["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(message.contains("Portcullis changed `rm risky`"), "{message}");
    let later = world.send(&post("Bash", json!({"command": "mv safe q"}), "t1", json!("done")));
    assert!(later.out.get("hookSpecificOutput").is_none(), "once: {}", later.out);
}
