//! A host as it is contacted, however it is written: case, trailing dots, letters outside ASCII, and addresses in
//! decimal, octal or hexadecimal make no difference.

use crate::punycode;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name of the domain name system; a longer text is no host.
const LONGEST: usize = 253;

/// A host in its one form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Host {
    /// In lower case, in ASCII, without a dot at the end.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads a host that was written somewhere; none for a text that cannot be one.
    pub(crate) fn read(written: &str) -> Option<Self> {
        let written = written.trim_start_matches('[').trim_end_matches(']');
        if written.is_empty() || written.len() > LONGEST {
            return None;
        }
        if written.contains(':') {
            let address = written.split('%').next()?.parse().ok()?;
            return Some(Self::Address(plain(address)));
        }
        let folded: String =
            written.chars().map(fold).flat_map(char::to_lowercase).collect::<String>();
        let name = folded.trim_end_matches('.');
        if name.is_empty() || !name.chars().all(is_in_name) {
            return None;
        }
        match read_v4(name) {
            Some(address) => Some(Self::Address(IpAddr::V4(address))),
            None => name
                .split('.')
                .map(to_ascii)
                .collect::<Option<Vec<_>>>()
                .map(|labels| Self::Name(labels.join("."))),
        }
    }

    /// Returns the name as people see it: labels in punycode with their letters.
    pub(crate) fn in_letters(&self) -> String {
        match self {
            Self::Name(name) => {
                let labels = name.split('.').map(|label| {
                    label
                        .strip_prefix("xn--")
                        .and_then(punycode::decode)
                        .unwrap_or_else(|| label.to_owned())
                });
                labels.collect::<Vec<_>>().join(".")
            }
            Self::Address(address) => address.to_string(),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Address(address) => address.fmt(out),
        }
    }
}

/// Returns an address of the old protocol that is wrapped in one of the new as what it is.
fn plain(address: Ipv6Addr) -> IpAddr {
    if let Some(inner) = address.to_ipv4_mapped() {
        return IpAddr::V4(inner);
    }
    match address.segments() {
        // 64:ff9b::/96, by which networks of the new protocol reach the old one.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        _ => IpAddr::V6(address),
    }
}

/// Returns the plain form of a letter: full-width letters and the dots of other scripts are read as ASCII by resolvers.
fn fold(letter: char) -> char {
    match letter {
        '。' | '．' | '｡' => '.',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        '①'..='⑨' => {
            char::from_u32(u32::from(letter) - u32::from('①') + u32::from('1')).unwrap_or(letter)
        }
        '⓪' => '0',
        _ => letter,
    }
}

fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(letter, '-' | '_' | '.')
        || (!letter.is_ascii() && letter.is_alphanumeric())
}

fn to_ascii(label: &str) -> Option<String> {
    if label.is_empty() {
        return None;
    }
    if label.is_ascii() {
        Some(label.to_owned())
    } else {
        Some(format!("xn--{}", punycode::encode(label)?))
    }
}

/// Reads an address as `inet_aton` does: one to four numbers, each in decimal, octal or hexadecimal, of which the last
/// fills what is left.
fn read_v4(name: &str) -> Option<Ipv4Addr> {
    let parts = name.split('.').map(read_number).collect::<Option<Vec<u64>>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 8 * (4 - u32::try_from(first.len()).ok()?);
    if *last >= 1 << room {
        return None;
    }
    let head = first.iter().fold(0, |sum, part| sum << 8 | part);
    u32::try_from(head << room | last).ok().map(Ipv4Addr::from)
}

fn read_number(part: &str) -> Option<u64> {
    if !part.starts_with(|letter: char| letter.is_ascii_digit()) || part.len() > 16 {
        return None;
    }
    if let Some(digits) = part.strip_prefix("0x") {
        return if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 16).ok() };
    }
    let radix = if part.len() > 1 && part.starts_with('0') { 8 } else { 10 };
    u64::from_str_radix(part, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str) -> String {
        Host::read(written).map_or_else(|| "none".to_owned(), |host| host.to_string())
    }

    #[test]
    fn names_have_one_form() {
        for (written, form) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("example。com", "example.com"),
            ("ｅxample.com", "example.com"),
            ("gіthub.com", "xn--gthub-n2e.com"),
            ("BÜCHER.example", "xn--bcher-kva.example"),
            ("my_host-1", "my_host-1"),
            ("", "none"),
            (".", "none"),
            ("a..b", "none"),
            ("a b", "none"),
            ("a/b", "none"),
            ("\u{fffd}.example.com", "none"),
            ("x\u{200b}.com", "none"),
        ] {
            assert_eq!(read(written), form, "{written}");
        }
        assert_eq!(read(&"a".repeat(254)), "none");
    }

    #[test]
    fn addresses_have_one_form() {
        for (written, form) in [
            ("127.0.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("①②⑦.0.0.1", "127.0.0.1"),
            ("2852039166", "169.254.169.254"),
            ("[::1]", "::1"),
            ("::ffff:169.254.169.254", "169.254.169.254"),
            ("64:ff9b::a9fe:a9fe", "169.254.169.254"),
            ("fe80::1%eth0", "fe80::1"),
            ("256.1.1.1", "256.1.1.1"),
            ("1.2.3.4.5", "1.2.3.4.5"),
            ("4294967296", "4294967296"),
            ("08.1.1.1", "08.1.1.1"),
            ("1.example", "1.example"),
            ("a:b", "none"),
        ] {
            assert_eq!(read(written), form, "{written}");
        }
    }

    #[test]
    fn letters_are_shown() {
        assert_eq!(Host::Name("xn--gthub-n2e.com".into()).in_letters(), "gіthub.com");
        assert_eq!(Host::Name("xn--!.com".into()).in_letters(), "xn--!.com");
    }
}
