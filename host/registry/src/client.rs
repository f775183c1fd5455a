//! The state shared by all requests: TLS, proxies, timeouts.

use crate::access::{Access, AccessError, authorities};
use portcullis_network::{client_settings, create_client};
use std::sync::Arc;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};
use url::Url;

/// The most bytes of a response's header: URLs signed by object stores are long.
const HEAD_BYTES: usize = 32 << 10;

/// A client that pushes to registries and pulls from them. Connections are kept between requests.
#[derive(Debug)]
pub struct Client {
    pub(crate) access: Access,
    direct: Agent,
    proxied: Agent,
}

impl Client {
    /// Creates a client with these settings.
    ///
    /// # Errors
    /// Fails if the file of certificate authorities cannot be read, or is invalid.
    pub fn new(access: Access) -> Result<Self, AccessError> {
        let roots = match &access.authorities {
            Some(path) => RootCerts::Specific(Arc::new(authorities(path)?)),
            None => RootCerts::WebPki,
        };
        let limits = access.limits;
        let agent = |proxy| {
            let settings = client_settings()
                .proxy(proxy)
                .max_response_header_size(HEAD_BYTES)
                .timeout_connect(Some(limits.connect))
                .timeout_per_read(Some(limits.read))
                .timeout_per_write(Some(limits.read))
                .tls_config(TlsConfig::builder().root_certs(roots.clone()).build());
            create_client(settings)
        };
        let proxied = agent(access.proxies.any().map(|through| through.proxy.clone()));
        Ok(Self { direct: agent(None), proxied, access })
    }

    /// Returns the agent for that URL, and the proxy's name if it uses one.
    pub(crate) fn agent(&self, url: &Url) -> (&Agent, Option<&str>) {
        match self.access.proxies.of(url) {
            Some(through) => (&self.proxied, Some(&through.place)),
            None => (&self.direct, None),
        }
    }
}
