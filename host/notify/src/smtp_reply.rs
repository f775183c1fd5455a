//! Interprets a mail server's refusal, or the lack of an answer.

use crate::credential::redact;
use crate::failure::Failure;
use lettre::transport::smtp::Error;
use portcullis_core::text::bare;
use secrecy::{ExposeSecret, SecretString};
use std::error::Error as _;

const REPLY_BYTES: usize = 120;

/// Returns the failure for a mail server that rejected the mail.
pub(crate) fn refused(place: &str, error: &Error, password: Option<&SecretString>) -> Failure {
    let Some(code) = error.status().map(u16::from) else { return broken(place, error) };
    // A server's answer to a login may repeat the password.
    let login = matches!(code, 334 | 454 | 500..=504 | 530 | 534 | 535 | 538) && password.is_some();
    let said = error
        .source()
        .filter(|_| !login)
        .map(|said| redact(&said.to_string(), &[password.map_or("", ExposeSecret::expose_secret)]));
    let what = match said {
        Some(said) => {
            format!("the mail server `{place}` answered {code}: \"{}\"", bare(&said, REPLY_BYTES))
        }
        None => format!("the mail server `{place}` answered {code}"),
    };
    match code {
        530 | 534 | 535 | 538 => Failure::give_up(what, "check the login and its password"),
        _ if error.is_permanent() => {
            Failure::give_up(what, "check `from`, `to` and what the server lets you send")
        }
        _ => Failure::retry(
            what,
            "nothing to do: it is tried again; look at the server if that goes on",
        ),
    }
}

/// Returns the failure without a status code from the server.
fn broken(place: &str, error: &Error) -> Failure {
    let why = error.source().map_or_else(|| error.to_string(), |source| source.to_string());
    let why = bare(&why, REPLY_BYTES);
    if error.is_timeout() {
        return late(place);
    }
    if error.is_client() {
        let what = format!("the mail server `{place}` does not offer what is needed ({why})");
        return Failure::give_up(what, "choose another `encryption` or login, or another server");
    }
    Failure::retry(
        format!("no mail could be handed to `{place}` ({why})"),
        "check `host`, `port`, `encryption`, `authorities` and the network",
    )
}

pub(crate) fn late(place: &str) -> Failure {
    let fix = "nothing to do: it is tried again; check `port`, `encryption` and the network if that goes on";
    Failure::retry(format!("the mail server `{place}` did not answer in time"), fix)
}
