//! Tokens that a registry's token server issues for our credentials.

use crate::body;
use crate::credential::{RegistryLogin, basic_header};
use crate::error::ErrorReason;
use crate::exchange::Exchange;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use ureq::http::Request;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

/// The most bytes of a token server's response.
const MOST_BYTES: u64 = 64 << 10;

/// A request for a token.
pub(crate) struct TokenRequest<'a> {
    pub(crate) realm: &'a str,
    pub(crate) service: Option<&'a str>,
    pub(crate) scope: &'a str,
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<SecretString>,
    access_token: Option<SecretString>,
}

/// Fetches a token; `None` if the server refuses our credentials. The registry names the server,
/// often on another host, and it receives the registry's credentials: so it must use TLS, or be on
/// this machine like the registry, and its redirects are not followed.
pub(crate) fn fetch(
    exchange: &Exchange<'_>,
    wanted: &TokenRequest<'_>,
    credential: Option<&RegistryLogin>,
) -> Result<Option<SecretString>, ErrorReason> {
    let failed = |what: String| {
        ErrorReason::Malformed(format!("its token server `{}` {what}", wanted.realm.escape_debug()))
    };
    let url = exchange
        .led(exchange.root(), wanted.realm)
        .map_err(|_| failed("is not an address with TLS".to_owned()))?;
    let place = url.host_str().unwrap_or_default().to_owned();
    let failed =
        |what: String| ErrorReason::Malformed(format!("its token server `{place}` {what}"));
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let service =
        wanted.service.map(|service| format!("&service={}", encoded(service))).unwrap_or_default();
    let query = format!("scope={}{service}", encoded(wanted.scope));
    let answer = match credential {
        Some(RegistryLogin::Identity(identity)) => {
            let form = format!(
                "grant_type=refresh_token&client_id=portcullis&refresh_token={}&{query}",
                encoded(identity.expose_secret())
            );
            let draft = Request::post(url.as_str())
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            exchange.run(draft.body(form.as_bytes()), &url)?
        }
        other => {
            let mut url = url;
            let query = url.query().map_or_else(|| query.clone(), |own| format!("{own}&{query}"));
            url.set_query(Some(&query));
            let mut draft = Request::get(url.as_str());
            if let Some(RegistryLogin::Password { user, password }) = other {
                draft = draft.header(AUTHORIZATION, basic_header(user, password));
            }
            exchange.run(draft.body(()), &url)?
        }
    };
    match answer.status().as_u16() {
        200 => {}
        401 | 403 => return Ok(None),
        status => return Err(failed(format!("answered {status}, and gave no token"))),
    }
    let text = body::read(answer, MOST_BYTES, exchange.limits(), |_| {})?;
    let read: TokenResponse = serde_json::from_slice(&text)
        .map_err(|_| failed("answered with something other than a token".to_owned()))?;
    let token = read
        .token
        .or(read.access_token)
        .ok_or_else(|| failed("answered without a token".to_owned()))?;
    // The token goes into a header, to which a line break could add others.
    let plain = token.expose_secret().bytes().all(|byte| byte.is_ascii_graphic());
    if plain {
        Ok(Some(token))
    } else {
        Err(failed("answered with something other than a token".to_owned()))
    }
}
