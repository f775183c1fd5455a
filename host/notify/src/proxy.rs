//! A proxy for a webhook: it makes the connection, and sees the host's name and encrypted bytes.
//!
//! Only a proxy that the channel names is used. Proxy variables of the environment are ignored: a
//! project can set variables for its agent, and with them for our hooks.

use crate::channel::Address;
use crate::failure::DeliveryFailure;
use portcullis_credentials::CredentialReader;
use secrecy::ExposeSecret;
use std::fmt;
use ureq::Proxy;
use ureq::http::Uri;

/// A proxy with valid settings.
pub struct CheckedProxy {
    /// The proxy.
    pub proxy: Proxy,
    /// Host and port: the part that errors may mention.
    pub place: String,
}

impl fmt::Debug for CheckedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedProxy").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Reads the proxy of that address; `reader` reads credentials.
///
/// # Errors
/// Fails if the credential cannot be read, or the address is not `http://host:port`.
pub fn read_proxy(
    address: &Address,
    reader: &dyn CredentialReader,
) -> Result<CheckedProxy, DeliveryFailure> {
    match address {
        Address::Open(text) if text.contains('@') => {
            let what = "the proxy's address holds a user name";
            Err(DeliveryFailure::give_up(
                what,
                "name it as `credential:NAME`, `env:NAME` or `file:PATH`: a credential has no place in the configuration",
            ))
        }
        Address::Open(text) => parse(text),
        Address::Secret(credential) => parse(credential.read_secret(reader)?.expose_secret()),
    }
}

fn parse(text: &str) -> Result<CheckedProxy, DeliveryFailure> {
    let bad = |what: &str| {
        DeliveryFailure::give_up(
            format!("the proxy's address {what}"),
            "write it as `http://host:port`",
        )
    };
    let uri: Uri = text.parse().map_err(|_| bad("is none"))?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("names no host"))?;
    if uri.scheme_str() != Some("http")
        || uri.path_and_query().is_some_and(|target| target.as_str() != "/")
    {
        return Err(bad("is not `http` with a host and a port alone"));
    }
    let place = format!("http://{host}:{}", uri.port_u16().unwrap_or(80));
    let proxy = Proxy::new(text).map_err(|_| bad("is none"))?;
    Ok(CheckedProxy { proxy, place })
}
