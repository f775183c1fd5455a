//! Decides which hosts are reached through a proxy.
//!
//! A proxy only tunnels: it sees a host's name and encrypted bytes. So registries without TLS are
//! reached directly, and so is this machine.

use crate::access_error::AccessError;
use portcullis_network::find_own_address;
use std::ffi::OsString;
use std::net::IpAddr;
use ureq::Proxy;
use url::{Host, Url};

/// A proxy for all hosts except some.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    proxy: Option<RegistryProxy>,
    not: Vec<Rule>,
}

/// A proxy, and its name in errors.
#[derive(Clone, Debug)]
pub(crate) struct RegistryProxy {
    pub(crate) proxy: Proxy,
    /// Host and port, without credentials.
    pub(crate) place: String,
}

/// A rule for hosts that are reached directly.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    All,
    /// A name and all names below it, or with a leading dot only the names below it; optionally on
    /// one port.
    Name {
        name: String,
        below_alone: bool,
        port: Option<u16>,
    },
    /// Addresses that begin with these bits.
    Network {
        address: IpAddr,
        bits: u32,
    },
}

impl Proxies {
    /// Creates settings without a proxy.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    pub(crate) fn from_environment(
        variable: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, AccessError> {
        let first = |names: &[&'static str]| {
            let found = names.iter().find_map(|name| Some((*name, variable(name)?)));
            found.map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        };
        let proxy = match first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]) {
            Some((name, value)) => Some(
                RegistryProxy::read(&value)
                    .map_err(|what| AccessError::Variable { name: name.to_owned(), what })?,
            ),
            None => None,
        };
        let mut not = Vec::new();
        if let Some((name, value)) = first(&["NO_PROXY", "no_proxy"]) {
            for entry in value.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()) {
                let what = || {
                    format!(
                        "has `{}`, which is not a host, `.domain`, address or network",
                        entry.escape_debug()
                    )
                };
                not.push(Rule::read(entry).ok_or_else(|| AccessError::Variable {
                    name: name.to_owned(),
                    what: what(),
                })?);
            }
        }
        Ok(Self { proxy, not })
    }

    /// Returns the proxy, regardless of its exceptions.
    pub(crate) const fn any(&self) -> Option<&RegistryProxy> {
        self.proxy.as_ref()
    }

    /// Returns the proxy for that URL, if there is one.
    pub(crate) fn of(&self, url: &Url) -> Option<&RegistryProxy> {
        let direct = url.scheme() != "https"
            || is_loopback(url)
            || self.not.iter().any(|rule| rule.holds_for(url));
        self.proxy.as_ref().filter(|_| !direct)
    }
}

impl RegistryProxy {
    fn read(text: &str) -> Result<Self, String> {
        let bad = |what: &str| format!("{what}; write `http://host:port`");
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).map_err(|_| bad("names no proxy"))?;
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| bad("names no host"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(&format!("names a proxy that speaks `{}`", url.scheme())));
        }
        let place = url
            .port_or_known_default()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let proxy = Proxy::new(&whole).map_err(|_| bad("names no proxy"))?;
        Ok(Self { proxy, place })
    }
}

impl Rule {
    fn read(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::All);
        }
        let bare =
            |text: &str| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        if let Some(address) = bare(entry) {
            // For an address of 32 bits, this means all of them too.
            return Some(Self::Network { address, bits: 128 });
        }
        if let Some((address, bits)) = entry.split_once('/') {
            return Some(Self::Network { address: bare(address)?, bits: bits.parse().ok()? });
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let name = name.strip_prefix('*').unwrap_or(name);
        let (name, below_alone) = name.strip_prefix('.').map_or((name, false), |name| (name, true));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let known = !name.is_empty() && name.bytes().all(plain);
        known.then(|| Self::Name { name: name.to_ascii_lowercase(), below_alone, port })
    }

    fn holds_for(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::All, _) => true,
            (Self::Name { name, below_alone, port }, Some(host)) => {
                let host = host.to_string();
                let below =
                    host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'));
                port.is_none_or(|port| url.port_or_known_default() == Some(port))
                    && (below || (host == *name && !below_alone))
            }
            (Self::Network { address: IpAddr::V4(network), bits }, Some(Host::Ipv4(host))) => {
                let outside = 32_u32.saturating_sub(*bits);
                (network.to_bits() ^ host.to_bits())
                    .checked_shr(outside)
                    .is_none_or(|differ| differ == 0)
            }
            (Self::Network { address: IpAddr::V6(network), bits }, Some(Host::Ipv6(host))) => {
                let outside = 128_u32.saturating_sub(*bits);
                (network.to_bits() ^ host.to_bits())
                    .checked_shr(outside)
                    .is_none_or(|differ| differ == 0)
            }
            _ => false,
        }
    }
}

/// Returns true if a URL names this machine literally, without asking a name service.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| find_own_address(host).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, AccessError> {
        Proxies::from_environment(&|name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn some_hosts_are_reached_directly() {
        for (not, url, direct) in [
            ("", "https://ghcr.io/", false),
            ("*", "https://ghcr.io/", true),
            ("ghcr.io", "https://ghcr.io/", true),
            ("ghcr.io", "https://sub.ghcr.io/", true),
            ("ghcr.io", "https://evil-ghcr.io/", false),
            (".ghcr.io", "https://ghcr.io/", false),
            ("*.ghcr.io", "https://sub.ghcr.io/", true),
            ("GHCR.io, other", "https://ghcr.io/", true),
            ("ghcr.io:5000", "https://ghcr.io/", false),
            ("ghcr.io:5000", "https://ghcr.io:5000/", true),
            ("10.1.2.3", "https://10.1.2.3/", true),
            ("10.0.0.0/8", "https://10.1.2.3/", true),
            ("10.0.0.0/8", "https://11.1.2.3/", false),
            ("0.0.0.0/0", "https://11.1.2.3/", true),
            ("fd00::/8", "https://[fd12::1]/", true),
            ("fd00::/8", "https://[fe12::1]/", false),
            ("", "https://127.0.0.1/", true),
            ("", "https://localhost:5000/", true),
            ("", "http://ghcr.io/", true),
        ] {
            let proxies =
                proxies(&[("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", not)]).unwrap();
            assert_eq!(proxies.of(&url.parse().unwrap()).is_none(), direct, "{not} {url}");
        }
    }

    #[test]
    fn variables_are_read_in_order_and_wrong_ones_reported() {
        let place = |variables: &[(&str, &str)]| {
            let proxies = proxies(variables).unwrap();
            proxies.of(&"https://ghcr.io".parse().unwrap()).map(|through| through.place.clone())
        };
        assert_eq!(place(&[]), None);
        assert_eq!(place(&[("all_proxy", "a:1"), ("https_proxy", "b:2")]), Some("b:2".to_owned()));
        assert_eq!(place(&[("ALL_PROXY", "https://me:word@a")]), Some("a:443".to_owned()));
        assert_eq!(place(&[("HTTP_PROXY", "http://a:1")]), None);
        for (name, value, holds) in [
            (
                "HTTPS_PROXY",
                "socks5://a:1",
                "`HTTPS_PROXY` names a proxy that speaks `socks5`; write `http://host:port`",
            ),
            ("https_proxy", "http://", "`https_proxy` names no"),
            ("HTTPS_PROXY", "http://a:99999", "names no proxy"),
            ("NO_PROXY", "a,b/c", "`NO_PROXY` has `b/c`"),
            ("NO_PROXY", "a:b", "has `a:b`"),
        ] {
            let error = proxies(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(holds), "{error}");
        }
    }
}
