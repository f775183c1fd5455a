//! The circuit breaker by table: one letter per review, and the record after it.

use portcullis_core::breaker::{
    Breaker, BreakerPolicy, BreakerTransition, ReleaseCondition, counts_as_failure,
};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::plugins::Identity;
use proptest::prelude::*;

const DIGEST: &str = "d1";
const SECOND: u64 = 1000;
const BEGIN: u64 = 1_700_000_000_000;

fn fault(kind: FaultKind) -> Fault {
    Fault { source: "slow".into(), kind, detail: "words".into(), policy: OnFault::Ask }
}

/// Runs one review per letter, a second apart: `f` fails, `.` answers, `m` misses a grant, `n` does
/// not get its turn; a digit waits that many minutes. While the plugin is held it is not asked;
/// otherwise it runs at every letter.
fn run_reviews(letters: &str, policy: &BreakerPolicy) -> String {
    let (mut known, mut now, mut outcomes): (Option<Breaker>, u64, Vec<String>) =
        (None, BEGIN, Vec::new());
    for letter in letters.chars() {
        if let Some(minutes) = letter.to_digit(10) {
            now += u64::from(minutes) * 60 * SECOND;
            continue;
        }
        now += SECOND;
        if let Some(waits) = known.as_ref().and_then(|known| known.held_until(DIGEST, now)) {
            outcomes.push(if waits == ReleaseCondition::ForAPerson { "Q" } else { "h" }.to_owned());
            continue;
        }
        let fault = match letter {
            'f' => Some(fault(FaultKind::Trap)),
            'm' => Some(fault(FaultKind::MissingGrant)),
            'n' => Some(fault(FaultKind::NotRun)),
            _ => None,
        };
        let (after, change) =
            Breaker::after_call(known.as_ref(), DIGEST, fault.as_ref(), now, policy);
        known = after;
        outcomes.push(match (change, &known) {
            (Some(change), Some(Breaker { waits: Some(ReleaseCondition::Until(time)), .. })) => {
                format!("{}{}", change.as_str(), (time - now) / SECOND)
            }
            (Some(change), _) => change.as_str().to_owned(),
            (None, Some(known)) => known.faults.to_string(),
            (None, None) => "-".to_owned(),
        });
    }
    outcomes.join(" ")
}

#[test]
fn reviews_in_a_row() {
    let usual = BreakerPolicy::default();
    let quick = BreakerPolicy { faults: 1, back_off_ms: 60 * SECOND, quarantine_after: 2 };
    let never = BreakerPolicy { faults: 0, ..usual };
    let patient = BreakerPolicy { quarantine_after: 0, ..usual };
    let table: [(&str, &BreakerPolicy, &str); 13] = [
        ("...", &usual, "- - -"),
        ("ff.", &usual, "1 2 -"),
        ("ff.ff.", &usual, "1 2 - 1 2 -"),
        ("fff", &usual, "1 2 held60"),
        ("fff..", &usual, "1 2 held60 h h"),
        ("ffnfn", &usual, "1 2 2 held60 h"),
        ("mmmm", &usual, "- - - -"),
        ("fff1.ff", &usual, "1 2 held60 resumed 1 2"),
        ("fff1.fff", &usual, "1 2 held60 resumed 1 2 held120"),
        ("fff1f2f4f8f", &usual, "1 2 held60 held120 held240 held480 quarantined"),
        ("fff1f2f4f8f9.", &usual, "1 2 held60 held120 held240 held480 quarantined Q"),
        ("f1f9", &quick, "held60 quarantined"),
        ("ffffff", &never, "- - - - - -"),
    ];
    for (letters, policy, expected) in table {
        assert_eq!(run_reviews(letters, policy), expected, "{letters}");
    }
    let long = ["fff1f2f4f8f", &"99".repeat(2), "f", &"9".repeat(4), "f"].concat();
    assert!(
        !run_reviews(&long, &patient).contains("quarantined"),
        "{}",
        run_reviews(&long, &patient)
    );
    let forgiven = ["fff1", &".".repeat(20), "fff"].concat();
    assert!(
        run_reviews(&forgiven, &usual).ends_with("- 1 2 held60"),
        "{}",
        run_reviews(&forgiven, &usual)
    );
    let remembered = ["fff1", &".".repeat(19), "fff"].concat();
    assert!(
        run_reviews(&remembered, &usual).ends_with("held120"),
        "{}",
        run_reviews(&remembered, &usual)
    );
}

#[test]
fn it_waits_at_most_a_day_whatever_the_clock_did() {
    let policy = BreakerPolicy { faults: 1, back_off_ms: u64::MAX, quarantine_after: 0 };
    let (known, change) =
        Breaker::after_call(None, DIGEST, Some(&fault(FaultKind::Timeout)), BEGIN, &policy);
    let known = known.unwrap();
    assert_eq!(
        (change, known.waits),
        (
            Some(BreakerTransition::Held),
            Some(ReleaseCondition::Until(BEGIN + 24 * 60 * 60 * SECOND))
        )
    );
    let table = [
        (DIGEST, BEGIN, true),
        (DIGEST, BEGIN + 24 * 60 * 60 * SECOND, false),
        (DIGEST, BEGIN - 60 * SECOND, false),
        ("d2", BEGIN, false),
    ];
    for (digest, now, held) in table {
        assert_eq!(known.held_until(digest, now).is_some(), held, "{digest} {now}");
    }
}

