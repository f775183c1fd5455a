//! Sizes in human-readable form: `512MiB`, `2GiB`, `10MB`, `4096`.

/// The units with their bytes; those with an `i` are powers of two.
const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// Parses a size into bytes.
///
/// # Errors
/// Fails if it is not a size, or not above zero.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let fix = || {
        format!("invalid size `{text}`: write it as `512MiB`, `2GiB`, `10MB` or a number of bytes")
    };
    let trimmed = text.trim();
    let known = UNITS.iter().find_map(|(unit, bytes)| Some((trimmed.strip_suffix(unit)?, *bytes)));
    let (digits, unit) = known.unwrap_or((trimmed, 1));
    let count: u64 = digits.trim().parse().map_err(|_| fix())?;
    count.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(fix)
}

/// Formats a size in the largest suitable unit.
pub fn format_bytes(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .filter(|(name, size)| name.contains('i') && bytes >= *size)
        .max_by_key(|(_, size)| *size);
    match unit {
        Some((name, size)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*size);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_read_and_shown_as_people_write_them() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("1B", Some(1)),
            ("512MiB", Some(512 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("10MB", Some(10_000_000)),
            ("0", None),
            ("0GiB", None),
            ("-1", None),
            ("2gib", None),
            ("1.5GiB", None),
            ("MiB", None),
            ("", None),
            ("99999999999TiB", None),
        ] {
            assert_eq!(super::parse_bytes(text).ok(), expected, "{text}");
        }
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (2 << 30, "2.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(super::format_bytes(bytes), expected);
        }
    }
}
