//! Before a tool runs: every verdict, every cell of the matrix, stops, and observe mode.

use crate::harness::{
    World, answer, by, detection, detects, effects, judged, plugin, post, pre, reading, risk,
    rules, says, says_of, seen,
};
use portcullis_core::action::{Coverage, EffectKind, Entry, Intent, Quantity, Scope, Status};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::Assessment;
use portcullis_core::observe::Observed;
use portcullis_core::policy::Mode;
use portcullis_core::score::{Severity, Verdict};
use serde_json::json;

/// A case: the risk-calculator's answer, true if the shape is new, the verdict, and the effect in
/// the client.
type Case = (&'static str, Assessment, bool, Verdict, &'static str);

#[test]
fn every_verdict_reaches_the_client_in_its_form() {
    use Verdict::{Allow, Ask, Block, Modify, Warn};
    let rule = |verdict| rules(verdict, Severity::High);
    let cases: Vec<Case> = vec![
        ("nobody objects", Assessment::default(), true, Allow, "none"),
        ("low risk", risk(500), false, Allow, "none"),
        ("a warning", judged(700, 600), false, Warn, "none"),
        ("a first warning is a note", judged(700, 600), true, Allow, "none"),
        ("a rule warns, also the first time", rule(Warn), true, Warn, "none"),
        ("a rule would have it changed, nobody says how", rule(Modify), true, Ask, "ask"),
        ("the matrix would have it changed, nobody says how", judged(700, 300), true, Ask, "ask"),
        ("a rule asks", rule(Ask), true, Ask, "ask"),
        ("a rule blocks", rule(Block), true, Block, "deny"),
        ("risk blocks", risk(950), true, Block, "deny"),
        ("a critical side effect blocks", effects(Severity::Critical), true, Block, "deny"),
        ("a high side effect alone does not", effects(Severity::High), true, Allow, "none"),
    ];
    for (name, said, first, verdict, taken) in cases {
        let mut world = World::default();
        if !first {
            world.runs("make all", "t0");
        }
        world.plugins.assess = says(said);
        let sent = world.bash("make it", "t1");
        assert_eq!((sent.verdict(), sent.effect()), (verdict, taken), "{name}");
        let informed = (
            sent.at("/hookSpecificOutput/additionalContext").is_some(),
            sent.at("/systemMessage").is_some(),
        );
        let expected = match verdict {
            Allow if name == "a first warning is a note" => (false, true),
            Allow | Modify => (false, false),
            Warn => (true, true),
            Ask => (false, false),
            Block => (false, true),
        };
        assert_eq!(informed, expected, "{name}: told agent, told person");
        assert_eq!(
            (sent.answer.exit, !sent.answer.stderr.is_empty()),
            if taken == "deny" { (2, true) } else { (0, false) },
            "{name}"
        );
        if let Some(reason) = sent.at("/hookSpecificOutput/permissionDecisionReason") {
            assert!(
                reason.as_str().unwrap().contains(&sent.records[0].id),
                "{name}: the reason names the review: {reason}"
            );
        }
    }
}

#[test]
fn every_cell_of_the_matrix_reaches_the_client() {
    let rows = [
        (400, ["none", "none", "none"]),
        (650, ["none", "none", "ask"]),
        (850, ["none", "ask", "deny"]),
        (960, ["deny", "deny", "deny"]),
    ];
    let verdicts = [
        [Verdict::Allow, Verdict::Allow, Verdict::Warn],
        [Verdict::Allow, Verdict::Warn, Verdict::Ask],
        [Verdict::Warn, Verdict::Ask, Verdict::Block],
        [Verdict::Block; 3],
    ];
    for ((risk, taken), verdicts) in rows.into_iter().zip(verdicts) {
        for ((rationality, taken), verdict) in [900, 600, 200].into_iter().zip(taken).zip(verdicts)
        {
            let mut world = World::default();
            world.runs("make all", "t0");
            world.plugins.assess = says(judged(risk, rationality));
            let sent = world.bash("make it", "t1");
            assert_eq!(
                (sent.verdict(), sent.effect()),
                (verdict, taken),
                "risk {risk}, rationality {rationality}"
            );
        }
    }
}

#[test]
fn a_first_warning_is_a_note_for_record_and_person() {
    let mut world = World::default();
    world.plugins.assess = says(judged(700, 600));
    let first = world.bash("make it", "t1");
    assert_eq!(
        first.out["hookSpecificOutput"],
        json!({"hookEventName": "PreToolUse"}),
        "the agent is not told"
    );
    let note = first.out["systemMessage"].as_str().unwrap();
    assert!(note.contains("notes `make it`, the first of its kind"), "{note}");
    let adjustment = first.decision().adjustments.last().unwrap().clone();
    assert_eq!((adjustment.from, adjustment.to), (Verdict::Warn, Verdict::Allow));
    assert_eq!(world.bash("make more", "t2").verdict(), Verdict::Warn, "the shape has been seen");
}

