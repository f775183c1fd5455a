//! Hosts whose name alone determines the effect of contacting them.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses at which a cloud provider serves a machine's credentials, as the providers document
/// them.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::254",
    "metadata.google.internal",
    "metadata",
    "100.100.100.200",
    "169.254.0.23",
    "192.0.0.192",
    "fd00:ec2::23",
    "fd20:ce::254",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
];

/// Domains whose names resolve to the address in front of them: `169.254.169.254.nip.io`.
const MIRRORS: &[&str] = &[".nip.io", ".sslip.io", ".xip.io", ".traefik.me"];

/// Services that accept any request and show it to the inbox's owner; their subdomains count too.
const RECORDERS: &[&str] = &[
    "webhook.site",
    "pipedream.net",
    "requestbin.com",
    "requestbin.net",
    "requestcatcher.com",
    "beeceptor.com",
    "hookbin.com",
    "putsreq.com",
    "mockbin.org",
    "interact.sh",
    "oast.pro",
    "oast.live",
    "oast.site",
    "oast.online",
    "oast.fun",
    "oast.me",
    "burpcollaborator.net",
    "oastify.com",
    "dnslog.cn",
    "ceye.io",
    "canarytokens.com",
    "ngrok.io",
    "ngrok-free.app",
    "serveo.net",
    "localhost.run",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "termbin.com",
    "ix.io",
];

/// Returns the one spelling of a host: an address in dotted decimal whatever notation it was
/// written in, and a name without the dot at its end.
pub(super) fn canonical_host(host: &str) -> String {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        let mapped = address.to_ipv4_mapped().or_else(|| translated(&address));
        return mapped.map_or_else(|| address.to_string(), |address| address.to_string());
    }
    if let Some(address) = loose_address(&host) {
        return address.to_string();
    }
    let mirrored = MIRRORS.iter().find_map(|mirror| host.strip_suffix(mirror)).and_then(|name| {
        let dashed = name.rsplit('.').next().unwrap_or(name).replace('-', ".");
        let labels: Vec<&str> = name.rsplit('.').take(4).collect();
        let dotted = labels.into_iter().rev().collect::<Vec<_>>().join(".");
        [dotted, dashed].iter().find_map(|text| text.parse::<Ipv4Addr>().ok())
    });
    mirrored.map_or(host, |address| address.to_string())
}

/// Returns the address that a translating network reaches under this one: `64:ff9b::a9fe:a9fe`.
fn translated(address: &Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => None,
    }
}

/// Reads an address as the system's own resolver does: one to four numbers, decimal, octal or
/// hexadecimal, of which the last fills what is left.
fn loose_address(host: &str) -> Option<Ipv4Addr> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u32>().ok(),
        None => None,
    };
    let numbers: Vec<u32> = host.split('.').take(5).map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let room = 32 - 8 * u32::try_from(first.len()).ok().filter(|count| *count < 4)?;
    if first.iter().any(|part| *part > 255) || last.checked_shr(room).unwrap_or(0) > 0 {
        return None;
    }
    let high = first.iter().fold(0_u32, |high, part| (high << 8) | part);
    Some(Ipv4Addr::from(high.checked_shl(room).unwrap_or(0) | last))
}

/// Returns true if a request to the host reads the machine's credentials.
pub(super) fn hands_out_credentials(host: &str) -> bool {
    METADATA.contains(&host)
}

/// Returns true if a request to the host shows its whole content, including its address, to a third
/// party.
pub(super) fn records_requests(host: &str) -> bool {
    RECORDERS.iter().any(|name| {
        host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::{canonical_host, hands_out_credentials};

    #[test]
    fn the_metadata_address_is_known_in_every_spelling() {
        let spellings = [
            "169.254.169.254",
            "169.254.169.254.",
            "2852039166",
            "0xa9fea9fe",
            "0xA9.0xFE.0xA9.0xFE",
            "0251.0376.0251.0376",
            "025177524776",
            "169.254.43518",
            "169.16689662",
            "::ffff:169.254.169.254",
            "::ffff:a9fe:a9fe",
            "0:0:0:0:0:ffff:a9fe:a9fe",
            "64:ff9b::a9fe:a9fe",
            "169.254.169.254.nip.io",
            "a.169-254-169-254.sslip.io",
            "metadata.google.internal.",
            "METADATA.google.internal",
            "fd00:ec2:0:0:0:0:0:254",
        ];
        for host in spellings {
            assert!(hands_out_credentials(&canonical_host(host)), "{host}");
        }
        let others = [
            "169.254.169.253",
            "2852039165",
            "metadata.example.com",
            "169.254.169.254.example.com",
            "256.1.1.1",
            "1.2.3.4.5",
            "0x",
            "",
            "docs.nip.io",
            "fd00:ec2::255",
        ];
        for host in others {
            assert!(!hands_out_credentials(&canonical_host(host)), "{host}");
        }
        assert_eq!(canonical_host("127.1"), "127.0.0.1");
        assert_eq!(canonical_host("Example.com"), "example.com");
    }
}
