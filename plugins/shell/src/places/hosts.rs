//! One spelling for each address of a machine: `0xA9FEA9FE`, `2852039166`, `0251.0376.0251.0376`
//! and `::ffff:169.254.169.254` all reach `169.254.169.254`.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The least number that is an address by itself: smaller ones are words of other kinds.
const LEAST: u64 = 1 << 24;

/// Returns a host in lower case as it is usually written.
pub(super) fn write_plainly(host: &str) -> String {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return address.to_ipv4_mapped().map_or_else(|| address.to_string(), |old| old.to_string());
    }
    as_numbers(&host).map_or(host, |address| address.to_string())
}

/// Reads an address as C libraries do: one to four numbers, each decimal, octal or hexadecimal,
/// the last one filling what is left.
fn as_numbers(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split('.').collect();
    let numbers: Vec<u64> = parts.iter().map(|part| number(part)).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let left = 4_usize.checked_sub(first.len()).filter(|_| parts.len() <= 4)?;
    let most = (1_u64 << (8 * left)) - 1;
    // `1.2` and `3.11.4` are versions as a rule.
    let is_odd = parts.len() == 4 || *last >= LEAST || (parts.len() > 1 && *last > 255);
    if first.iter().any(|number| *number > 255) || *last > most || !is_odd {
        return None;
    }
    let high = first.iter().fold(0_u64, |sum, number| (sum << 8) | number);
    u32::try_from((high << (8 * left)) | last).ok().map(Ipv4Addr::from)
}

fn number(part: &str) -> Option<u64> {
    if let Some(digits) = part.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if part.len() > 1 && part.starts_with('0') {
        return u64::from_str_radix(part, 8).ok();
    }
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::write_plainly;

    #[test]
    fn spellings_of_an_address() {
        for (host, expected) in [
            ("169.254.169.254", "169.254.169.254"),
            ("169.254.169.254.", "169.254.169.254"),
            ("2852039166", "169.254.169.254"),
            ("0xA9FEA9FE", "169.254.169.254"),
            ("0xa9.0xfe.0xa9.0xfe", "169.254.169.254"),
            ("0251.0376.0251.0376", "169.254.169.254"),
            ("025177524776", "169.254.169.254"),
            ("169.254.43518", "169.254.169.254"),
            ("169.16689662", "169.254.169.254"),
            ("::ffff:169.254.169.254", "169.254.169.254"),
            ("::ffff:a9fe:a9fe", "169.254.169.254"),
            ("FD00:EC2:0:0::254", "fd00:ec2::254"),
            ("0x7f000001", "127.0.0.1"),
            ("Example.COM", "example.com"),
            ("1.2", "1.2"),
            ("42", "42"),
            ("8080", "8080"),
            ("1.2.3.4.5", "1.2.3.4.5"),
            ("256.1.1.1", "256.1.1.1"),
            ("cafe", "cafe"),
        ] {
            assert_eq!(write_plainly(host), expected, "`{host}`");
        }
    }
}
