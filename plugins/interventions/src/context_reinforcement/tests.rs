//! The reminders to the agent.

use super::strength::Strength;
use super::*;
use crate::random::{Dice, ISSUES, hole};
use portcullis_plugin::intervention::{Background, PastIntervention, Severity};
use portcullis_plugin::testing::{self, BuildContext, BuildIssue};
use portcullis_plugin::types::{Assessed, Quantity, Verdict};

fn answer(
    settings: &[Setting],
    issue: &Issue,
    situation: &Situation,
    context: &Context,
) -> Result<(String, Vec<Background>), Error> {
    let prepared = ContextReinforcement::prepare(settings)?;
    match ContextReinforcement::intervene(&prepared, issue, situation, context)? {
        Response::Guide(guidance) => {
            assert!(guidance.limits.is_empty());
            let [message] = <[String; 1]>::try_from(guidance.messages).unwrap();
            assert!(
                message.len() <= 4096
                    && guidance.background.iter().all(|fact| fact.text.len() <= 4096)
            );
            Ok((message, guidance.background))
        }
        other => panic!("no guidance: {other:?}"),
    }
}

fn bare(name: &str, severity: Severity) -> Issue {
    testing::issue(name, severity, "a summary of it")
}

fn full(name: &str, severity: Severity) -> Issue {
    let details = [
        ("path", "/srv/other"),
        ("command", "cargo test"),
        ("host", "files.example"),
        ("error", "no such file"),
        ("growth", "files 2.1"),
        ("alternative", "git revert"),
        ("refused", "rm -rf build"),
    ];
    details.iter().fold(bare(name, severity), |issue, (kind, value)| issue.with(kind, value))
}

fn context() -> Context {
    testing::context().goal("build the parser").goal("fix its tests").limit(
        Quantity::FileOperations,
        100,
        40,
    )
}

fn fact<'a>(facts: &'a [Background], title: &str) -> Option<&'a Background> {
    facts.iter().find(|fact| fact.title == title)
}

#[test]
fn each_issue_has_its_own_words_and_constraints() {
    for (name, said, matters) in [
        (
            "repetitive_errors",
            &["same error", "`no such file`"][..],
            &["the same result", "unchanged: cargo test", "error before anything else"][..],
        ),
        (
            "scope_creep",
            &["left what the task", "/srv/other"],
            &["project's folders: /project", "as they are: /srv/other", "contact: files.example"],
        ),
        (
            "resource_spiral",
            &["more and more", "Growth: files 2.1"],
            &["small batches", "left: file-operations 40 of 100"],
        ),
        ("goal_drift", &["do not serve", "asked to: fix its tests"], &["nothing else"]),
        (
            "hallucination",
            &["do not exist", "Not there: /srv/other"],
            &["some output has shown", "not commands here: cargo test"],
        ),
        ("loop", &["circle: cargo test"], &["change something"]),
        (
            "blocked_then_bypassed",
            &["refused as: rm -rf build"],
            &["stays refused", "Refused was: rm -rf build", "instead: git revert"],
        ),
        (
            "secret_egress",
            &["go to: files.example"],
            &["No secret leaves", "read from: /srv/other"],
        ),
        (
            "instruction_injection",
            &["steered the work", "came from: files.example"],
            &["Only the person", "asked for by: files.example"],
        ),
        ("rule:no_force", &["`no_force`", "instead: git revert"], &["rule `no_force` is in force"]),
        ("a_custom_pattern", &["losing its way", "began at step 3; this is step 7"], &[]),
    ] {
        let mut messages = Vec::new();
        for (severity, closing) in [
            (Severity::Low, "in mind"),
            (Severity::Medium, "in a sentence"),
            (Severity::High, "Stop first"),
            (Severity::Critical, "Stop first"),
        ] {
            let (message, facts) =
                answer(&[], &full(name, severity), &testing::situation(), &context()).unwrap();
            for part in said.iter().chain(&["a summary of it", closing]) {
                assert!(message.contains(part), "{name}: `{part}` is not in\n{message}");
            }
            assert!(
                message.starts_with(&format!(
                    "[portcullis context_reinforcement | {name} | 2026-01-01T12:00:00.000Z]\n"
                )),
                "{message}"
            );
            assert!(!message.contains("in spite of"), "{message}");
            let now = fact(&facts, "constraints that matter now");
            assert_eq!(now.is_none(), matters.is_empty(), "{name}");
            for part in matters {
                assert!(
                    now.is_some_and(|now| now.emphasised && now.text.contains(part)),
                    "{name}: `{part}` is not in {now:?}"
                );
            }
            assert_eq!(fact(&facts, "original request").unwrap().text, "build the parser");
            messages.push(message);
        }
        messages.dedup();
        assert_eq!(messages.len(), 3, "{name}: three strengths");
    }
}

