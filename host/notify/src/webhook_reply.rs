//! Interprets a webhook's answer, or the lack of one.

use crate::failure::Failure;
use portcullis_core::text::bare;
use std::time::{Duration, SystemTime};
use ureq::http::HeaderMap;

const REPLY_BYTES: usize = 120;

/// Returns the failure for an answer other than success.
pub(crate) fn refused(place: &str, status: u16, headers: &HeaderMap, said: &str) -> Failure {
    let said = said.trim();
    let what = match said.is_empty() {
        true => format!("`{place}` answered {status}"),
        false => format!("`{place}` answered {status}: \"{}\"", bare(said, REPLY_BYTES)),
    };
    match status {
        408 | 425 | 429 | 500..=599 => Failure::retry(
            what,
            "nothing to do: it is tried again; look at the service if that goes on",
        )
        .not_before(wait(headers)),
        300..=399 => Failure::give_up(
            what,
            "redirects are not followed: configure the address that it leads to",
        ),
        401 | 403 | 407 => Failure::give_up(what, "renew the webhook's credential"),
        404 | 410 => Failure::give_up(what, "make a new webhook there and configure its address"),
        _ => Failure::give_up(what, "configure the address of a webhook that takes Slack's JSON"),
    }
}

/// Returns the failure for a missing answer.
pub(crate) fn unreachable(place: &str, error: &ureq::Error) -> Failure {
    match error {
        ureq::Error::Timeout(_) => late(place),
        ureq::Error::HostNotFound => Failure::retry(
            format!("the host of `{place}` is not known"),
            "check the name and the network",
        ),
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => insecure(place, error),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            insecure(place, error)
        }
        error => Failure::retry(
            format!("`{place}` cannot be reached ({error})"),
            "check the address and the network",
        ),
    }
}

/// Returns the failure for a missing answer through a proxy. The proxy's own words are left out:
/// they may repeat our credentials for it.
pub(crate) fn unreachable_through(proxy: &str, place: &str, error: &ureq::Error) -> Failure {
    match error {
        ureq::Error::Timeout(_) => late(place),
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => unreachable(place, error),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            insecure(place, error)
        }
        ureq::Error::ConnectProxyFailed(_) => Failure::retry(
            format!("the proxy `{proxy}` did not connect us to `{place}`"),
            "look whether it knows us and lets us reach that host",
        ),
        ureq::Error::HostNotFound => Failure::retry(
            format!("the proxy `{proxy}` is not known"),
            "check the name and the network",
        ),
        error => Failure::retry(
            format!("`{place}` cannot be reached through the proxy `{proxy}` ({error})"),
            "check the proxy",
        ),
    }
}

pub(crate) fn late(place: &str) -> Failure {
    Failure::retry(
        format!("`{place}` did not answer in time"),
        "nothing to do: it is tried again; check the network if that goes on",
    )
}

fn insecure(place: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::retry(
        format!("no secure connection to `{place}` ({error})"),
        "name its authority in `authorities`, or have its certificate renewed",
    )
}

/// Reads `Retry-After`, in seconds or as a date; a date counts from the server's own `Date`.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |name: &str| -> Option<SystemTime> { httpdate::parse_http_date(text(name)?).ok() };
    match text("retry-after")?.parse::<u32>() {
        Ok(seconds) => Some(Duration::from_secs(seconds.into())),
        Err(_) => date("retry-after")?.duration_since(date("date")?).ok(),
    }
}
