//! Effects of the operator's policy: the modes, the detail of records, the expected scope, the
//! limits.

use crate::harness::{World, event, judged, post, pre, prompt, risk, rules, says, says_of};
use portcullis_core::action::{Quantity, Scope};
use portcullis_core::policy::{Detail, Mode};
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Score, Severity, Verdict};
use serde_json::json;

#[test]
fn with_the_reviewer_off_everything_is_written_down_and_nobody_is_asked() {
    let mut world = World::default();
    world.policy.mode = Mode::Off;
    world.plugins.assess = says(rules(Verdict::Block, Severity::Critical));
    world.plugins.watched = true;
    let sent = world.bash("rm -rf /", "t1");
    assert_eq!(
        (sent.effect(), sent.kinds(), sent.answer.exit),
        ("none", vec![RecordKind::Unreviewed], 0)
    );
    let record = &sent.records[0];
    assert_eq!(
        (record.mode, &record.details["reviewer"], record.decision.is_none()),
        (Mode::Off, &json!("off"), true)
    );
    assert!(record.action.as_ref().is_some_and(|action| action.parameters.contains("rm -rf /")));
    let ended =
        world.send(&post("Bash", json!({"command": "rm -rf /"}), "t1", json!({"stdout": "gone"})));
    assert_eq!((ended.effect(), ended.kinds()), ("none", vec![RecordKind::Outcome]));
    assert_eq!(ended.records[0].details["review"], json!(record.id));
    assert_eq!(world.agent().steps.len(), 1, "one step, whatever tells of it");
    let token = crate::harness::token();
    let secret =
        world.bash(&format!("curl -H 'Authorization: Bearer {token}' https://x.example"), "t2");
    assert!(!secret.records[0].document().contains(&token), "it is masked all the same");
    assert_eq!(world.plugins.shown, "", "no plugin was asked anything");
    world.unwhole = vec!["decisions: off.".into()];
    let start = world.send(&event("SessionStart", json!({"source": "startup"})));
    assert!(
        start.at("/systemMessage").is_some_and(|said| said.to_string().contains("decisions: off.")),
        "the person is told"
    );
}

#[test]
fn in_the_mode_async_small_risks_run_first_and_hear_of_objections_later() {
    let objected = |verdict, score| {
        let mut said = rules(verdict, Severity::High);
        said.risk = risk(score).risk;
        said
    };
    // Risk, the rule's verdict, the threshold, true if it runs first, and the effect in the client.
    for (score, verdict, threshold, first, effect) in [
        (299, Verdict::Block, 300, true, "none"),
        (299, Verdict::Ask, 300, true, "none"),
        (300, Verdict::Block, 300, false, "deny"),
        (100, Verdict::Block, 100, false, "deny"),
        (299, Verdict::Warn, 300, true, "none"),
    ] {
        let mut world = World::default();
        (world.policy.mode, world.policy.async_threshold) = (Mode::Async, Score::new(threshold));
        world.plugins.assess = says(objected(verdict, score));
        let sent = world.bash("touch a", "t1");
        let case = format!("risk {score}, {verdict}, below {threshold}");
        assert_eq!((sent.effect(), sent.verdict()), (effect, verdict), "{case}");
        assert_eq!(
            sent.records[0].details.get("provisional"),
            first.then_some(&json!(true)),
            "{case}"
        );
        let said = sent
            .at("/hookSpecificOutput/additionalContext")
            .map(ToString::to_string)
            .unwrap_or_default();
        assert_eq!(
            said.contains("ran before its review was done"),
            first && verdict > Verdict::Warn,
            "{case}: {said}"
        );
        let held = world.agent().steps[0].verdict;
        assert_eq!(
            held,
            if first { Verdict::Allow } else { verdict },
            "{case}: what ran is a step that ran"
        );
    }
}

#[test]
fn a_stop_is_no_small_risk() {
    let mut world = World::default();
    world.policy.mode = Mode::Async;
    world.plugins.assess = says_of("doom", rules(Verdict::Block, Severity::Critical));
    world.bash("doom", "t1");
    assert_eq!(world.bash("ls", "t2").effect(), "stop");
    assert!(!world.journal.last().unwrap().details.contains_key("provisional"));
}