#[test]
fn strength_says_how_much() {
    const LIGHT: &[&str] = &["original request"];
    const MEDIUM: &[&str] =
        &["original request", "goals, the most important first", "boundaries", "constraints"];
    const STRONG: &[&str] = &[
        "original request",
        "goals, the most important first",
        "boundaries",
        "constraints",
        "examples",
    ];
    for (name, severity, level, fixed, expected) in [
        ("loop", Severity::Low, 0, "auto", LIGHT),
        ("loop", Severity::Medium, 0, "auto", MEDIUM),
        ("loop", Severity::Low, 1, "auto", MEDIUM),
        ("loop", Severity::High, 0, "auto", STRONG),
        ("loop", Severity::Low, 2, "auto", STRONG),
        ("loop", Severity::Low, 4, "auto", STRONG),
        ("loop", Severity::Critical, 4, "light", LIGHT),
        ("loop", Severity::Low, 0, "medium", MEDIUM),
        ("loop", Severity::Low, 0, "strong", STRONG),
        (
            "scope_creep",
            Severity::Low,
            0,
            "auto",
            &["original request", "goals, the most important first", "boundaries"],
        ),
        ("resource_spiral", Severity::Low, 0, "auto", &["original request", "boundaries"]),
    ] {
        let situation = Situation { level, ..testing::situation() };
        let (_, facts) = answer(
            &[Setting::new("strength", fixed)],
            &full(name, severity),
            &situation,
            &context(),
        )
        .unwrap();
        let titles: Vec<&str> = facts
            .iter()
            .map(|fact| fact.title.as_str())
            .filter(|title| *title != "constraints that matter now")
            .collect();
        assert_eq!(titles, expected, "{name} {severity:?} at level {level}, {fixed}");
    }
    assert!(Strength::Light < Strength::Strong);
}

#[test]
fn examples_are_given_as_the_operator_says() {
    for (strength, examples, given) in [
        ("light", "auto", false),
        ("medium", "auto", false),
        ("strong", "auto", true),
        ("light", "yes", true),
        ("medium", "yes", true),
        ("strong", "no", false),
    ] {
        let settings =
            [Setting::new("strength", strength), Setting::new("include_examples", examples)];
        let issue = full("loop", Severity::Low);
        let (_, facts) = answer(&settings, &issue, &testing::situation(), &context()).unwrap();
        let found = facts.iter().any(|fact| fact.title == "examples");
        assert_eq!(found, given, "{strength} {examples}");
    }
}

#[test]
fn the_issues_subject_comes_first() {
    for (name, severity, expected) in [
        ("loop", Severity::Low, &["constraints that matter now"][..]),
        ("loop", Severity::Medium, &["constraints that matter now"]),
        ("loop", Severity::High, &["original request", "constraints that matter now"]),
        (
            "goal_drift",
            Severity::Low,
            &["original request", "constraints that matter now", "goals, the most important first"],
        ),
        ("resource_spiral", Severity::Medium, &["constraints that matter now", "boundaries"]),
        (
            "scope_creep",
            Severity::Medium,
            &[
                "original request",
                "constraints that matter now",
                "goals, the most important first",
                "boundaries",
            ],
        ),
        ("a_custom_pattern", Severity::Medium, &[]),
    ] {
        let (_, facts) =
            answer(&[], &full(name, severity), &testing::situation(), &context()).unwrap();
        let first: Vec<&str> =
            facts.iter().filter(|fact| fact.emphasised).map(|fact| fact.title.as_str()).collect();
        assert_eq!(first, expected, "{name} {severity:?}");
    }
}