#[test]
fn partial_actions_are_never_notes() {
    let mut world = World::default();
    world.plugins.read = Box::new(|text| {
        let mut read = reading(text);
        read.coverage = Coverage::Partial;
        Ok(read)
    });
    let sent = world.bash("make it", "t1");
    assert_eq!(sent.verdict(), Verdict::Warn);
    for (tool, input) in [
        ("Teleport", json!({})),
        ("Bash", json!({"command": 5})),
        ("Write", json!({"content": "x"})),
    ] {
        assert_eq!(
            world.send(&pre(tool, input.clone(), "t")).verdict(),
            Verdict::Warn,
            "{tool} {input}"
        );
    }
    let large = json!({"text": "x".repeat(70 * 1024)});
    let sent = world.send(&pre("mcp__files__write", large, "t9"));
    assert_eq!(
        sent.verdict(),
        Verdict::Warn,
        "parameters that no plugin saw whole are not understood"
    );
}

#[test]
fn a_critical_rule_ends_the_session_for_everyone() {
    let mut world = World::default();
    world.plugins.assess = says_of("doom", rules(Verdict::Block, Severity::Critical));
    let stop = world.bash("doom", "t1");
    assert_eq!((stop.effect(), stop.answer.exit), ("stop", 2));
    assert_eq!(stop.at("/hookSpecificOutput/permissionDecision"), Some(&json!("deny")));
    let reason = stop.at("/stopReason").unwrap().as_str().unwrap().to_owned();
    assert!(
        stop.at("/systemMessage").unwrap().as_str().unwrap().contains(&reason),
        "the person is told, since nobody sees a stop reason"
    );
    assert_eq!(world.plugins.asked, [("emergency-stop".to_owned(), "rule:a_rule".to_owned())]);

    let ls = || pre("Bash", json!({"command": "ls"}), "t2");
    for (name, payload) in [
        ("the next call", ls()),
        ("a subagent's", by("a1", ls())),
        ("another tool", pre("Read", json!({"file_path": "a"}), "t3")),
    ] {
        let sent = world.send(&payload);
        assert_eq!(
            (sent.effect(), sent.answer.exit, sent.verdict()),
            ("stop", 2, Verdict::Block),
            "{name}"
        );
        assert!(
            !sent.decision().explanation.contains("No objection"),
            "{name}: {}",
            sent.decision().explanation
        );
    }
    assert_eq!(world.plugins.asked.len(), 1, "a stopped session is not answered again");
    let after = world.send(&post("Bash", json!({"command": "ls"}), "t9", json!("done")));
    assert_eq!((after.effect(), after.answer.exit), ("stop", 0), "what is under way ends too");
    let batch = world.send(&crate::harness::event("PostToolBatch", json!({"tool_calls": []})));
    assert_eq!(
        (batch.effect(), batch.answer.exit),
        ("stop", 0),
        "as does the main loop after a subagent"
    );
}

#[test]
fn a_call_that_a_pattern_stops_is_recorded_as_refused() {
    let mut world = World::default();
    world.plugins.detect =
        detects("leak", vec![detection("secret_egress", Severity::Critical, 900, 1000)]);
    let sent = world.bash("leak it", "t1");
    assert_eq!(sent.effect(), "stop");
    assert_eq!(
        sent.verdict(),
        Verdict::Block,
        "the record says what happened: the call did not run"
    );
    let state = world.state();
    assert_eq!(state.agent.steps.back().unwrap().status, Status::Refused);
    assert_eq!((state.session.totals.blocked, state.agent.totals.blocked), (1, 1));
}

