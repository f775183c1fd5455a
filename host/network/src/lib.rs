//! The settings that all our HTTP clients share, and names of this machine, resolved without a name
//! service: a connection to one may go without TLS, and a false answer would be trusted. Small
//! documents at an address that a person names are fetched here too.

mod document;

pub use document::{DocumentError, DocumentFolder};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ureq::Agent;
use ureq::config::{Config, ConfigBuilder};
use ureq::http::Uri;
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Returns the settings with which each of our clients begins: it uses no proxy, since a project
/// can set the variables for one; it follows no redirect; an answer of any status is an answer; and
/// no header but `user-agent` is added.
#[must_use]
pub fn client_settings() -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .user_agent("portcullis")
        .accept("")
        .accept_encoding("")
}

/// Creates a client, which resolves names of this machine by itself.
#[must_use]
pub fn create_client(settings: ConfigBuilder<AgentScope>) -> Agent {
    Agent::with_parts(settings.build(), DefaultConnector::default(), LoopbackOrDns)
}

/// Returns true for a name that means this machine everywhere.
#[must_use]
pub fn is_own_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns the loopback address that a host denotes by itself. An address of version 6 may be in
/// brackets.
#[must_use]
pub fn find_own_address(host: &str) -> Option<IpAddr> {
    if is_own_name(host) {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    let address: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
    address.is_loopback().then_some(address)
}

/// A resolver that asks a name service for names of other machines only.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopbackOrDns;

impl Resolver for LoopbackOrDns {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        if !uri.host().is_some_and(is_own_name) {
            return DefaultResolver::default().resolve(uri, config, timeout);
        }
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let mut addresses = self.empty();
        addresses.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        addresses.push(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port));
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[&str] = &["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.Localhost."];

    #[test]
    fn a_host_of_this_machine_is_known_by_itself() {
        let none =
            ["localhost.example", "notlocalhost", "example.com", "10.0.0.1", "[::2]", "", "."];
        for host in none {
            assert_eq!(find_own_address(host), None, "{host}");
        }
        for (host, address) in
            [("127.0.0.1", "127.0.0.1"), ("127.3.2.1", "127.3.2.1"), ("[::1]", "::1")]
        {
            assert_eq!(find_own_address(host), address.parse().ok(), "{host}");
        }
        for host in OWN {
            assert_eq!(find_own_address(host), "127.0.0.1".parse().ok(), "{host}");
        }
    }

    #[test]
    fn own_names_are_resolved_without_a_name_service() {
        let config = ureq::Agent::config_builder().build();
        for host in OWN {
            for (scheme, port) in [("http", 80), ("https", 443)] {
                let uri: Uri = format!("{scheme}://{host}/x").parse().unwrap();
                let found = LoopbackOrDns.resolve(&uri, &config, NextTimeout::default()).unwrap();
                let wanted = [format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                assert_eq!(found, wanted, "{uri}");
            }
        }
        let uri: Uri = "http://127.0.0.1:8080/".parse().unwrap();
        let found = LoopbackOrDns.resolve(&uri, &config, NextTimeout::default()).unwrap();
        assert_eq!(found.first().map(ToString::to_string).as_deref(), Some("127.0.0.1:8080"));
    }
}
