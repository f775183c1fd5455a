//! The retry schedule.

use portcullis_core::text::hash_parts;
use std::time::Duration;

/// The number of attempts before a message is given up: over about a day.
pub const MOST_ATTEMPTS: u32 = 31;

/// The first delay, in seconds.
const FIRST_DELAY: u64 = 20;
/// The longest delay, in seconds.
const LONGEST_DELAY: u64 = 60 * 60;

/// Returns the delay after `attempts` failed ones; none if that was the last.
///
/// 20 seconds, 40, 80, up to an hour, each a quarter shorter or longer. The jitter is derived from
/// the key, so that many messages do not return at the same moment, and the same message always
/// waits the same time.
#[must_use]
pub fn backoff_delay(attempts: u32, key: &str) -> Option<Duration> {
    if attempts >= MOST_ATTEMPTS {
        return None;
    }
    // Eight doublings exceed the longest delay; more of them could only overflow.
    let wait = (FIRST_DELAY << attempts.saturating_sub(1).min(8)).min(LONGEST_DELAY) * 1000;
    let share = hash_parts(&[key, &attempts.to_string()]) % 501;
    // 750 to 1250 thousandths.
    Some(Duration::from_millis((wait * (750 + share) / 1000).min(LONGEST_DELAY * 1000)))
}
