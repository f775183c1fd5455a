//! Plugins of a stage at the same time on several threads: the same answers, in the same order, as
//! one after another.

use crate::guests::{
    NOTHING, action, assessor, builtin_entry, compiling, component, context, file_entry, reader,
    risk,
};
use portcullis_core::action::StepDetail;
use portcullis_core::plugins::Plugins;
use portcullis_engine::{Engine, Helpers, Kind, Limits, PluginSet, PluginSpec, ReviewClock};
use std::cell::RefCell;
use std::thread;
use std::time::Duration;

/// Asks for 20 steps, of which 16 are answered, and scores how many were known.
const ASKS: &str = "(local $i i64) (local $found i32)
    (loop (call $detail (local.get $i) (i32.const 2048))
        (local.set $found (i32.add (local.get $found) (i32.load8_u (i32.const 2048))))
        (local.set $i (i64.add (local.get $i) (i64.const 1))) (br_if 0 (i64.lt_u (local.get $i) (i64.const 20))))
    (i32.store8 (i32.const 1028) (i32.const 1)) (i32.store16 (i32.const 1032) (local.get $found)) (i32.const 1024)";
const DETAIL: &str =
    r#"(import "portcullis:plugin/host@0.1.0" "detail" (func $detail (param i64 i32)))"#;

/// Counts to this number, and then scores it modulo 1000.
fn counts(to: u32) -> String {
    format!(
        "(local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if 0 (i32.lt_u (local.get $i) (i32.const {to})))) {}",
        risk(to % 1000)
    )
}

fn own(name: &'static str, assess: &str, more: &str) -> PluginSpec {
    let bytes = component(&assessor(assess, NOTHING, more), "risk-calculator");
    builtin_entry(name, Kind::RiskCalculator, bytes)
}

/// Returns a set with the plugins of the program, and one of a file after them.
fn set_of(engine: &Engine, entries: &[PluginSpec], budget: Option<Duration>) -> PluginSet {
    let clock = ReviewClock { now_ms: 1, time_budget: budget };
    PluginSet::new(compiling(engine), reader(), entries.to_vec(), clock).unwrap()
}

/// Returns all that a review gets from the plugins, with what they asked.
fn answers(set: &mut PluginSet) -> (Vec<String>, Vec<u64>) {
    let asked = RefCell::new(Vec::new());
    let details = |step: u64| {
        asked.borrow_mut().push(step);
        let known = StepDetail {
            tool: "Bash".into(),
            parameters: "{}".into(),
            effects: vec![],
            paths: vec![],
            outcome: None,
        };
        step.is_multiple_of(3).then_some(known)
    };
    set.begin_review(1);
    let answers = set.assess(&action(), &context(), &details);
    let shown = answers.iter().map(|answer| format!("{answer:?}")).collect();
    let mut asked = asked.take();
    asked.sort_unstable();
    (shown, asked)
}

/// Checks that the answers with help are those without.
fn check(name: &str, entries: &[PluginSpec], budget: Option<Duration>) {
    let engine = Engine::new(None).unwrap().with_pool();
    let expected = answers(&mut set_of(&engine, entries, budget));
    assert_eq!(expected.0.len(), entries.len(), "{name}");
    for processors in [2, 4] {
        let helpers = Helpers::with_processors(processors).unwrap();
        let mut helped = set_of(&engine, entries, budget);
        for round in 0..20 {
            helped.use_help(Some(helpers.begin_review()));
            assert_eq!(answers(&mut helped), expected, "{name}, {processors}, round {round}");
            helped.use_help(None);
        }
    }
}

/// The first plugin takes the longest, so whoever puts the answers together as they come puts it
/// last.
#[test]
fn the_order_is_that_of_the_plugins() {
    let entries = [
        own("a-slow", &counts(3_000_007), ""),
        own("b-asks", ASKS, DETAIL),
        own("c-quick", &counts(11), ""),
        own("d-asks", ASKS, DETAIL),
        own("e-quick", &counts(13), ""),
        own("f-slow", &counts(2_000_017), ""),
    ];
    check("all answer", &entries, Some(ReviewClock::TIME_BUDGET));
    check("no clock", &entries, None);
    check("one plugin", &entries[..1], Some(ReviewClock::TIME_BUDGET));
}

