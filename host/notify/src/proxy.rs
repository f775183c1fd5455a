//! A proxy in front of a webhook: it connects us, and sees the host's name and encrypted bytes.
//!
//! Only one that the channel names. What the environment says of proxies does not count by itself: a project can set
//! variables for its agent, and with them for our hooks.

use crate::channel::Address;
use crate::failure::Failure;
use crate::send::Surroundings;
use secrecy::ExposeSecret;
use ureq::Proxy;
use ureq::http::Uri;

/// A proxy whose settings hold.
pub(crate) struct Through {
    pub(crate) proxy: Proxy,
    /// Host and port: what errors may name.
    pub(crate) place: String,
}

/// The proxy of that address.
pub(crate) fn read(address: &Address, from: &impl Surroundings) -> Result<Through, Failure> {
    match address {
        Address::Open(text) if text.contains('@') => {
            let what = "the proxy's address holds a user name";
            Err(Failure::give_up(what, "name it as `env:NAME` or `file:PATH`: a credential has no place in the configuration"))
        }
        Address::Open(text) => parse(text),
        Address::Secret(credential) => parse(from.credential(credential)?.expose_secret()),
    }
}

fn parse(text: &str) -> Result<Through, Failure> {
    let bad = |what: &str| Failure::give_up(format!("the proxy's address {what}"), "write it as `http://host:port`");
    let uri: Uri = text.parse().map_err(|_| bad("is none"))?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("names no host"))?;
    if uri.scheme_str() != Some("http") || uri.path_and_query().is_some_and(|target| target.as_str() != "/") {
        return Err(bad("is not `http` with a host and a port alone"));
    }
    let place = format!("http://{host}:{}", uri.port_u16().unwrap_or(80));
    let proxy = Proxy::new(text).map_err(|_| bad("is none"))?;
    Ok(Through { proxy, place })
}
