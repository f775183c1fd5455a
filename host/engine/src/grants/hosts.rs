//! The hosts that an operator grants, and the notation that names one: `https://api.example.org`,
//! `http://127.0.0.1:8080`, `https://intranet.example=10.0.0.0/8`.
//!
//! A host is a scheme, a name or an address, and a port; it has neither a path nor a wildcard. The
//! part after `=` restricts the addresses that the name may have; without it, these are the public
//! ones (`web::address`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host that a plugin may send requests to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The origin that a request has to name.
    pub(crate) origin: RequestOrigin,
    /// The only addresses that the name may have; none for all public ones.
    pub(crate) within: Option<Network>,
}

impl Host {
    /// Parses an operator's text; none if it does not name a host.
    #[must_use]
    pub fn parse_host(text: &str) -> Option<Self> {
        let (origin, within) = match text.split_once('=') {
            Some((origin, within)) => (origin, Some(Network::parse(within)?)),
            None => (text, None),
        };
        let (scheme, authority) = origin.split_once("://")?;
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let origin = RequestOrigin::of(secure, authority)?;
        // An address cannot be restricted to other addresses.
        (within.is_none() || matches!(origin.target, Target::Name(_)))
            .then_some(Self { origin, within })
    }
}

/// The destination of a request: scheme, host, port. Equal origins are the same to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestOrigin {
    /// `https`.
    pub(crate) secure: bool,
    pub(crate) target: Target,
    pub(crate) port: u16,
}

/// A host without its scheme and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// In lower case.
    Name(String),
    Address(IpAddr),
}

impl RequestOrigin {
    /// Parses the authority `HOST[:PORT]` for a scheme; none if it does not name a host.
    pub(crate) fn of(secure: bool, authority: &str) -> Option<Self> {
        let usual = if secure { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            // The part after the last colon of a bare IPv6 address is not a port.
            Some((host, port)) if !port.ends_with(']') => (host, number(port)?),
            _ => (authority, usual),
        };
        Some(Self { secure, target: Target::of(host)?, port })
    }

    /// Returns `HOST[:PORT]`, with the port only if it is not the scheme's default.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        let host = match &self.target {
            Target::Name(name) => name.clone(),
            Target::Address(IpAddr::V6(address)) => format!("[{address}]"),
            Target::Address(address) => address.to_string(),
        };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for RequestOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority())
    }
}

impl Target {
    fn of(host: &str) -> Option<Self> {
        if let Some(address) = host.strip_prefix('[') {
            return address
                .strip_suffix(']')?
                .parse::<Ipv6Addr>()
                .ok()
                .map(|address| Self::Address(address.into()));
        }
        match host.parse::<std::net::Ipv4Addr>() {
            Ok(address) => Some(Self::Address(address.into())),
            Err(_) => is_name(host).then(|| Self::Name(host.to_ascii_lowercase())),
        }
    }
}

/// Returns true for a DNS name. A name whose last part is a number is not accepted, since some
/// programs would read it as an address.
fn is_name(host: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let parts = || host.split('.');
    let last = parts().next_back().unwrap_or_default();
    let digits = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X")).unwrap_or(last);
    (1..=253).contains(&host.len())
        && parts().all(|part| {
            (1..=63).contains(&part.len()) && !part.starts_with('-') && part.bytes().all(fits)
        })
        && !(digits.len() < last.len() || digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn number(port: &str) -> Option<u16> {
    let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|port| digits && *port > 0)
}

/// A range of addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses `ADDRESS` or `ADDRESS/BITS`.
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) if bits.len() <= 3 && bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok()?
            }
            Some(_) => return None,
            None => most,
        };
        (bits <= most).then_some(Self { address, bits })
    }

    /// Returns true if the address is in this range.
    pub(crate) fn holds(self, address: IpAddr) -> bool {
        let differs = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        differs >= u32::from(self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_an_operator_names() {
        let table = [
            ("https://api.example.org", Some("https://api.example.org")),
            ("https://API.Example.org:443", Some("https://api.example.org")),
            ("http://example.org:80", Some("http://example.org")),
            ("http://example.org:443", Some("http://example.org:443")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("https://[fd00::1]", Some("https://[fd00::1]")),
            ("https://[FD00::1]:8443", Some("https://[fd00::1]:8443")),
            ("http://localhost:3000=127.0.0.1", Some("http://localhost:3000")),
            ("https://intranet.example=10.0.0.0/8", Some("https://intranet.example")),
            ("https://intranet.example=fd00::/8", Some("https://intranet.example")),
            ("api.example.org", None),
            ("ftp://example.org", None),
            ("HTTPS://example.org", None),
            ("https://", None),
            ("https://*.example.org", None),
            ("https://example.org/", None),
            ("https://example.org/path", None),
            ("https://example.org?query", None),
            ("https://user@example.org", None),
            ("https://example.org:", None),
            ("https://example.org:0", None),
            ("https://example.org:65536", None),
            ("https://example.org:+80", None),
            ("https://example.org.", None),
            ("https://exa mple.org", None),
            ("https://-s.example.org", None),
            ("https://exämple.org", None),
            ("https://2130706433", None),
            ("https://127.1", None),
            ("https://0x7f000001", None),
            ("https://127.0.0.0x1", None),
            ("https://fd00::1", None),
            ("https://[fd00::1%eth0]", None),
            ("https://[127.0.0.1]", None),
            ("https://10.0.0.1=10.0.0.0/8", None),
            ("https://intranet.example=", None),
            ("https://intranet.example=10.0.0.0/33", None),
            ("https://intranet.example=10.0.0.0/-1", None),
            ("https://intranet.example=other.example", None),
        ];
        for (text, shown) in table {
            assert_eq!(
                Host::parse_host(text).map(|host| host.origin.to_string()).as_deref(),
                shown,
                "{text}"
            );
        }
    }

    #[test]
    fn knows_what_is_in_a_network() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "::ffff:11.1.2.3", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.2", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "2606::1", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe80::1", false),
        ];
        for (network, address, holds) in table {
            assert_eq!(
                Network::parse(network).unwrap().holds(address.parse().unwrap()),
                holds,
                "{network} {address}"
            );
        }
    }
}