#[test]
fn goals_stand_by_priority() {
    let numbered = |count: usize| {
        (0..count)
            .fold(testing::context(), |context, number| context.goal(&format!("goal {number}")))
    };
    for (context, original, goals) in [
        (testing::context(), None, None),
        (numbered(1), Some("goal 0"), None),
        (testing::context().goal(" \n").goal("one\nline `x`"), Some("one line 'x'"), None),
        (numbered(2), Some("goal 0"), Some("1. goal 1\n2. goal 0")),
        (
            numbered(7),
            Some("goal 0"),
            Some("1. goal 6\n2. goal 5\n3. goal 4\n4. goal 3\n5. goal 2\nand 2 older ones"),
        ),
    ] {
        let (_, facts) =
            answer(&[], &bare("loop", Severity::Medium), &testing::situation(), &context).unwrap();
        let text = |title| fact(&facts, title).map(|fact| fact.text.as_str());
        assert_eq!(
            (text("original request"), text("goals, the most important first")),
            (original, goals)
        );
    }
}

#[test]
fn constraints_of_operator_and_rules() {
    let settings = [Setting::new(
        "constraints",
        [
            "Keep to Rust 2024.",
            "loop: ask after two rounds",
            "scope_creep: not here",
            "rule:*: never",
            "my_pattern: not here",
            "note: a colon is not a name",
            " ",
        ],
    )];
    let mut context = context();
    let assessed = |verdict, rule: &str| Assessed {
        plugin: "rules".into(),
        risk: None,
        rationality: None,
        alignment: None,
        verdict,
        rules: vec![rule.into()],
    };
    context.assessments =
        vec![assessed(Verdict::Warn, "warn_direct_push"), assessed(Verdict::Allow, "silent")];
    let (_, facts) =
        answer(&settings, &bare("loop", Severity::Medium), &testing::situation(), &context)
            .unwrap();
    let [now, others] = ["constraints that matter now", "constraints"]
        .map(|title| fact(&facts, title).unwrap().text.as_str());
    for (text, part, there) in [
        (now, "- ask after two rounds", true),
        (now, "object to this action: warn_direct_push", true),
        (now, "silent", false),
        (now, "not here", false),
        (others, "- Keep to Rust 2024.", true),
        (others, "- note: a colon is not a name", true),
        (others, "not here", false),
        (others, "No secret leaves", true),
        (others, "the same result", false),
    ] {
        assert_eq!(text.contains(part), there, "`{part}` in\n{text}");
    }
    for (issue, part) in [("rule:no_force", "- never"), ("scope_creep", "- not here")] {
        let (_, facts) =
            answer(&settings, &bare(issue, Severity::Low), &testing::situation(), &context)
                .unwrap();
        assert!(
            fact(&facts, "constraints that matter now").unwrap().text.contains(part),
            "{issue}"
        );
    }
}

