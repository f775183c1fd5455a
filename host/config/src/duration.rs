//! Durations in human-readable form: `15m`, `1h 30m`, `30d`.

use std::str::FromStr;

/// Parses a duration such as `90s`, `15m`, `8h` or `30d` into milliseconds.
///
/// # Errors
/// Fails if it is not a duration, or not above zero.
pub fn parse_milliseconds(text: &str) -> Result<u64, String> {
    let fix = || format!("invalid duration `{text}`: write it as `90s`, `15m`, `8h` or `30d`");
    // The library does not parse days; here a day has 24 hours.
    let parsed = match text.trim().strip_suffix('d').map(|days| days.trim().parse::<u64>()) {
        Some(Ok(days)) => {
            return days.checked_mul(86_400_000).filter(|ms| *ms > 0).ok_or_else(fix);
        }
        _ => jiff::SignedDuration::from_str(text).map_err(|_| fix())?,
    };
    u64::try_from(parsed.as_millis()).ok().filter(|ms| *ms > 0).ok_or_else(fix)
}

#[cfg(test)]
mod tests {
    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("90s", Some(90_000)),
            ("15m", Some(900_000)),
            ("1h 30m", Some(5_400_000)),
            ("30d", Some(2_592_000_000)),
            ("0s", None),
            ("-5m", None),
            ("15", None),
            ("", None),
            ("soon", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(super::parse_milliseconds(text).ok(), expected, "{text}");
        }
    }
}
