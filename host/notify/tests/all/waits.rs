//! The delays before the next attempt.

use portcullis_notify::{MOST_ATTEMPTS, backoff_delay};
use std::time::Duration;

const HOUR: u64 = 3600;

#[test]
fn attempts_spread_over_a_day_and_end() {
    for key in (0..200).map(|number| format!("review-{number}")) {
        let waits: Vec<_> = (1..).map_while(|attempts| backoff_delay(attempts, &key)).collect();
        assert_eq!(waits.len() + 1, MOST_ATTEMPTS as usize);
        let usual = (0..).map(|doublings| (20_u64 << doublings).min(HOUR));
        for (wait, usual) in waits.iter().zip(usual.take(8)) {
            let range = Duration::from_secs(usual * 3 / 4)..=Duration::from_secs(usual * 5 / 4);
            assert!(range.contains(wait), "{key}: {wait:?} for {usual} s");
        }
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(HOUR)), "{key}: {waits:?}");
        let day: Duration = waits.iter().sum();
        assert!((16 * HOUR..=24 * HOUR).contains(&day.as_secs()), "{key}: {day:?}");
    }
}

#[test]
fn messages_do_not_come_back_together() {
    let first: std::collections::BTreeSet<_> =
        (0..100).map(|number| backoff_delay(1, &format!("review-{number}"))).collect();
    assert!(first.len() > 50, "{} different waits", first.len());
    assert_eq!(backoff_delay(3, "review-1"), backoff_delay(3, "review-1"));
    assert_ne!(backoff_delay(7, "review-1"), backoff_delay(8, "review-1"));
}

#[test]
fn no_count_is_out_of_range() {
    for attempts in [MOST_ATTEMPTS, MOST_ATTEMPTS + 1, u32::MAX] {
        assert_eq!(backoff_delay(attempts, "key"), None);
    }
    assert!(backoff_delay(0, "").is_some());
}