#[test]
fn another_file_begins_anew() {
    let policy = BreakerPolicy { faults: 2, ..BreakerPolicy::default() };
    let (known, _) =
        Breaker::after_call(None, DIGEST, Some(&fault(FaultKind::Trap)), BEGIN, &policy);
    let (other, change) =
        Breaker::after_call(known.as_ref(), "d2", Some(&fault(FaultKind::Trap)), BEGIN, &policy);
    assert_eq!(
        (other.map(|other| (other.digest, other.faults)), change),
        (Some(("d2".to_owned(), 1)), None)
    );
}

#[test]
fn words() {
    let policy = BreakerPolicy { quarantine_after: 3, ..BreakerPolicy::default() };
    let mut known = None;
    let mut words = Vec::new();
    for round in 0..5 {
        let now = BEGIN + round * 3600 * SECOND;
        (known, _) = Breaker::after_call(
            known.as_ref(),
            DIGEST,
            Some(&fault(FaultKind::OutOfFuel)),
            now,
            &policy,
        );
        let breaker = known.as_ref().unwrap();
        words.extend(breaker.waits.map(|waits| breaker.explain_hold("slow", waits)));
    }
    assert_eq!(
        words,
        [
            "it is not run, since it failed 3 times in a row (at last `out-of-fuel`: words); it is retried automatically, and at once after \
             `portcullis plugin release slow`",
            "it is not run, since it went on failing after it had been held once (at last `out-of-fuel`: words); it is retried automatically, and at once after `portcullis plugin release slow`",
            "it is not run, since it went on failing after it had been held twice (at last `out-of-fuel`: words); it is in quarantine until \
             its file changes, or until a person runs `portcullis plugin release slow`",
        ]
    );
}

#[test]
fn a_held_plugin_is_never_a_mild_fault() {
    for on_fault in OnFault::ALL {
        let plugin = Identity {
            name: "slow".into(),
            version: "1".into(),
            digest: DIGEST.into(),
            on_fault: *on_fault,
            foreign: true,
            shadow: false,
            session: false,
        };
        assert_eq!(
            plugin.new_fault(FaultKind::Held, "why").policy,
            (*on_fault).max(OnFault::Ask),
            "{on_fault}"
        );
        assert_eq!(plugin.new_fault(FaultKind::Trap, "why").policy, *on_fault, "{on_fault}");
    }
}

#[test]
fn only_what_went_wrong_while_it_ran_counts() {
    let not: Vec<&str> = FaultKind::ALL
        .iter()
        .filter(|kind| !counts_as_failure(**kind))
        .map(|kind| kind.as_str())
        .collect();
    let rest = [
        "missing-grant",
        "bad-settings",
        "load-failed",
        "compile-limit",
        "not-run",
        "held",
        "bad-input",
        "store",
        "configuration",
        "internal",
    ];
    assert_eq!(not, rest);
}

proptest! {
    /// In every sequence of reviews, and with any clock, a hold ends at some time or by a person,
    /// and a plugin that answers from now on is free again in the end.
    #[test]
    fn it_comes_free(letters in "[f.nm]{0,60}", steps in proptest::collection::vec(0_u64..1 << 40, 60), faults in 0_u32..6, after in 0_u32..6) {
        let policy = BreakerPolicy { faults, back_off_ms: 60 * SECOND, quarantine_after: after };
        let (mut known, mut now) = (None::<Breaker>, 0_u64);
        for (letter, step) in letters.chars().zip(steps) {
            now = if step % 7 == 0 { now / 2 } else { now.saturating_add(step) };
            if known.as_ref().is_some_and(|known| known.held_until(DIGEST, now).is_some()) { continue }
            let fault = (letter == 'f').then(|| fault(FaultKind::Trap));
            known = Breaker::after_call(known.as_ref(), DIGEST, fault.as_ref(), now, &policy).0;
        }
        let waits = known.as_ref().and_then(|known| known.held_until(DIGEST, now));
        prop_assert!(faults > 0 || waits.is_none());
        prop_assert!(after > 0 || waits != Some(ReleaseCondition::ForAPerson));
        if waits != Some(ReleaseCondition::ForAPerson) {
            now = now.saturating_add(25 * 60 * 60 * SECOND);
            for _ in 0..20 {
                prop_assert!(known.as_ref().is_none_or(|known| known.held_until(DIGEST, now).is_none()));
                known = Breaker::after_call(known.as_ref(), DIGEST, None, now, &policy).0;
            }
            prop_assert_eq!(known, None);
        }
    }
}
