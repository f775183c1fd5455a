//! Amounts in human-readable form.

/// Formats a number of bytes.
pub fn format_size(bytes: u64) -> String {
    const UNITS: &[(u64, &str)] = &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
    )
}

/// Formats a number of milliseconds.
pub fn format_span(ms: u64) -> String {
    const UNITS: &[(u64, &str)] =
        &[(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")];
    let (count, name) = UNITS
        .iter()
        .find(|(unit, _)| ms >= *unit)
        .map_or((ms / 1000, "second"), |(unit, name)| (ms / unit, name));
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        for (bytes, text) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(format_size(bytes), text);
        }
        for (ms, text) in
            [(0, "0 seconds"), (1000, "1 second"), (7_200_000, "2 hours"), (86_400_000, "1 day")]
        {
            assert_eq!(format_span(ms), text);
        }
    }
}
