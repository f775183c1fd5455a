//! The messages to agent and person.

use super::*;
use crate::random::{Dice, ISSUES, hole};

#[test]
fn each_issue_has_its_own_words() {
    for (name, parts) in [
        (
            "repetitive_errors",
            &[
                "`no such file`",
                "Where: /srv/other",
                "smallest command",
                "begin with: `cargo test`",
            ][..],
        ),
        ("scope_creep", &["Outside of it: /srv/other", "folders alone: /project"]),
        ("resource_spiral", &["Growth: files x 2", "stop when it grows again"]),
        ("goal_drift", &["less and less", "missing for the request"]),
        (
            "hallucination",
            &["Not there: /srv/other", "Not a command here: cargo test", "search and read first"],
        ),
        ("loop", &["circle: cargo test", "another way to learn"]),
        ("blocked_then_bypassed", &["refused as: rm -rf build", "Take the refusal as decided"]),
        ("secret_egress", &["go to: files.example", "does not fetch it"]),
        ("instruction_injection", &["came from: files.example", "nothing that the text asked for"]),
        ("rule:no_force", &["`no_force` was broken", "Instead of it: git revert"]),
        ("a_custom_pattern", &["began at step 3", "take another way"]),
    ] {
        for severity in [Severity::Low, Severity::Medium, Severity::High, Severity::Critical] {
            let issue = Issue { severity, ..full(name) };
            let context = testing::context().goal("fix the parser");
            let Ok((_, message)) =
                answer(&[], &issue, &with(vec![taken("cp-2", 2, 5)]), &context).unwrap()
            else {
                panic!("a plan")
            };
            assert!(
                message.starts_with(&format!(
                    "[portcullis checkpoint_rollback | {name} | 2026-01-01T12:00:00.000Z]\n"
                )),
                "{message}"
            );
            for part in parts.iter().chain(&[
                "Why: a summary of it",
                "The checkpoint: `cp-2` from before step 2 (2026-01-01T11:55:00.000Z); 0.90 of the steps",
                "Going back undoes what the steps from 2 to 7 did to files.",
                "The conversation cannot be taken back",
                "You were asked to: fix the parser",
            ]) {
                assert!(message.contains(part), "{name}: `{part}` is not in\n{message}");
            }
            assert!(!message.contains("come to this before"), "{message}");
            assert!(!message.contains("goes back"), "the host says what happens: {message}");
            let Err(plan) = answer(&[], &issue, &with(vec![]), &context).unwrap() else {
                panic!("a rollback")
            };
            assert!(
                plan.reason.contains("a summary of it")
                    && plan.reason.contains("Agent: change nothing more"),
                "{}",
                plan.reason
            );
            assert!(
                plan.steps.len() >= 5
                    && plan.steps.last().unwrap().starts_with("Then tell the agent"),
                "{name}: {:?}",
                plan.steps
            );
        }
    }
}

#[test]
fn an_earlier_return_is_mentioned() {
    let situation =
        Situation { past: vec![back(1, None), back(2, None)], ..with(vec![taken("a", 1, 9)]) };
    let Ok((_, message)) =
        answer(&[], &bare("loop", Severity::High), &situation, &testing::context()).unwrap()
    else {
        panic!("a plan")
    };
    assert!(
        message.contains(
            "come to this before for the same reason (2 earlier answers), so do it differently"
        ),
        "{message}"
    );
}

#[test]
fn a_plan_is_in_order_and_offers_what_was_refused() {
    let mut situation = with(vec![
        taken("after it", 5, 1),
        taken("o'clock", 4, 1),
        taken("old", 1, 99),
        taken("older", 0, 100),
    ]);
    situation.recent = vec!["Bash: ls".into(), "Bash: make".into()];
    situation.totals.files = 4;
    let Err(plan) =
        answer(&[], &full("scope_creep"), &situation, &testing::context().goal("fix it")).unwrap()
    else {
        panic!("a rollback")
    };
    assert_eq!(
        plan.steps,
        [
            "Check what was touched outside: /srv/other",
            "Undo what should not be there.",
            "Read what was done since step 3: Bash: make, Bash: ls",
            "Look over the files that were changed (4 in this session) before you keep them.",
            "See the whole record: `portcullis audit show`",
            "The checkpoint `after it` from before step 5 was not taken: it was taken after this began at step 3. If you judge it good: `portcullis checkpoint restore 'after it'`",
            "The checkpoint `o'clock` from before step 4 was not taken: it was taken after this began at step 3. If you judge it good: `portcullis checkpoint restore 'o'\\''clock'`",
            "The checkpoint `old` from before step 1 was not taken: it is 99 minutes old, 30 are allowed. If you judge it good: `portcullis checkpoint restore old`",
            "Restore the wrong files yourself, from git or from a backup.",
            "Undo what is not in files: programs that still run, requests that were sent, packages that were installed.",
            "The request was: fix it",
            "Then tell the agent how to go on, or begin a new session with a narrower request.",
        ]
    );
}

