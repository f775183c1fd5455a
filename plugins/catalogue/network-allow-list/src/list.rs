//! The operator's list of hosts.

use crate::groups::{self, Group};
use crate::host::Host;
use crate::url::split_port;
use portcullis_plugin::risk_calculator::*;
use std::net::IpAddr;

/// What facts call the many hosts of a cloud's command line.
const CLOUDS: &[&str] =
    &["amazonaws.com", "googleapis.com", "azure.com", "aliyuncs.com", "oraclecloud.com"];
/// Bounds of the list, so that a call stays cheap.
const MOST_HOSTS: usize = 256;

/// One entry of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Entry {
    pattern: Pattern,
    /// The entry is for this port alone.
    port: Option<u16>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Pattern {
    /// `*`: every name, and every address of the public network.
    Any,
    /// Exactly this host.
    Host(Host),
    /// `*.example.com`: what ends with a dot and this.
    Below(String),
    /// An address and how many of its bits count.
    Range(IpAddr, u8),
}

/// What the operator allows, and what is asked for where something is not.
#[derive(Debug)]
pub(crate) struct Policy {
    entries: Vec<Entry>,
    groups: Vec<Group>,
    pub(crate) blocks: bool,
    pub(crate) sending_only: bool,
    /// The operator has neither listed a host nor said what is held.
    is_unset: bool,
}

/// How an entry of the list fits a host.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fit {
    /// Nothing fits.
    Not,
    /// An entry or group that covers many hosts.
    Wide,
    /// An entry that names exactly this one.
    Exact,
}

impl FromSettings for Policy {
    const SPECS: &'static [Spec] = &[
        Spec::texts(
            "hosts",
            &[],
            "hosts of the project: names, `*.example.com`, addresses, ranges (`10.1.0.0/16`), each with a port if it should count",
        ),
        Spec::texts(
            "always",
            &["registries", "code_hosts", "loopback"],
            "groups of hosts besides: `registries` and `code_hosts`, both to fetch alone, `loopback`, `private`",
        ),
        Spec::text("verdict", "ask", "what it asks for: `ask` or `block`"),
        Spec::text(
            "held",
            "",
            "what is held to the list: `all`, or `sending` for what sends data; empty for all where `hosts` has an entry, else for sending",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let hosts = settings.texts("hosts")?;
        if hosts.len() > MOST_HOSTS {
            return Err(Error::setting("hosts", "should have at most 256 items"));
        }
        let entries = hosts.iter().map(|written| {
            read_entry(written).ok_or_else(|| {
                let reason = format!(
                    "`{written}` is no host: write a name (`example.com`), `*.example.com`, an address or a range (`10.1.0.0/16`), \
                     with `:PORT` behind it if only that port is meant, and without `https://`"
                );
                Error::setting("hosts", &reason)
            })
        });
        let groups = settings.texts("always")?.iter().map(|name| {
            Group::named(name).ok_or_else(|| {
                Error::setting(
                    "always",
                    "should be a list of `registries`, `code_hosts`, `loopback` or `private`",
                )
            })
        });
        let blocks = match settings.text("verdict")? {
            "ask" => false,
            "block" => true,
            _ => return Err(Error::setting("verdict", "should be `ask` or `block`")),
        };
        let held = settings.text("held")?;
        let is_unset = hosts.is_empty() && held.is_empty();
        let sending_only = match held {
            // Without a list, every page of documentation would be asked about.
            "" => is_unset,
            "all" => false,
            "sending" => true,
            _ => return Err(Error::setting("held", "should be `all`, `sending` or empty")),
        };
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            groups: groups.collect::<Result<_, _>>()?,
            blocks,
            sending_only,
            is_unset,
        })
    }
}

impl Policy {
    /// Finds out how the list fits a host; `sends` says that data goes there.
    pub(crate) fn fit(&self, host: &Host, port: Option<u16>, sends: bool) -> Fit {
        let entries = self
            .entries
            .iter()
            .filter(|entry| entry.port.is_none() || entry.port == port)
            .map(|entry| entry.pattern.fit(host));
        // Without a list, the command lines of code hosts and clouds are left to other rules.
        let grouped = self.groups.iter().any(|group| group.holds(host, sends && !self.is_unset))
            || (self.is_unset && groups::is_cloud(host));
        entries.max().unwrap_or(Fit::Not).max(if grouped { Fit::Wide } else { Fit::Not })
    }

