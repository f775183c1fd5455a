//! Fuel and the wall clock.

use crate::guests::{
    NOTHING, action, assessor, builtin_entry, compiling, component, context, file_entry, good,
    no_details, reader, risk,
};
use portcullis_core::action::Facts;
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::Assessment;
use portcullis_core::plugins::{PluginResponse, Plugins};
use portcullis_core::policy::Policy;
use portcullis_core::review::Findings;
use portcullis_core::score::Verdict;
use portcullis_core::verdict::decide_verdict;
use portcullis_engine::{Engine, Kind, Limits, PluginSet, PluginSpec, ReviewClock};
use std::time::{Duration, Instant};

/// A body that never ends.
const SPIN: &str = "(loop (br 0)) unreachable";

/// Fuel that nothing uses up: equivalent to none at all.
const FUEL_OFF: u64 = u64::MAX / 2;

fn entry(name: &'static str, wat: &str, fuel: u64) -> PluginSpec {
    let limits = Limits { fuel, ..Limits::third_party() };
    PluginSpec {
        limits,
        ..builtin_entry(name, Kind::RiskCalculator, component(wat, "risk-calculator"))
    }
}

fn set(entries: Vec<PluginSpec>, time_budget: Option<Duration>) -> PluginSet {
    PluginSet::new(
        compiling(&Engine::new(None).unwrap()),
        reader(),
        entries,
        ReviewClock { now_ms: 1, time_budget },
    )
    .unwrap()
}

#[test]
fn the_same_question_costs_the_same_fuel() {
    let work = "(local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 1000))))";
    let wat = assessor(&format!("{work} {}", risk(5)), NOTHING, "");
    let fuel = |rounds: usize| {
        let mut set = set(vec![entry("worker", &wat, 1_000_000)], None);
        let used: Vec<u64> =
            (0..rounds).map(|_| set.assess(&action(), &context(), &no_details)[0].fuel).collect();
        used
    };
    let used = fuel(3);
    assert!(used[0] > 1000 && used.iter().all(|fuel| *fuel == used[0]), "{used:?}");
    assert_eq!(fuel(1)[0], used[0], "in another engine");
}

/// With fuel for minutes, only the clock can end it; the plugins after it are not run, and the next
/// review is complete.
#[test]
fn the_clock_ends_what_fuel_does_not() {
    let spin = assessor(SPIN, NOTHING, "");
    let entries = vec![
        entry("a-spins", &spin, FUEL_OFF),
        entry("b-waits", &assessor(NOTHING, NOTHING, ""), 1_000_000),
    ];
    let mut set = set(entries, Some(Duration::from_millis(40)));
    for _ in 0..2 {
        set.begin_review(1);
        let answers = set.assess(&action(), &context(), &no_details);
        assert_eq!(kinds(&answers), [Err(FaultKind::Timeout), Err(FaultKind::NotRun)]);
    }
}

#[test]
fn a_clock_that_is_not_reached_changes_nothing() {
    let mut set = set(
        vec![builtin_entry("good", Kind::RiskCalculator, good(7))],
        Some(ReviewClock::TIME_BUDGET),
    );
    for now in 0..20 {
        set.begin_review(now);
        assert!(set.assess(&action(), &context(), &no_details)[0].result.is_ok());
    }
}

/// The first guest of a review is watched too, if its fuel could outlast the time.
#[test]
fn a_long_time_is_watched_from_the_first_guest_on() {
    let mut set = set(
        vec![entry("spins", &assessor(SPIN, NOTHING, ""), FUEL_OFF)],
        Some(Duration::from_millis(1200)),
    );
    assert_eq!(kinds(&set.assess(&action(), &context(), &no_details)), [Err(FaultKind::Timeout)]);
}

/// Fuel ends a guest in the same function after the same number of units, in each round and each
/// engine.
#[test]
fn a_spinning_guest_ends_at_the_same_point_each_time() {
    let spin = assessor("(call $turns) unreachable", NOTHING, "(func $turns (loop (br 0)))");
    let ends = || {
        let mut set = set(vec![entry("spins", &spin, 1_000_000)], None);
        let end = |answer: PluginResponse<Assessment>| {
            (answer.fuel, answer.result.unwrap_err().to_string())
        };
        [(); 2].map(|()| end(set.assess(&action(), &context(), &no_details).remove(0)))
    };
    let [first, again] = ends();
    assert_eq!(
        first,
        (
            1_000_000,
            "spins: out-of-fuel: it used up its 1000000 units of fuel in `turns`".to_owned()
        )
    );
    assert_eq!((&again, ends()), (&first, [first.clone(), first.clone()]));
}

/// The given number of files, which only the clock can end, and one built-in plugin that is called
/// before them.
struct Crowd {
    set: PluginSet,
    _folder: tempfile::TempDir,
}

