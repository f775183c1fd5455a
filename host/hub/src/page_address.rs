//! The addresses of the page: where it listens, and the only names under which it answers.

use anyhow::{Context, Result, bail, ensure};
use portcullis_core::known_failure::HintedFailure;
use portcullis_network::find_own_address;
use portcullis_served::door::Door;
use std::net::SocketAddr;

/// The name of a page without TLS whose configuration names none. No other program's page on this
/// machine has it, so its cookies go to none.
const OWN_NAME: &str = "hub.localhost";
/// The ports that an address leaves out.
const PLAIN_PORT: u16 = 80;
const TLS_PORT: u16 = 443;

/// The addresses of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAddress {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The names under which it answers.
    pub door: Door,
    /// True if a browser reaches it by `https`, so that its cookies are for that alone.
    pub is_secure: bool,
    /// True if it has the hub's own certificate; else a proxy on this machine has one.
    pub has_tls: bool,
}

impl PageAddress {
    /// Returns the addresses of a page that listens on `listen`, and is reached by `url` if that
    /// names another address. Without an `url` it is the hub's own host, `hub`.
    ///
    /// Fails if the page would be reached without TLS from another machine.
    pub fn parse(listen: &str, url: Option<&str>, has_tls: bool, hub: &str) -> Result<Self> {
        let listen: SocketAddr = listen
            .parse()
            .with_context(|| format!("`page` is not of the form `ADDRESS:PORT`: `{listen}`"))?;
        if !has_tls && !listen.ip().is_loopback() {
            bail!(HintedFailure::new(
                format!("the page would be reached on `{listen}` without TLS"),
                "leave out `page_tls = false`, or let a proxy on this machine pass it on, and set \
                 `page` to an address of loopback",
            ));
        }
        let origin = match url {
            Some(url) => url.strip_suffix('/').unwrap_or(url).to_owned(),
            None if has_tls => {
                let host = if hub.contains(':') { format!("[{hub}]") } else { hub.to_owned() };
                with_port(format!("https://{host}"), listen.port(), TLS_PORT)
            }
            None => with_port(format!("http://{OWN_NAME}"), listen.port(), PLAIN_PORT),
        };
        let is_secure = origin.starts_with("https://");
        let host = check_origin(&origin, is_secure)?.to_owned();
        ensure!(
            is_secure || !has_tls,
            "`page_url` begins with `https://`, since the page has the hub's certificate"
        );
        Ok(Self { listen, door: Door { host, origin }, is_secure, has_tls })
    }
}

fn with_port(address: String, port: u16, own: u16) -> String {
    if port == own { address } else { format!("{address}:{port}") }
}

/// Returns the host of an origin, with its port, in the form in which a browser names it.
fn check_origin(origin: &str, is_secure: bool) -> Result<&str> {
    let (scheme, own) = if is_secure { ("https://", ":443") } else { ("http://", ":80") };
    let wrong = || format!("`page_url` is not of the form `https://HOST[:PORT]`: `{origin}`");
    let host = origin.strip_prefix(scheme).with_context(wrong)?;
    let allowed = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || ".-:[]".contains(letter)
    };
    ensure!(!host.is_empty() && host.chars().all(allowed), wrong());
    ensure!(!host.ends_with(own), "`page_url` leaves out the port that `{scheme}` has anyway");
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if !is_secure && find_own_address(name).is_none() {
        bail!(HintedFailure::new(
            format!("`{origin}` is an address without TLS on another machine"),
            "name the address of the proxy that has a certificate, `https://HOST`",
        ));
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_served_where_nobody_between_reads_it() {
        let plain = "127.0.0.1:8444";
        for (listen, url, has_tls, origin) in [
            ("0.0.0.0:8444", None, true, Some("https://hub.example:8444")),
            ("[::]:443", None, true, Some("https://hub.example")),
            (plain, None, false, Some("http://hub.localhost:8444")),
            (plain, Some("https://hub.example/"), false, Some("https://hub.example")),
            ("0.0.0.0:8444", None, false, None),
            ("10.0.0.1:8444", None, false, None),
            ("0.0.0.0:8444", Some("http://hub.localhost"), true, None),
            (plain, Some("http://hub.example"), false, None),
            (plain, Some("http://127.0.0.1.example"), false, None),
            (plain, Some("https://a/b"), true, None),
            (plain, Some("https://Hub.example"), true, None),
            (plain, Some("https://a@b"), true, None),
            (plain, Some("https://hub.example:443"), true, None),
            ("hub.example", None, true, None),
        ] {
            let address = PageAddress::parse(listen, url, has_tls, "hub.example");
            let found = address.as_ref().ok().map(|found| found.door.origin.as_str());
            assert_eq!(found, origin, "{listen} {url:?}: {address:?}");
        }
    }
}
