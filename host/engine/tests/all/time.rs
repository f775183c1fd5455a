//! Fuel and the wall clock.

use crate::guests::{NOTHING, action, assessor, builtin_entry, component, context, good, no_details, reader, risk};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::Plugins;
use portcullis_engine::{Engine, Entry, Kind, Limits, PluginSet, ReviewClock};
use std::time::Duration;

fn entry(name: &'static str, wat: &str, fuel: u64) -> Entry {
    let limits = Limits { fuel, ..Limits::third_party() };
    Entry { limits, ..builtin_entry(name, Kind::RiskCalculator, component(wat, "risk-calculator")) }
}

fn set(entries: Vec<Entry>, backstop: Option<Duration>) -> PluginSet {
    PluginSet::new(Engine::new(None).unwrap(), reader(), entries, ReviewClock { now_ms: 1, backstop }).unwrap()
}

#[test]
fn the_same_question_costs_the_same_fuel() {
    let work =
        "(local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 1000))))";
    let wat = assessor(&format!("{work} {}", risk(5)), NOTHING, "");
    let fuel = |rounds: usize| {
        let mut set = set(vec![entry("worker", &wat, 1_000_000)], None);
        let used: Vec<u64> = (0..rounds).map(|_| set.assess(&action(), &context(), &no_details)[0].fuel).collect();
        used
    };
    let used = fuel(3);
    assert!(used[0] > 1000 && used.iter().all(|fuel| *fuel == used[0]), "{used:?}");
    assert_eq!(fuel(1)[0], used[0], "in another engine");
}

/// With fuel for minutes, only the clock can end it; those behind it are not run, and the next review is whole.
#[test]
fn the_clock_ends_what_fuel_does_not() {
    let spin = assessor("(loop (br 0)) unreachable", NOTHING, "");
    let entries = vec![entry("a-spins", &spin, u64::MAX / 2), entry("b-waits", &assessor(NOTHING, NOTHING, ""), 1_000_000)];
    let mut set = set(entries, Some(Duration::from_millis(40)));
    for _ in 0..2 {
        set.begin(1);
        let answers = set.assess(&action(), &context(), &no_details);
        let kinds: Vec<_> = answers.iter().map(|answer| answer.result.as_ref().map(|_| ()).map_err(|fault| fault.kind)).collect();
        assert_eq!(kinds, [Err(FaultKind::Timeout), Err(FaultKind::NotRun)]);
    }
}

#[test]
fn a_clock_that_is_not_reached_changes_nothing() {
    let mut set = set(vec![builtin_entry("good", Kind::RiskCalculator, good(7))], Some(ReviewClock::BACKSTOP));
    for now in 0..20 {
        set.begin(now);
        assert!(set.assess(&action(), &context(), &no_details)[0].result.is_ok());
    }
}
