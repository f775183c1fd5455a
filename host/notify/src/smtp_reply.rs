//! What a mail server's refusal, or its silence, means.

use crate::credential::redact;
use crate::failure::Failure;
use lettre::transport::smtp::Error;
use portcullis_core::text::bare;
use secrecy::{ExposeSecret, SecretString};
use std::error::Error as _;

const SAID_BYTES: usize = 120;

/// A mail server that took nothing.
pub(crate) fn refused(place: &str, error: &Error, password: Option<&SecretString>) -> Failure {
    let Some(code) = error.status().map(u16::from) else { return broken(place, error) };
    // What a server says to a login may repeat what it was given.
    let login = matches!(code, 334 | 454 | 500..=504 | 530 | 534 | 535 | 538) && password.is_some();
    let said = error.source().filter(|_| !login).map(|said| redact(&said.to_string(), &[password.map_or("", ExposeSecret::expose_secret)]));
    let what = match said {
        Some(said) => format!("the mail server `{place}` answered {code}: \"{}\"", bare(&said, SAID_BYTES)),
        None => format!("the mail server `{place}` answered {code}"),
    };
    match code {
        530 | 534 | 535 | 538 => Failure::give_up(what, "check the login and its password"),
        _ if error.is_permanent() => Failure::give_up(what, "check `from`, `to` and what the server lets you send"),
        _ => Failure::retry(what, "nothing to do: it is tried again; look at the server if that goes on"),
    }
}

/// No answer that says why.
fn broken(place: &str, error: &Error) -> Failure {
    let why = error.source().map_or_else(|| error.to_string(), |source| source.to_string());
    let why = bare(&why, SAID_BYTES);
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
    let mend = "nothing to do: it is tried again; check `port`, `encryption` and the network if that goes on";
    Failure::retry(format!("the mail server `{place}` did not answer in time"), mend)
}