#[test]
fn detail_never_costs_a_record_or_a_reason() {
    // The detail; then, for allowed, warned and blocked actions, true if their findings are kept.
    for (detail, kept) in [
        (Detail::Debug, [true, true, true]),
        (Detail::Info, [true, true, true]),
        (Detail::Warn, [false, true, true]),
        (Detail::Error, [false, false, true]),
    ] {
        for (said, kept) in
            [risk(100), rules(Verdict::Warn, Severity::Low), rules(Verdict::Block, Severity::High)]
                .into_iter()
                .zip(kept)
        {
            let mut world = World::default();
            world.policy.detail = detail;
            world.plugins.assess = says(said);
            let sent = world.bash("touch a", "t1");
            let record = &sent.records[0];
            assert_eq!(sent.kinds()[0], RecordKind::Review, "{detail}");
            assert_eq!(
                (record.findings.is_some(), !record.plugins.is_empty()),
                (kept, kept),
                "{detail} {}",
                sent.verdict()
            );
            assert!(
                record.action.is_some()
                    && !record.decision.as_ref().unwrap().primary_reason.is_empty(),
                "{detail}"
            );
        }
    }
}

#[test]
fn the_expected_scope_can_be_globs() {
    let project = "/home/me/shop";
    for (paths, path, scope) in [
        (&[][..], "src/a.rs", Scope::Inside),
        (&["src/**"], "src/a.rs", Scope::Inside),
        (&["src/**"], "src/deep/a.rs", Scope::Inside),
        (&["src/*"], "src/deep/a.rs", Scope::Outside),
        (&["src/**"], "srcs/a.rs", Scope::Outside),
        (&["src/**"], "README.md", Scope::Outside),
        (&["src/**", "*.md"], "README.md", Scope::Inside),
        (&["src/**"], "/home/me/notes/a", Scope::Outside),
        (&["~/notes/**"], "/home/me/notes/a", Scope::Inside),
        (&["~/notes/**"], "src/a.rs", Scope::Outside),
        (&["/srv/*/data/**"], "/srv/a/data/b", Scope::Inside),
        // Paths that no action may touch incidentally stay that way.
        (&["/**"], "/etc/passwd", Scope::System),
        (&["~/**"], "/home/me/.ssh/id_rsa", Scope::System),
        (&["~/**"], "/home/me/.bashrc", Scope::System),
    ] {
        let mut world = World::default();
        world.policy.scope.paths = paths.iter().map(ToString::to_string).collect();
        let path =
            if path.starts_with('/') { path.to_owned() } else { format!("{project}/{path}") };
        let sent = world.send(&pre("Write", json!({"file_path": path, "content": "x"}), "t1"));
        let found = &sent.records[0].action.as_ref().unwrap().facts.paths[0];
        assert_eq!(found.scope, scope, "{paths:?}: {path}");
    }
}

#[test]
fn a_session_begins_with_the_limits_and_counts_what_outcomes_take() {
    let mut world = World::default();
    let limits = &mut world.policy.limits;
    (limits.memory_mb, limits.execution_time_seconds, limits.token_usage) = (2, 3, 40);
    world.plugins.assess = says(judged(100, 900));
    world.send(&pre("Bash", json!({"command": "make"}), "t1"));
    let mut ended = post("Bash", json!({"command": "make"}), "t1", json!({"stdout": "ok"}));
    ended["duration_ms"] = json!(1200);
    world.send(&ended);
    let of = |world: &World, quantity| {
        let session = world.state().session;
        let limit =
            session.limits.iter().find(|limit| limit.quantity == quantity).cloned().unwrap();
        (limit.maximum, limit.used)
    };
    assert_eq!(of(&world, Quantity::Memory), (2 << 20, 0));
    // By the clock of the events, whatever a client says that the call took.
    assert_eq!(of(&world, Quantity::Time), (3000, 1000));
    assert_eq!(of(&world, Quantity::Tokens).0, 40);
    world.send(&prompt("go on"));
    assert_eq!(of(&world, Quantity::Time), (3000, 0), "a new prompt counts again");
}
