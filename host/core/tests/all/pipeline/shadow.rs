//! Plugins in shadow mode: their answers are recorded, and nothing else changes.

use super::properties::{Said, said};
use crate::harness::{
    Scripted, World, answer, detection, detects, fault, post, prompt, risk, rules, says,
};
use portcullis_core::action::Action;
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Assessment, Report};
use portcullis_core::plugins::PluginResponse;
use portcullis_core::policy::Detail;
use portcullis_core::record::{Record, RecordedShadow};
use portcullis_core::score::{Severity, Verdict};
use proptest::prelude::*;
use serde_json::json;

fn looks_on<T>(mut answer: PluginResponse<T>, name: &str) -> PluginResponse<T> {
    answer.plugin.name = name.into();
    answer.plugin.shadow = true;
    answer
}

/// Adds the plugins in `shadows` to `counting` in shadow mode, each once as a risk-calculator and
/// once as a pattern.
fn beside(mut counting: Scripted, shadows: &[Said]) -> Scripted {
    let (assessors, patterns) = (shadows.to_vec(), shadows.to_vec());
    let (mut assess, mut detect) = (counting.assess, counting.detect);
    counting.assess = Box::new(move |action, context| {
        let asked = assessors.iter().map(|said| match said.fault {
            Some((kind, policy)) => answer("shadow", Err(fault(kind, policy))),
            None => answer("shadow", Ok(said.assessment.clone())),
        });
        assess(action, context)
            .into_iter()
            .chain(asked.map(|answer| looks_on(answer, "shadow")))
            .collect()
    });
    counting.detect = Box::new(move |history, action, state| {
        let asked = patterns.iter().map(|said| match said.fault {
            Some((kind, policy)) => answer("watcher", Err(fault(kind, policy))),
            None => answer(
                "watcher",
                Ok(Report { detections: said.detections.clone(), state: Some(vec![7]) }),
            ),
        });
        detect(history, action, state)
            .into_iter()
            .chain(asked.map(|answer| looks_on(answer, "watcher")))
            .collect()
    });
    counting
}

/// Returns the complete results of a session: replies, records without the shadow entries, the
/// state without that of the shadow plugins.
fn session(counting: &[Said], shadows: &[Said]) -> (String, Vec<String>, Vec<u8>, Vec<u8>, String) {
    let mut world = World::with(beside(super::properties::plugins(counting), shadows));
    world.bash("make it", "t1");
    world.send(&post(
        "Bash",
        json!({"command": "make it"}),
        "t1",
        json!({"stdout": "done", "stderr": ""}),
    ));
    world.runs("make it", "t2");
    world.send(&prompt("go on"));
    let mut state = world.state();
    state.agent.plugins.remove("watcher");
    let (session, agent) = state.encode().unwrap();
    let records = world
        .journal
        .iter()
        .map(|record| Record { shadow: Vec::new(), ..record.clone() }.document())
        .collect();
    (world.replies, records, session, agent, world.plugins.shown)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn shadow_plugins_change_nothing(counting in prop::collection::vec(said(), 0..3), shadows in prop::collection::vec(said(), 1..3)) {
        prop_assert_eq!(session(&counting, &shadows), session(&counting, &[]));
    }

    #[test]
    fn shadow_verdicts_are_never_looser(counting in prop::collection::vec(said(), 0..3), shadows in prop::collection::vec(said(), 1..3)) {
        let mut world = World::with(beside(super::properties::plugins(&counting), &shadows));
        for record in world.bash("make it", "t1").records.iter().filter(|record| record.decision.is_some()) {
            prop_assert_eq!(record.shadow.len(), 2 * shadows.len());
            for shadow in &record.shadow {
                prop_assert!(shadow.would >= shadow.actual && shadow.actual.is_some(), "{shadow:?}");
                prop_assert_eq!(shadow.reason.is_some(), shadow.would > shadow.actual);
            }
        }
    }
}

