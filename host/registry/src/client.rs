//! What is the same for all requests: TLS, proxies, limits.

use crate::access::{Access, AccessError, authorities};
use crate::proxy::is_loopback;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::Url;

/// Bytes of an answer's head: addresses that object stores sign are long.
const HEAD_BYTES: usize = 32 << 10;

/// Pushes to registries and pulls from them. Connections are kept from one request to the next.
#[derive(Debug)]
pub struct Client {
    pub(crate) access: Access,
    direct: Agent,
    proxied: Agent,
}

impl Client {
    /// One that reaches registries so.
    ///
    /// # Errors
    /// The file of authorities cannot be read, or is none.
    pub fn new(access: Access) -> Result<Self, AccessError> {
        let roots = match &access.authorities {
            Some(path) => RootCerts::Specific(Arc::new(authorities(path)?)),
            None => RootCerts::WebPki,
        };
        let limits = access.limits;
        let agent = |proxy| {
            let config = Agent::config_builder()
                .proxy(proxy)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .http_status_as_error(false)
                .user_agent("portcullis")
                .accept("")
                .accept_encoding("")
                .max_response_header_size(HEAD_BYTES)
                .timeout_connect(Some(limits.connect))
                .timeout_per_read(Some(limits.read))
                .timeout_per_write(Some(limits.read))
                .tls_config(TlsConfig::builder().root_certs(roots.clone()).build())
                .build();
            Agent::with_parts(config, DefaultConnector::default(), Names)
        };
        let proxied = agent(access.proxies.any().map(|through| through.proxy.clone()));
        Ok(Self { direct: agent(None), proxied, access })
    }

    /// What reaches that address, and the proxy's name where it does so through one.
    pub(crate) fn agent(&self, url: &Url) -> (&Agent, Option<&str>) {
        match self.access.proxies.of(url) {
            Some(through) => (&self.proxied, Some(&through.place)),
            None => (&self.direct, None),
        }
    }
}

/// Looks names up, all but that of this machine: without TLS, whoever answers for the name would be believed.
#[derive(Debug)]
struct Names;

impl Resolver for Names {
    fn resolve(&self, uri: &Uri, config: &ureq::config::Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let here = Url::parse(&uri.to_string()).ok().filter(|url| is_loopback(url) && url.domain().is_some());
        let Some(port) = here.and_then(|url| url.port_or_known_default()) else {
            return DefaultResolver::default().resolve(uri, config, timeout);
        };
        let mut addresses = self.empty();
        addresses.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        Ok(addresses)
    }
}