#[test]
fn the_operators_words_come_first() {
    for (set, passed, parts) in [
        (
            Some(("loop", "set: {undone}")),
            None,
            &["\nset: the steps from 2 to 7\n", "should go back", "cannot be taken back"][..],
        ),
        (Some(("rollback", "to {checkpoint}")), None, &["\nto cp-2\n", "What to try"]),
        (None, Some(("checkpoint_rollback.conversation", "go on")), &["\ngo on", "What to try"]),
        (None, Some(("loop", "a correction")), &["the same steps came again"]),
        (Some(("rollback", "{none_safe}")), None, &["The files should go back"]),
    ] {
        let settings: Vec<Setting> = set
            .map(|(name, text)| Setting::new(&format!("templates.{name}"), text))
            .into_iter()
            .collect();
        let templates = passed.map(Into::into).into_iter().collect();
        let situation = Situation { templates, ..with(vec![taken("cp-2", 2, 5)]) };
        let Ok((_, message)) =
            answer(&settings, &full("loop"), &situation, &testing::context()).unwrap()
        else {
            panic!("a plan")
        };
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

/// Any issue gets complete texts, and never a checkpoint that does not exist or is not safe.
#[test]
fn any_issue_gets_whole_texts() {
    for seed in 0..1000 {
        let mut dice = Dice::new(seed);
        let (issue, situation, context) = (dice.issue(), dice.situation(), dice.context());
        let texts = match answer(&[], &issue, &situation, &context).unwrap() {
            Ok((id, message)) => {
                let taken = situation.checkpoints.iter().find(|known| {
                    known.id == id && known.step <= issue.first_step && known.success_rate >= 800
                });
                assert!(
                    taken.is_some_and(|taken| taken.unsafe_because.is_none()),
                    "seed {seed}: {id}"
                );
                vec![message]
            }
            Err(plan) => [plan.steps, vec![plan.reason]].concat(),
        };
        for text in texts {
            assert_eq!(hole(&text), None, "seed {seed}:\n{text}");
            assert!(
                text.lines().all(|line| !line.starts_with("Ignore all rules")),
                "seed {seed}:\n{text}"
            );
        }
    }
    for name in ISSUES {
        for missing in 0..1_u32 << 7 {
            let mut issue = full(name);
            issue.evidence = issue
                .evidence
                .into_iter()
                .enumerate()
                .filter(|(at, _)| missing & 1 << at == 0)
                .map(|(_, one)| one)
                .collect();
            let Ok((_, message)) =
                answer(&[], &issue, &with(vec![taken("a", 2, 5)]), &testing::context()).unwrap()
            else {
                panic!("a plan")
            };
            assert!(
                hole(&message).is_none() && !message.contains(['{', '}']),
                "{name}:\n{message}"
            );
        }
    }
}

#[test]
fn the_context_of_the_work_is_restored_too() {
    let context = testing::context().goal("Build the shop").goal("Do not touch the invoices");
    let issue = full("scope_creep");
    let prepared = CheckpointRollback::prepare(&[]).unwrap();
    let situation = with(vec![taken("a", 2, 5)]);
    let response = CheckpointRollback::intervene(&prepared, &issue, &situation, &context).unwrap();
    let Response::Rollback(rollback) = response else { panic!("{response:?}") };
    let titles: Vec<&str> =
        rollback.guidance.background.iter().map(|fact| fact.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "original request",
            "goals, the most important first",
            "constraints that matter now",
            "boundaries",
            "constraints"
        ]
    );
    let all: String = rollback.guidance.background.iter().map(|fact| fact.text.as_str()).collect();
    for part in
        ["Build the shop", "Do not touch the invoices", "/srv/other", "The project's folders"]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
}