#[test]
fn a_fault_stays_that_of_its_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.wasm");
    std::fs::write(&path, component(&assessor(&risk(5), NOTHING, ""), "risk-calculator")).unwrap();
    let entries = [
        own("a-quick", &counts(17), ""),
        own("b-traps", "(unreachable)", ""),
        own("c-loops", "(loop $on (br $on)) (i32.const 1024)", ""),
        own("d-asks", ASKS, DETAIL),
        own("e-grows", "(drop (memory.grow (i32.const 5000))) (i32.load (i32.const -8))", ""),
        own(
            "f-recurses",
            "(drop (call $deep (i32.const 1))) (i32.const 1024)",
            "(func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))",
        ),
        own("g-quick", &counts(19), ""),
        file_entry("foreign", path),
    ];
    let entries = entries.map(|entry| PluginSpec {
        limits: Limits { fuel: 2_000_000, ..entry.limits.clone() },
        ..entry
    });
    check("faults", &entries, Some(ReviewClock::TIME_BUDGET));
}

/// A plugin that only the clock can end is not run beside others, so the clock still ends it.
#[test]
fn the_clock_ends_a_plugin_as_without_help() {
    let endless = |entry: PluginSpec| PluginSpec {
        limits: Limits { fuel: u64::MAX / 2, ..entry.limits.clone() },
        ..entry
    };
    let entries = [
        own("a-quick", &counts(17), ""),
        endless(own("b-spins", "(loop (br 0)) unreachable", "")),
        own("c-waits", &counts(19), ""),
    ];
    let engine = Engine::new(None).unwrap();
    let helpers = Helpers::with_processors(2).unwrap();
    let mut set = set_of(&engine, &entries, Some(Duration::from_millis(40)));
    for _ in 0..2 {
        set.use_help(Some(helpers.begin_review()));
        let (shown, _) = answers(&mut set);
        for (text, expected) in shown.iter().zip(["Ok(", "Timeout", "NotRun"]) {
            assert!(text.contains(expected), "{shown:?}");
        }
    }
}

/// Reviews at once share the threads, and each gets its own answers.
#[test]
fn reviews_at_once_do_not_mix() {
    let engine = Engine::new(None).unwrap().with_pool();
    let helpers = Helpers::with_processors(4).unwrap();
    thread::scope(|scope| {
        for number in 0..4_u32 {
            let (engine, helpers) = (&engine, &helpers);
            scope.spawn(move || {
                let entries = [
                    own("a-slow", &counts(200_000 + number), ""),
                    own("b-asks", ASKS, DETAIL),
                    own("c-quick", &counts(20 + number), ""),
                ];
                let expected = answers(&mut set_of(engine, &entries, None));
                let mut helped = set_of(engine, &entries, None);
                for round in 0..50 {
                    helped.use_help(Some(helpers.begin_review()));
                    assert_eq!(answers(&mut helped), expected, "{number}, round {round}");
                    helped.use_help(None);
                }
            });
        }
    });
}

/// A defect in the review's own thread ends the review, and no thread waits for it for ever.
#[test]
fn a_panic_ends_the_stage() {
    let engine = Engine::new(None).unwrap();
    let helpers = Helpers::with_processors(2).unwrap();
    let entries = [own("a-asks", ASKS, DETAIL), own("b-asks", ASKS, DETAIL)];
    let mut set = set_of(&engine, &entries, None);
    let expected = answers(&mut set);
    for _ in 0..5 {
        set.use_help(Some(helpers.begin_review()));
        let panics =
            |_: u64| -> Option<StepDetail> { std::panic::resume_unwind(Box::new("defect")) };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            set.assess(&action(), &context(), &panics)
        }));
        assert!(ended.is_err());
        assert_eq!(answers(&mut set), expected, "the next review is complete");
    }
}
