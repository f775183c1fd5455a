//! Addresses of networks and devices. Only those that lead to somebody: not this machine's, not those
//! of private networks, of documentation and of everybody.

use super::context::{ends_alone, find_runs};
use crate::mask::secret::{Secret, SecretKind};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Finds addresses of IPv4 and IPv6.
pub(super) fn find_ip_addresses(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
    find_runs(text, |byte| byte.is_ascii_hexdigit(), accept, &['.', ':']).filter_map(|range| {
        let address = text.get(range.clone())?;
        // `10.0.0.1:8080`
        let (plain, has_port) = match address.split_once(':') {
            Some((host, port)) if host.contains('.') && !port.contains(':') => (host, true),
            _ => (address, false),
        };
        let end = range.start + plain.len();
        let is_personal = match plain.parse::<Ipv4Addr>() {
            Ok(address) => leads_somewhere(address),
            Err(_) => !has_port && plain.parse::<Ipv6Addr>().is_ok_and(leads_somewhere_6),
        };
        let is_personal = is_personal && (has_port || ends_alone(text, end));
        is_personal.then_some(Secret { range: range.start..end, kind: SecretKind::IpAddress })
    })
}

fn leads_somewhere(address: Ipv4Addr) -> bool {
    let [first, second, third, last] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_benchmark = first == 198 && matches!(second, 18 | 19);
    // A version such as 1.2.0.0 or 2.0.0.1, and well-known resolvers, which are nobody's.
    let is_version = first < 20 && (second == 0 || third == 0) || (second == 0 && third == 0);
    let is_resolver = matches!(
        (first, second, third, last),
        (1, 1, 1, 1) | (8, 8, 8, 8) | (8, 8, 4, 4) | (9, 9, 9, 9)
    );
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || is_shared
        || is_benchmark
        || is_version
        || is_resolver
        || first == 0
        || first >= 240)
}

/// Global unicast, but for documentation.
fn leads_somewhere_6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    (0x2000..0x4000).contains(&first) && !(first == 0x2001 && second == 0xdb8) && first != 0x3fff
}

/// Finds addresses of devices: six bytes with colons or hyphens between them.
pub(super) fn find_mac_addresses(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'-');
    find_runs(text, |byte| byte.is_ascii_hexdigit(), accept, &[':', '-']).filter_map(|range| {
        let address = text.get(range.clone())?;
        let separator = *address.as_bytes().get(2)?;
        let parts: Vec<&str> = address.split(char::from(separator)).collect();
        let is_form = matches!(separator, b':' | b'-')
            && parts.len() == 6
            && parts
                .iter()
                .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
        // Nobody's, everybody's, and a count in an example.
        let is_device = parts.iter().any(|part| *part != "00")
            && parts.iter().any(|part| !part.eq_ignore_ascii_case("ff"))
            && address.bytes().any(|byte| byte.is_ascii_alphabetic() || byte > b'0');
        (is_form && is_device && ends_alone(text, range.end))
            .then_some(Secret { range, kind: SecretKind::MacAddress })
    })
}