#[test]
fn observing_changes_nothing_but_records_everything() {
    let mut world = World::default();
    world.policy.mode = Mode::Observe;
    let cases = [
        ("block", rules(Verdict::Block, Severity::Critical), Verdict::Block),
        ("ask", rules(Verdict::Ask, Severity::High), Verdict::Ask),
        ("warn", rules(Verdict::Warn, Severity::High), Verdict::Warn),
        (
            "change",
            crate::harness::rewrites(&[portcullis_core::finding::Change::SetText("ls".into())]),
            Verdict::Modify,
        ),
    ];
    for (mark, said, verdict) in cases {
        world.plugins.assess = says_of(mark, said);
        let sent = world.bash(&format!("make {mark}"), mark);
        assert_eq!(
            sent.out,
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse"}}),
            "{mark}"
        );
        assert_eq!((sent.answer.exit, sent.verdict()), (0, verdict), "{mark}");
        assert_eq!(sent.records[0].mode, Mode::Observe);
        assert_eq!(
            sent.records[0].action.as_ref().unwrap().run_as,
            None,
            "{mark}: it runs as received"
        );
        let ended = world.send(&post(
            "Bash",
            json!({"command": format!("make {mark}")}),
            mark,
            json!("done"),
        ));
        assert_eq!(
            ended.records[0].details["review"], sent.records[0].id,
            "{mark}: its outcome joins it"
        );
    }
    world.plugins.detect =
        detects("leak", vec![detection("secret_egress", Severity::Critical, 1000, 1000)]);
    let sent = world.bash("leak", "t9");
    assert_eq!((sent.effect(), sent.records.len()), ("none", 2), "the answer is only recorded");
    assert_eq!(sent.records[0].detections.len(), 1, "but the detection is recorded");
    let state = world.state();
    assert_eq!(
        (state.session.stopped, state.session.issues.len(), state.session.totals.interventions),
        (None, 2, 2)
    );
    let limit = state
        .session
        .limits
        .iter()
        .find(|limit| limit.quantity == Quantity::FileOperations)
        .unwrap();
    assert_eq!(limit.maximum, 100);
}

#[test]
fn the_strictest_of_several_plugins_counts() {
    let mut world = World::default();
    world.plugins.assess = Box::new(|_, _| {
        let broken = answer(
            "broken",
            Err(plugin("broken", OnFault::Warn).new_fault(FaultKind::Trap, "it trapped")),
        );
        vec![
            answer("a", Ok(rules(Verdict::Warn, Severity::Low))),
            answer("b", Ok(rules(Verdict::Block, Severity::Low))),
            answer("c", Ok(risk(100))),
            broken,
        ]
    });
    let sent = world.bash("make it", "t1");
    assert_eq!(sent.verdict(), Verdict::Block);
    let record = &sent.records[0];
    assert_eq!(record.faults.len(), 1);
    let names: Vec<&str> = record.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "broken"], "everyone who was asked is named");
    let sources: Vec<&str> = record
        .findings
        .as_ref()
        .unwrap()
        .objections
        .iter()
        .map(|objection| objection.source.as_str())
        .collect();
    assert_eq!(sources, ["a", "b"]);
}

#[test]
fn limits_in_force_are_shown_and_counted() {
    let mut world = World::default();
    world.plugins.assess = says_of("blocked", rules(Verdict::Block, Severity::High));
    world.bash("touch a b c", "t1");
    world.bash("touch blocked", "t2");
    world.send(&pre("Write", json!({"file_path": "x", "content": "y"}), "t3"));
    world.send(&by("a1", pre("Write", json!({"file_path": "z", "content": "y"}), "t4")));
    let used = |world: &World| world.state().session.limits[0].used;
    assert_eq!(used(&world), 5, "what runs counts, also a subagent's; what was refused does not");
    assert!(world.plugins.shown.contains("used: 4"), "plugins see what is used so far");
}

/// Texts of plugins and agents end on a person's terminal: none may paint over it.
#[test]
fn nothing_in_an_answer_can_drive_a_terminal() {
    let hostile = "calm\u{1b}[2J\u{202e}\u{7}down";
    let mut said = rules(Verdict::Block, Severity::High);
    said.rulings[0].reason = hostile.into();
    said.rulings[0].alternatives = vec![hostile.into()];
    for verdict in [Verdict::Warn, Verdict::Ask, Verdict::Block] {
        said.rulings[0].verdict = verdict;
        let mut world = World::default();
        world.plugins.assess = says(said.clone());
        let mut found = detection("loop", Severity::Medium, 900, 500);
        found.summary = hostile.into();
        world.plugins.detect = detects("make", vec![found]);
        world.plugins.intervene = Box::new(|name, _, _| {
            Some(answer(name, Ok(crate::harness::guidance("calm\u{1b}[2J"))))
        });
        let sent = world.bash(&format!("make {hostile}"), "t1");
        let texts = [
            sent.reply.agent,
            sent.reply.person,
            vec![String::from_utf8(sent.answer.stderr).unwrap()],
        ]
        .concat();
        let ruling = format!("{:?}", sent.out);
        for text in texts.iter().chain([&ruling]) {
            let bad = text
                .trim_end()
                .chars()
                .find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{verdict}: {text:?}");
        }
        assert!(!sent.out.to_string().contains("\\u001b"), "{verdict}: {}", sent.out);
    }
}