    /// Returns the names that the operator wrote, to compare others with.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match &entry.pattern {
            Pattern::Host(Host::Name(name)) | Pattern::Below(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl Pattern {
    fn fit(&self, host: &Host) -> Fit {
        match (self, host) {
            (Self::Host(own), host) if own == host => Fit::Exact,
            (Self::Any, Host::Name(_)) => Fit::Wide,
            (Self::Any, Host::Address(address)) if is_public(*address) => Fit::Wide,
            (Self::Below(parent), Host::Name(name)) => {
                let below = name
                    .strip_suffix(parent.as_str())
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                    // The host names a cloud's services together, by what their names end with.
                    || (name == parent && CLOUDS.contains(&parent.as_str()));
                if below { Fit::Wide } else { Fit::Not }
            }
            (Self::Range(network, bits), Host::Address(address))
                if shares(*network, *address, *bits) =>
            {
                if *bits == width(*network) {
                    Fit::Exact
                } else {
                    Fit::Wide
                }
            }
            _ => Fit::Not,
        }
    }
}

fn read_entry(written: &str) -> Option<Entry> {
    let written = written.trim();
    if let Some((network, bits)) = written.split_once('/') {
        let Some(Host::Address(network)) = Host::read(network) else { return None };
        let bits = bits.parse().ok().filter(|bits| *bits <= width(network))?;
        return Some(Entry { pattern: Pattern::Range(network, bits), port: None });
    }
    let (host, port) = split_port(written);
    // A port that is no number would silently allow every port.
    if port.is_none()
        && (written.ends_with(':') || host.len() + 1 < written.trim_end_matches(']').len())
    {
        return None;
    }
    let pattern = match host.strip_prefix("*.") {
        _ if host == "*" => Pattern::Any,
        Some(parent) => match Host::read(parent)? {
            Host::Name(parent) => Pattern::Below(parent),
            Host::Address(_) => return None,
        },
        None => Pattern::Host(Host::read(host)?),
    };
    Some(Entry { pattern, port })
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn shares(network: IpAddr, address: IpAddr, bits: u8) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let different = u32::from(network) ^ u32::from(address);
            different.checked_shr(32 - u32::from(bits)).unwrap_or_default() == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let different = u128::from(network) ^ u128::from(address);
            different.checked_shr(128 - u32::from(bits)).unwrap_or_default() == 0
        }
        _ => false,
    }
}

/// Returns true if an address belongs to the public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let shared = first == 100 && (64..128).contains(&second);
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || shared
                || first == 0
                || first >= 240)
        }
        IpAddr::V6(address) => {
            !(address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str]) -> Result<Policy, Error> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let settings = Settings::check(
            Policy::SPECS,
            &[Setting::new("hosts", hosts), Setting::new("always", Vec::<String>::new())],
        )?;
        Policy::from_settings(&settings)
    }

    #[test]
    fn entries_fit() {
        for (entry, host, fit) in [
            ("example.com", "example.com", Fit::Exact),
            ("Example.com.", "EXAMPLE.com", Fit::Exact),
            ("example.com", "a.example.com", Fit::Not),
            ("*.example.com", "a.b.example.com", Fit::Wide),
            ("*.example.com", "example.com", Fit::Not),
            ("*.example.com", "evilexample.com", Fit::Not),
            ("*.example.com", ".example.com", Fit::Not),
            ("*.amazonaws.com", "amazonaws.com", Fit::Wide),
            ("bücher.example", "xn--bcher-kva.example", Fit::Exact),
            ("10.1.0.0/16", "10.1.255.3", Fit::Wide),
            ("10.1.0.0/16", "10.2.0.1", Fit::Not),
            ("10.1.2.3/32", "10.1.2.3", Fit::Exact),
            ("0.0.0.0/0", "8.8.8.8", Fit::Wide),
            ("0x0a010203", "10.1.2.3", Fit::Exact),
            ("2001:db8::/32", "2001:db8::1", Fit::Wide),
            ("::/0", "2001:db8::1", Fit::Wide),
            ("::/0", "10.0.0.1", Fit::Not),
            ("[2001:db8::1]:443", "2001:db8::1", Fit::Exact),
            ("*", "example.com", Fit::Wide),
            ("*", "8.8.8.8", Fit::Wide),
            ("*", "10.0.0.1", Fit::Not),
            ("*", "169.254.169.254", Fit::Not),
        ] {
            let policy = policy(&[entry]).unwrap();
            if let Some(host) = Host::read(host) {
                assert_eq!(policy.fit(&host, Some(443), false), fit, "{entry} and {host}");
            } else {
                assert_eq!(fit, Fit::Not, "{host}");
            }
        }
    }

    #[test]
    fn a_port_counts_where_it_is_written() {
        let policy = policy(&["example.com:8443", "10.0.0.1:22"]).unwrap();
        let fit = |host: &str, port| policy.fit(&Host::read(host).unwrap(), port, false);
        assert_eq!(fit("example.com", Some(8443)), Fit::Exact);
        assert_eq!(fit("example.com", Some(443)), Fit::Not);
        assert_eq!(fit("example.com", None), Fit::Not);
        assert_eq!(fit("10.0.0.1", Some(22)), Fit::Exact);
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for entry in [
            "https://example.com",
            "example.com/path",
            "10.0.0.0/33",
            "*.10.0.0.1",
            "a b",
            "",
            "example.com:x",
            "*a.com",
            "example.com:",
        ] {
            let error = policy(&[entry]).unwrap_err();
            assert!(error.message().contains("is no host"), "{entry}: {}", error.message());
        }
    }
}
