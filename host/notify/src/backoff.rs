//! When to try again.

use portcullis_core::text::fingerprint;
use std::time::Duration;

/// So often a message is tried before it is given up: over about a day.
pub const MOST_ATTEMPTS: u32 = 31;

/// Seconds.
const FIRST: u64 = 20;
/// Seconds.
const LONGEST: u64 = 60 * 60;

/// How long to wait after `attempts` failed ones; none when that was the last.
///
/// 20 seconds, 40, 80, up to an hour, each a quarter shorter or longer: by how much follows from the key, so that
/// many messages do not come back at the same moment, and the same message always waits the same time.
#[must_use]
pub fn backoff(attempts: u32, key: &str) -> Option<Duration> {
    if attempts >= MOST_ATTEMPTS {
        return None;
    }
    let wait = (FIRST << attempts.saturating_sub(1).min(8)).min(LONGEST) * 1000;
    let share = fingerprint(&[key, &attempts.to_string()]) % 501;
    // 750 to 1250 thousandths.
    Some(Duration::from_millis((wait * (750 + share) / 1000).min(LONGEST * 1000)))
}
