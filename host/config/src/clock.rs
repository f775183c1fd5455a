//! The wall clock, in the unit of every record: milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in milliseconds since 1970; a clock before that counts as 1970.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Formats a time in milliseconds since 1970 as `2026-11-23 12:00:00`, in UTC.
#[must_use]
pub fn format_utc(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