impl Crowd {
    fn new(files: usize, assess: &str, prepare: &str, clock: Option<Duration>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spins.wasm");
        std::fs::write(&path, component(&assessor(assess, prepare, ""), "risk-calculator"))
            .unwrap();
        let limits = Limits { fuel: FUEL_OFF, ..Limits::third_party() };
        let file = |number| PluginSpec {
            limits: limits.clone(),
            ..file_entry(&format!("file-{number:03}"), path.clone())
        };
        let ours = builtin_entry(
            "ours",
            Kind::RiskCalculator,
            component(&assessor(&risk(900), NOTHING, ""), "risk-calculator"),
        );
        Self { set: set((0..files).map(file).chain([ours]).collect(), clock), _folder: folder }
    }

    fn ask(&mut self) -> Vec<PluginResponse<Assessment>> {
        self.set.begin_review(1);
        self.set.assess(&action(), &context(), &no_details)
    }
}

/// A crowd of guests that never end: the built-in plugins answer before and after them, each file
/// is a named fault, the review takes no longer than the time_budget, and no verdict gets looser.
#[test]
fn a_hundred_that_spin_cost_no_more_than_the_time_budget() {
    let mut crowd = Crowd::new(100, SPIN, NOTHING, Some(ReviewClock::TIME_BUDGET));
    // Compiling is not charged to a guest.
    crowd.set.compile_all(|_| {});
    crowd.set.begin_review(1);
    let started = Instant::now();
    let answers = crowd.set.assess(&action(), &context(), &no_details);
    let took = started.elapsed();
    assert!(took <= ReviewClock::TIME_BUDGET, "{took:?}");
    let kinds = kinds(&answers);
    assert_eq!(kinds[0], Ok(()), "ours comes first");
    assert!(
        kinds[1..].iter().all(|kind| matches!(kind, Err(FaultKind::Timeout | FaultKind::NotRun))),
        "{kinds:?}"
    );
    assert_eq!(kinds.len(), 101, "a file that was not run is a fault of its own");
    let stopped = kinds.iter().filter(|kind| **kind == Err(FaultKind::Timeout)).count();
    assert!(stopped >= 20, "only {stopped} of 100 had a turn");
    let again = crowd.set.assess(&action(), &context(), &no_details);
    assert_eq!(
        again[0].result.as_ref().map(|_| ()),
        Ok(()),
        "ours has a time that no file can use up"
    );
    let verdict = |answers: Vec<PluginResponse<Assessment>>| {
        let mut findings = Findings::of_facts(&Facts { gaps: vec![], ..action().facts });
        findings.add_assessments(answers);
        decide_verdict(&findings, false, &Policy::default().decision).verdict
    };
    let alone = verdict(answers[..1].to_vec());
    assert!(alone > Verdict::Allow && verdict(answers) >= alone);
}

/// `prepare` is guest code like any other: it runs on the file's own part of the time, and is tried
/// again in the next review.
#[test]
fn preparing_is_a_part_of_the_files_time() {
    let mut crowd = Crowd::new(8, NOTHING, SPIN, Some(Duration::from_millis(200)));
    for _ in 0..2 {
        let answers = crowd.ask();
        let faults: Vec<_> =
            answers[1..].iter().map(|answer| answer.result.clone().unwrap_err()).collect();
        assert_eq!(kinds(&answers)[0], Ok(()));
        assert_eq!(faults[0].kind, FaultKind::Timeout, "{faults:?}");
        assert!(
            faults[0].detail.starts_with("while it prepared itself: it was still running"),
            "{faults:?}"
        );
        assert!(
            faults.iter().all(|fault| matches!(fault.kind, FaultKind::Timeout | FaultKind::NotRun)),
            "{faults:?}"
        );
    }
}

/// With fuel off, the clock ends a guest within 5 ms of its deadline, plus the delay that this
/// machine adds to a mere sleep of the same length: the 99th of 100, measured alternately.
#[test]
fn a_guest_without_fuel_ends_at_its_deadline() {
    const TIME: Duration = Duration::from_millis(20);
    let mut set = set(vec![entry("spins", &assessor(SPIN, NOTHING, ""), FUEL_OFF)], Some(TIME));
    let late = |what: &mut dyn FnMut()| {
        let started = Instant::now();
        what();
        started.elapsed().saturating_sub(TIME)
    };
    let mut spin = || {
        set.begin_review(1);
        assert_eq!(
            kinds(&set.assess(&action(), &context(), &no_details)),
            [Err(FaultKind::Timeout)]
        );
    };
    // The first round compiles.
    spin();
    let (mut guests, mut sleeps): (Vec<_>, Vec<_>) =
        (0..100).map(|_| (late(&mut spin), late(&mut || std::thread::sleep(TIME)))).unzip();
    guests.sort();
    sleeps.sort();
    let (guest, sleep) = (guests[98], sleeps[98]);
    // A guest computes and its watch sleeps: on a busy machine both wait for a processor.
    assert!(
        guest <= Duration::from_millis(5) + 4 * sleep,
        "a guest is {guest:?} late, a sleep {sleep:?}"
    );
}

fn kinds(answers: &[PluginResponse<Assessment>]) -> Vec<Result<(), FaultKind>> {
    answers
        .iter()
        .map(|answer| answer.result.as_ref().map(|_| ()).map_err(|fault| fault.kind))
        .collect()
}