fn shadows(
    assess: impl Fn(&Action) -> PluginResponse<Assessment> + 'static,
) -> (Verdict, RecordedShadow) {
    let mut world = World::default();
    let mut counting = says(risk(100));
    world.plugins.assess = Box::new(move |action, context| {
        let mut answers = counting(action, context);
        answers.push(looks_on(assess(action), "shadow"));
        answers
    });
    let sent = world.bash("make it", "t1");
    (sent.verdict(), sent.records[0].shadow[0].clone())
}

/// The record holds the would-be result of each: the verdict, the reason, its faults.
#[test]
fn the_record_says_what_it_would_have_done() {
    for (name, answered, would, reason, faults) in [
        ("nothing", answer("a", Ok(Assessment::default())), Verdict::Allow, None, 0),
        (
            "an objection",
            answer("a", Ok(rules(Verdict::Block, Severity::Medium))),
            Verdict::Block,
            Some("the rule says so"),
            0,
        ),
        (
            "a fault",
            answer("a", Err(fault(FaultKind::OutOfFuel, OnFault::Ask))),
            Verdict::Ask,
            Some("judge: out-of-fuel: it did not answer"),
            1,
        ),
        (
            "a fault that warns",
            answer("a", Err(fault(FaultKind::Trap, OnFault::Warn))),
            Verdict::Warn,
            Some("judge: trap: it did not answer"),
            1,
        ),
    ] {
        let (verdict, shadow) = shadows(move |_| answered.clone());
        assert_eq!(
            (verdict, shadow.actual, shadow.would),
            (Verdict::Allow, Some(Verdict::Allow), Some(would)),
            "{name}"
        );
        assert_eq!((shadow.reason.as_deref(), shadow.faults.len()), (reason, faults), "{name}");
        assert_eq!((shadow.plugin.name.as_str(), shadow.plugin.fuel), ("shadow", 1000), "{name}");
    }
}

/// A pattern in shadow mode is asked after an action too, keeps its own state, and answers nothing.
#[test]
fn a_pattern_looks_on_with_a_state_of_its_own() {
    let mut world = World::default();
    let mut detect = detects("make", vec![detection("loop", Severity::Critical, 1000, 1000)]);
    world.plugins.detect = Box::new(move |history, action, state| {
        let mut answers = detect(history, action, state);
        for answer in &mut answers {
            answer.plugin.name = "pattern".into();
            answer.plugin.shadow = true;
            answer.result = answer
                .result
                .clone()
                .map(|report| Report { state: Some([state, &[1]].concat()), ..report });
        }
        answers
    });
    let before = world.bash("make it", "t1");
    assert_eq!(before.records[0].shadow[0].detections, ["loop"]);
    assert!(
        before.records[0].detections.is_empty() && before.records.len() == 1,
        "no intervention answers it"
    );
    let after = world.send(&post(
        "Bash",
        json!({"command": "make it"}),
        "t1",
        json!({"stdout": "", "stderr": ""}),
    ));
    let shadow = &after.records[0].shadow[0];
    assert_eq!(
        (shadow.actual, shadow.would, &shadow.plugin.name),
        (None, None, &"pattern".to_owned())
    );
    assert_eq!(world.agent().plugins["pattern"], [1, 1]);
}

/// Even a journal with the least detail keeps the results of shadow mode.
#[test]
fn a_short_journal_keeps_it() {
    let mut world = World::default();
    world.policy.detail = Detail::Error;
    let mut counting = says(risk(100));
    world.plugins.assess = Box::new(move |action, context| {
        let mut answers = counting(action, context);
        let mut shadow = looks_on(answer("a", Ok(rules(Verdict::Block, Severity::Low))), "shadow");
        shadow.log = vec!["debug: a".into(), "info: b".into()];
        answers.push(shadow);
        answers
    });
    let record = world.bash("make it", "t1").records.remove(0);
    assert!(record.plugins.is_empty());
    assert_eq!(
        (record.shadow[0].would, &record.shadow[0].plugin.log),
        (Some(Verdict::Block), &vec!["info: b".to_owned()])
    );
}
