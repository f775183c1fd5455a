//! Interprets a webhook's answer, or the lack of one.

use crate::failure::DeliveryFailure;
use portcullis_core::text::strip_quotes;
use std::time::{Duration, SystemTime};
use ureq::http::HeaderMap;

const REPLY_BYTES: usize = 120;

/// Returns the failure for an answer other than success.
pub(crate) fn refused(
    place: &str,
    status: u16,
    headers: &HeaderMap,
    said: &str,
) -> DeliveryFailure {
    let said = said.trim();
    let what = match said.is_empty() {
        true => format!("`{place}` answered {status}"),
        false => format!("`{place}` answered {status}: \"{}\"", strip_quotes(said, REPLY_BYTES)),
    };
    match status {
        408 | 425 | 429 | 500..=599 => DeliveryFailure::retry(
            what,
            "nothing to do: it will be retried; check the service if this continues",
        )
        .not_before(read_retry_after(headers)),
        300..=399 => DeliveryFailure::give_up(
            what,
            "redirects are not followed: configure the address that it leads to",
        ),
        401 | 403 | 407 => {
            DeliveryFailure::give_up(what, "renew the webhook's credential").of_credential()
        }
        404 | 410 => {
            DeliveryFailure::give_up(what, "make a new webhook there and configure its address")
        }
        _ => DeliveryFailure::give_up(
            what,
            "configure the address of a webhook that takes Slack's JSON",
        ),
    }
}

/// Returns the failure for a missing answer of a service at `place`.
#[must_use]
pub fn unreachable_service(place: &str, error: &ureq::Error) -> DeliveryFailure {
    match error {
        ureq::Error::Timeout(_) => late(place),
        ureq::Error::HostNotFound => DeliveryFailure::retry(
            format!("the host of `{place}` is not known"),
            "check the name and the network",
        ),
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => insecure(place, error),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            insecure(place, error)
        }
        error => DeliveryFailure::retry(
            format!("`{place}` cannot be reached ({error})"),
            "check the address and the network",
        ),
    }
}

/// Returns the failure for a missing answer through a proxy. The proxy's own words are left out:
/// they may repeat our credentials for it.
#[must_use]
pub fn unreachable_through(proxy: &str, place: &str, error: &ureq::Error) -> DeliveryFailure {
    match error {
        ureq::Error::Timeout(_) => late(place),
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => unreachable_service(place, error),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            insecure(place, error)
        }
        ureq::Error::ConnectProxyFailed(_) => DeliveryFailure::retry(
            format!("the proxy `{proxy}` did not connect us to `{place}`"),
            "check that it knows us and lets us reach that host",
        ),
        ureq::Error::HostNotFound => DeliveryFailure::retry(
            format!("the proxy `{proxy}` is not known"),
            "check the name and the network",
        ),
        error => DeliveryFailure::retry(
            format!("`{place}` cannot be reached through the proxy `{proxy}` ({error})"),
            "check the proxy",
        ),
    }
}

pub(crate) fn late(place: &str) -> DeliveryFailure {
    DeliveryFailure::retry(
        format!("`{place}` did not answer in time"),
        "nothing to do: it will be retried; check the network if this continues",
    )
}

fn insecure(place: &str, error: &dyn std::fmt::Display) -> DeliveryFailure {
    DeliveryFailure::retry(
        format!("no secure connection to `{place}` ({error})"),
        "name its authority in `authorities`, or have its certificate renewed",
    )
}

/// Reads `Retry-After`, in seconds or as a date; a date counts from the server's own `Date`.
#[must_use]
pub fn read_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |name: &str| -> Option<SystemTime> { httpdate::parse_http_date(text(name)?).ok() };
    match text("retry-after")?.parse::<u32>() {
        Ok(seconds) => Some(Duration::from_secs(seconds.into())),
        Err(_) => date("retry-after")?.duration_since(date("date")?).ok(),
    }
}