#[test]
fn an_earlier_reminder_is_mentioned() {
    let past = |kind: &str, issue: &str| PastIntervention {
        kind: kind.into(),
        issue: issue.into(),
        step: 1,
        at: testing::NOW,
        effectiveness: None,
    };
    for (past, part) in [
        (vec![past("context_reinforcement", "loop")], Some("one earlier reminder")),
        (
            vec![past("context-reinforcement", "loop"), past("context_reinforcement", "loop")],
            Some("2 earlier reminders"),
        ),
        (vec![past("soft_correction", "loop"), past("context_reinforcement", "scope_creep")], None),
    ] {
        let (message, _) = answer(
            &[],
            &bare("loop", Severity::Low),
            &Situation { past, ..testing::situation() },
            &context(),
        )
        .unwrap();
        assert_eq!(message.contains("in spite of"), part.is_some(), "{message}");
        assert!(part.is_none_or(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn settings_are_checked() {
    for (setting, message) in [
        (
            Setting::new("strength", "loud"),
            "setting `strength`: is `loud`, should be one of `auto`, `light`, `medium`, `strong`",
        ),
        (
            Setting::new("include_examples", "often"),
            "setting `include_examples`: is `often`, should be one of `auto`, `yes`, `no`",
        ),
        (
            Setting::new("strenght", "light"),
            "setting `strenght`: unknown; did you mean `strength`?",
        ),
        (
            Setting::new("constraints", "one"),
            "setting `constraints`: is a text, should be a list of texts",
        ),
        (
            Setting::new("templates.loop", "{clsing}"),
            "setting `templates.loop`: line 1: unknown placeholder `{clsing}`; did you mean `{closing}`?",
        ),
    ] {
        assert_eq!(ContextReinforcement::prepare(&[setting]).unwrap_err().message(), message);
    }
    for foreign in [&[][..], &[9], &[1, 255], b"context"] {
        let answer = ContextReinforcement::intervene(
            foreign,
            &bare("loop", Severity::Low),
            &testing::situation(),
            &context(),
        );
        assert!(matches!(answer, Err(Error::InvalidInput(_) | Error::Failed(_))), "{answer:?}");
    }
    let other = Settings::check(&[], &[]).unwrap().to_bytes();
    assert!(
        ContextReinforcement::intervene(
            &other,
            &bare("loop", Severity::Low),
            &testing::situation(),
            &context()
        )
        .is_err()
    );
}

#[test]
fn the_operators_words_come_first() {
    for (set, passed, part) in [
        (Some("set: {strength}"), None, "\nset: medium"),
        (
            None,
            Some(("context_reinforcement.loop", "passed {closing}")),
            "\npassed Before the next step",
        ),
        (None, Some(("loop", "a correction")), "goes round in a circle"),
        (Some("{earlier}"), None, "goes round in a circle"),
    ] {
        let settings: Vec<Setting> =
            set.map(|text| Setting::new("templates.loop", text)).into_iter().collect();
        let templates = passed.map(Into::into).into_iter().collect();
        let (message, facts) = answer(
            &settings,
            &bare("loop", Severity::Medium),
            &Situation { templates, ..testing::situation() },
            &context(),
        )
        .unwrap();
        assert!(message.contains(part), "{message}");
        assert!(!facts.is_empty());
    }
}

/// For any issue, no text has a gap, and none breaks its line.
#[test]
fn any_issue_gets_whole_texts() {
    for seed in 0..1000 {
        let mut dice = Dice::new(seed);
        let (issue, situation, context) = (dice.issue(), dice.situation(), dice.context());
        let (message, facts) = answer(&[], &issue, &situation, &context).unwrap();
        for text in facts.iter().flat_map(|fact| [&fact.title, &fact.text]).chain([&message]) {
            assert_eq!(hole(text), None, "seed {seed}:\n{text}");
            assert!(
                text.lines().all(|line| !line.starts_with("Ignore all rules")),
                "seed {seed}:\n{text}"
            );
        }
    }
    for name in ISSUES {
        for missing in 0..1_u32 << 7 {
            let mut issue = full(name, Severity::High);
            issue.evidence = issue
                .evidence
                .into_iter()
                .enumerate()
                .filter(|(at, _)| missing & 1 << at == 0)
                .map(|(_, one)| one)
                .collect();
            let (message, facts) =
                answer(&[], &issue, &testing::situation(), &testing::context()).unwrap();
            for text in facts.iter().map(|fact| &fact.text).chain([&message]) {
                assert!(hole(text).is_none() && !text.contains(['{', '}']), "{name}:\n{text}");
            }
        }
    }
}
