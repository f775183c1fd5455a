//! A session that a detection raised: the verdicts on what comes next, until the person speaks.

use crate::harness::{World, answer, detection, prompt};
use portcullis_core::action::{Coverage, Effect, EffectKind, Entry, Facts, GitState, Path, Scope};
use portcullis_core::finding::Report;
use portcullis_core::policy::DecisionPolicy;
use portcullis_core::review::Findings;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::session::Session;
use portcullis_core::verdict::{adjust_to_session, decide_verdict};

/// Kind, target, the path's scope, true if it can be restored.
type Does = (EffectKind, &'static str, Option<(Scope, bool)>);

fn facts(does: &[Does], coverage: Coverage) -> Facts {
    let mut facts = Facts { coverage, ..Facts::nothing() };
    for (kind, target, path) in does {
        let index = path.map(|(scope, restorable)| {
            facts.paths.push(Path {
                text: (*target).into(),
                glob: false,
                scope,
                entry: Entry::File,
                link_target: None,
                git: if restorable { GitState::Clean } else { GitState::Untracked },
                restorable,
            });
            u32::try_from(facts.paths.len() - 1).unwrap()
        });
        facts.effects.push(Effect {
            kind: kind.clone(),
            target: (*target).into(),
            path: index,
            command: None,
            recursive: false,
            certain: true,
        });
    }
    facts
}

fn verdict(goal: &str, raised: bool, facts: &Facts) -> (Verdict, Vec<String>) {
    let mut session = Session::default();
    session.begin_prompt(Some(goal.into()), 1);
    if raised {
        session.raise("instruction_injection", "the result of step 0 holds text", 0);
    }
    let mut decision = decide_verdict(&Findings::default(), false, &DecisionPolicy::default());
    let before = decision.verdict;
    adjust_to_session(&mut decision, &session, facts);
    assert!(decision.verdict >= before, "it only tightens");
    (decision.verdict, decision.adjustments.into_iter().map(|one| one.cause).collect())
}

#[test]
fn graver_actions_ask_and_others_go_on() {
    use EffectKind as E;
    const INSIDE: Option<(Scope, bool)> = Some((Scope::Inside, false));
    const KEPT: Option<(Scope, bool)> = Some((Scope::Inside, true));
    const SCRATCH: Option<(Scope, bool)> = Some((Scope::Scratch, false));
    const OUTSIDE: Option<(Scope, bool)> = Some((Scope::Outside, false));
    let other = [(E::Other("new".into()), "", None)];
    let cases: Vec<(&[Does], bool)> = vec![
        (&[], false),
        (&[(E::FileRead, "/project/a", INSIDE)], false),
        (&[(E::FileRead, "/srv/a", OUTSIDE)], false),
        (&[(E::FileCreate, "/project/a", INSIDE)], false),
        (&[(E::FileModify, "/project/a", INSIDE)], false),
        (&[(E::FileModify, "/srv/a", OUTSIDE)], true),
        (&[(E::FileDelete, "/project/a", INSIDE)], true),
        (&[(E::FileDelete, "/project/a", KEPT)], false),
        (&[(E::FileDelete, "/tmp/mine", SCRATCH)], false),
        (&[(E::FileDelete, "/project/a", KEPT), (E::FileDelete, "/srv/a", OUTSIDE)], true),
        (&[(E::Discard, "/project", INSIDE)], true),
        (&[(E::Network, "https://example.org/x", None)], true),
        (&[(E::Network, "http://localhost:3000/x", None)], false),
        (&[(E::Send, "127.0.0.1:8080", None)], false),
        (&[(E::Send, "127.0.0.1.example.org", None)], true),
        (&[(E::Send, "", None)], true),
        (&[(E::Publish, "origin", None)], true),
        (&[(E::RemoteChange, "db.example.org", None)], true),
        (&[(E::RemoteDelete, "db", None)], true),
        (&[(E::UnseenCode, "", None)], true),
        (&[(E::ProcessStart, "/project/x.sh", INSIDE)], true),
        (&[(E::ProcessStart, "/project/x.sh", KEPT)], false),
        (&[(E::ProcessStart, "frobnicate", None)], true),
        (&[(E::ProcessStop, "4711", None)], false),
        (&[(E::Persistence, "cron", None)], true),
        (&[(E::SecretRead, "/home/me/.ssh/id_rsa", OUTSIDE)], true),
        (&other, true),
    ];
    for (does, asks) in cases {
        let facts = facts(does, Coverage::Full);
        let (found, causes) = verdict("tidy up the page", true, &facts);
        assert_eq!(found == Verdict::Ask, asks, "{does:?}");
        assert_eq!(!causes.is_empty(), asks, "{does:?}: {causes:?}");
        assert_eq!(verdict("tidy up the page", false, &facts).0, Verdict::Allow, "{does:?}");
    }
    let partly = facts(&[(E::FileRead, "/project/a", INSIDE)], Coverage::Partial);
    assert_eq!(verdict("tidy up", true, &partly).0, Verdict::Ask, "not known in full");
}

#[test]
fn requested_actions_go_on() {
    use EffectKind as E;
    let cases: Vec<(&str, Does, bool)> = vec![
        (
            "send report.txt to drop.example.net",
            (E::Send, "https://drop.example.net/in", None),
            true,
        ),
        ("see https://drop.example.net/docs.", (E::Network, "drop.example.net", None), true),
        ("send it to drop.example.net", (E::Send, "https://example.net", None), false),
        ("delete old.log", (E::FileDelete, "/project/logs/old.log", None), true),
        ("delete the logs", (E::FileDelete, "/project/logs/old.log", None), false),
        ("do not delete old.log", (E::FileDelete, "/project/old.log", None), false),
        ("fix it and push", (E::Publish, "origin", None), true),
        ("fix it, but don't push", (E::Publish, "origin", None), false),
        ("fix it", (E::Publish, "origin", None), false),
        ("install the packages", (E::Network, "registry.npmjs.org", None), true),
        ("install the packages", (E::Send, "registry.npmjs.org", None), false),
        ("run x", (E::ProcessStart, "x", None), false),
    ];
    for (goal, does, goes) in cases {
        let facts = facts(std::slice::from_ref(&does), Coverage::Full);
        assert_eq!(verdict(goal, true, &facts).0 == Verdict::Allow, goes, "{goal}: {does:?}");
    }
}

/// Returns a world in which the result of `cat page` raises, or another pattern's detection does
/// not.
fn world(pattern: &'static str) -> World {
    let mut world = World::default();
    world.plugins.detect = Box::new(move |_, action, _| {
        let due = action.outcome.is_some() && action.parameters.contains("cat page");
        let found = detection(pattern, Severity::Low, 500, 500);
        let detections = if due { vec![found] } else { Vec::new() };
        vec![answer("pattern", Ok(Report { detections, state: None }))]
    });
    world.send(&prompt("tidy up the page"));
    world
}

#[test]
fn a_detection_raises_until_the_next_prompt() {
    let mut world = world("instruction_injection");
    assert_ne!(world.bash("rm a.txt", "t0").effect(), "ask", "before");
    world.runs("cat page", "t1");
    let asked = world.bash("rm a.txt", "t2");
    assert_eq!(asked.effect(), "ask");
    let decision = asked.decision();
    assert!(decision.primary_reason.contains("instruction_injection"), "{decision:?}");
    assert!(decision.adjustments.iter().any(|one| one.cause == "the session is raised"));
    assert!(decision.alternatives[0].contains("leave what that text says alone"));
    assert_ne!(world.bash("touch b.txt", "t3").effect(), "ask", "a file of the project");
    assert_eq!(world.bash("rm c.txt", "t4").effect(), "ask", "still");
    world.send(&prompt("go on"));
    assert_ne!(world.bash("rm a.txt", "t5").effect(), "ask", "the person has spoken");
}

#[test]
fn the_policy_says_which_patterns_raise() {
    let mut other = world("loop");
    other.runs("cat page", "t1");
    assert_ne!(other.bash("rm a.txt", "t2").effect(), "ask", "another pattern");
    other.policy.interventions.raising = vec!["loop".into()];
    other.runs("cat page", "t3");
    assert_eq!(other.bash("rm a.txt", "t4").effect(), "ask", "one that is named");
    let mut none = world("instruction_injection");
    none.policy.interventions.raising.clear();
    none.runs("cat page", "t1");
    assert_ne!(none.bash("rm a.txt", "t2").effect(), "ask", "no pattern is named");
}