#[test]
fn a_long_reason_does_not_push_out_the_reviews_id() {
    let mut said = rules(Verdict::Block, Severity::High);
    said.rulings[0].reason = "very long ".repeat(400);
    said.rulings[0].alternatives = vec!["x ".repeat(2000), "y ".repeat(2000), "z ".repeat(2000)];
    for verdict in [Verdict::Warn, Verdict::Ask, Verdict::Block] {
        said.rulings[0].verdict = verdict;
        let mut world = World::default();
        world.plugins.assess = says(said.clone());
        let sent = world.bash("make", "t1");
        let id = &sent.records[0].id;
        let message = sent
            .at("/hookSpecificOutput/permissionDecisionReason")
            .or(sent.at("/hookSpecificOutput/additionalContext"));
        assert!(message.unwrap().as_str().unwrap().contains(id), "{verdict}");
    }
}

#[test]
fn later_stages_see_what_earlier_ones_found() {
    let mut world = World::default();
    world.plugins.assess = says(Assessment {
        rulings: rules(Verdict::Warn, Severity::Low).rulings,
        ..judged(650, 900)
    });
    world.bash("make it", "t1");
    let (before, patterns) = world.plugins.shown.split_once("History {").unwrap();
    assert!(before.contains("assessments: []"), "risk-calculators do not see each other");
    let seen = "assessments: [Assessed { plugin: \"judge\", risk: Some(Score(650)), rationality: Some(Score(900)), alignment: None, verdict: Warn, rules: [\"a_rule\"] }]";
    assert!(patterns.contains(seen), "{patterns}");
}

#[test]
fn observations_are_judged_and_recorded() {
    let link = |to: &str| Observed { real: Some(to.into()), ..seen(Entry::Link) };
    for (observed, scope, intent) in [
        (seen(Entry::Absent), Scope::Inside, Intent::FileCreation),
        (seen(Entry::File), Scope::Inside, Intent::FileModification),
        (link("/etc/passwd"), Scope::System, Intent::FileModification),
        (link("/home/me/shop/b"), Scope::Inside, Intent::FileModification),
    ] {
        let mut world = World::default();
        world.observed.insert("/home/me/shop/a".into(), observed.clone());
        let sent = world.send(&pre("Write", json!({"file_path": "a", "content": "x"}), "t1"));
        let action = sent.records[0].action.as_ref().unwrap();
        assert_eq!((action.facts.paths[0].scope, action.intent), (scope, intent), "{observed:?}");
        assert_eq!(
            action.observed.get("/home/me/shop/a"),
            Some(&observed),
            "a replay needs no disk"
        );
        let outside = u16::from(scope == Scope::System);
        assert_eq!(world.agent().steps.back().unwrap().outside, outside, "{observed:?}");
    }
}

#[test]
fn a_link_counts_as_the_place_that_it_leads_to() {
    let places = [
        ("/home/me/.aws/credentials", EffectKind::SecretRead),
        ("/home/me/.ssh/id_ed25519", EffectKind::SecretRead),
        ("/home/me/.netrc", EffectKind::SecretRead),
        ("/home/me/.bashrc", EffectKind::Persistence),
        ("/home/me/.ssh/authorized_keys", EffectKind::Persistence),
        ("/home/me/shop/.git/hooks/pre-commit", EffectKind::Persistence),
    ];
    let inside = ["/home/me/shop/b", "/home/me/shop/.env.example", "/home/me/notes.txt"];
    let tools = [
        ("Read", json!({"file_path": "a"})),
        ("Write", json!({"file_path": "a", "content": "x"})),
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
    ];
    for (tool, input) in &tools {
        let kinds = |real: &str| {
            let mut world = World::default();
            let observed = Observed { real: Some(real.into()), ..seen(Entry::File) };
            world.observed.insert("/home/me/shop/a".into(), observed);
            let sent = world.send(&pre(tool, input.clone(), "t1"));
            let facts = &sent.records[0].action.as_ref().unwrap().facts;
            facts.effects.iter().map(|effect| effect.kind.clone()).collect::<Vec<_>>()
        };
        for (real, kind) in &places {
            let reads = *tool == "Read";
            let expected = reads == (*kind == EffectKind::SecretRead);
            assert_eq!(kinds(real).contains(kind), expected, "{tool} through a link to `{real}`");
        }
        for real in inside {
            assert_eq!(kinds(real).len(), 1, "{tool} through a link to `{real}`");
        }
    }
}

/// Judges must not guess the home folder, and a replay on another machine must judge `~` as in the
/// original run.
#[test]
fn plugins_and_records_know_the_home() {
    let mut world = World::default();
    let sent = world.bash("ls", "t1");
    assert!(
        world.plugins.shown.contains("attributes: [(\"home\", \"/home/me\"), (\"prompt\", \"0\")]"),
        "{}",
        world.plugins.shown
    );
    assert_eq!(sent.records[0].action.as_ref().unwrap().home, "/home/me");
    let document = sent.records[0].document().replace(",\"home\":\"/home/me\"", "");
    let old: portcullis_core::record::Record = serde_json::from_str(&document).unwrap();
    assert_eq!(old.action.unwrap().home, "", "records of before are read");
}
