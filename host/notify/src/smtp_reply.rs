//! Interprets a mail server's refusal, or the lack of an answer.

use crate::failure::DeliveryFailure;
use crate::redact::redact_secrets;
use lettre::transport::smtp::Error;
use portcullis_core::text::strip_quotes;
use secrecy::{ExposeSecret, SecretString};
use std::error::Error as _;

const REPLY_BYTES: usize = 120;

/// Returns the failure for a mail server that rejected the mail.
pub(crate) fn refused(
    place: &str,
    error: &Error,
    password: Option<&SecretString>,
) -> DeliveryFailure {
    let Some(code) = error.status().map(u16::from) else { return broken(place, error) };
    // A server's answer to a login may repeat the password.
    let login = matches!(code, 334 | 454 | 500..=504 | 530 | 534 | 535 | 538) && password.is_some();
    let said = error.source().filter(|_| !login).map(|said| {
        redact_secrets(&said.to_string(), &[password.map_or("", ExposeSecret::expose_secret)])
    });
    let what = match said {
        Some(said) => {
            format!(
                "the mail server `{place}` answered {code}: \"{}\"",
                strip_quotes(&said, REPLY_BYTES)
            )
        }
        None => format!("the mail server `{place}` answered {code}"),
    };
    match code {
        530 | 534 | 535 | 538 => {
            DeliveryFailure::give_up(what, "check the login and its password").of_credential()
        }
        _ if error.is_permanent() => {
            DeliveryFailure::give_up(what, "check `from`, `to` and what the server lets you send")
        }
        _ => DeliveryFailure::retry(
            what,
            "nothing to do: it will be retried; check the server if this continues",
        ),
    }
}

/// Returns the failure without a status code from the server.
fn broken(place: &str, error: &Error) -> DeliveryFailure {
    let why = error.source().map_or_else(|| error.to_string(), |source| source.to_string());
    let why = strip_quotes(&why, REPLY_BYTES);
    if error.is_timeout() {
        return late(place);
    }
    if error.is_client() {
        let what = format!("the mail server `{place}` does not offer what is needed ({why})");
        return DeliveryFailure::give_up(
            what,
            "choose another `encryption` or login, or another server",
        );
    }
    DeliveryFailure::retry(
        format!("no mail could be handed to `{place}` ({why})"),
        "check `host`, `port`, `encryption`, `authorities` and the network",
    )
}

pub(crate) fn late(place: &str) -> DeliveryFailure {
    let fix = "nothing to do: it will be retried; check `port`, `encryption` and the network if this continues";
    DeliveryFailure::retry(format!("the mail server `{place}` did not answer in time"), fix)
}
