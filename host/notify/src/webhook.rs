//! Posts a message to a webhook.

use crate::channel::{Address, Webhook};
use crate::failure::{Delivered, DeliveryFailure};
use crate::message::Notification;
use crate::proxy::{self, CheckedProxy};
use crate::redact::redact_secrets;
use crate::{authorities, slack, webhook_reply};
use portcullis_credentials::CredentialReader;
use portcullis_network::{client_settings, create_client, find_own_address};
use secrecy::{ExposeSecret, SecretString};
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};

/// The most bytes of an answer's status and headers.
const HEAD_BYTES: usize = 16 << 10;
/// The most bytes of an answer's body that are read, for its explanation of a failure.
const BODY_BYTES: u64 = 4 << 10;

/// A webhook with valid settings.
pub(crate) struct CheckedWebhook {
    uri: Uri,
    /// Scheme, host and port: the part that errors may mention.
    place: String,
    proxy: Option<CheckedProxy>,
    bearer: Option<SecretString>,
    roots: RootCerts,
}

impl CheckedWebhook {
    pub(crate) fn new(
        webhook: &Webhook,
        reader: &dyn CredentialReader,
    ) -> Result<Self, DeliveryFailure> {
        let uri = match &webhook.url {
            Address::Open(url) => parse(url)?,
            Address::Secret(credential) => parse(credential.read_secret(reader)?.expose_secret())?,
        };
        let host = uri.host().unwrap_or_default();
        let place = match uri.port_u16() {
            Some(port) => format!("{}://{host}:{port}", uri.scheme_str().unwrap_or_default()),
            None => format!("{}://{host}", uri.scheme_str().unwrap_or_default()),
        };
        let is_open = uri.scheme_str() != Some("https");
        if is_open && find_own_address(host).is_none() {
            return Err(open_line(&place));
        }
        if is_open && webhook.bearer.is_some() {
            let what = format!(
                "the webhook `{place}` has a `bearer`, which would go unencrypted to whatever program listens there"
            );
            return Err(DeliveryFailure::give_up(what, "use `https`, or leave out `bearer`"));
        }
        let proxy = webhook.proxy.as_ref();
        let proxy = proxy.map(|address| proxy::read_proxy(address, reader)).transpose()?;
        if is_open && proxy.is_some() {
            let what = format!("the webhook `{place}` is on this machine and has a `proxy`");
            return Err(DeliveryFailure::give_up(what, "leave out `proxy`"));
        }
        let bearer =
            webhook.bearer.as_ref().map(|credential| credential.read_secret(reader)).transpose()?;
        let roots = match &webhook.authorities {
            Some(path) => RootCerts::Specific(Arc::new(authorities::read_authorities(path)?)),
            None => RootCerts::WebPki,
        };
        Ok(Self { uri, place, proxy, bearer, roots })
    }

    pub(crate) fn send(
        &self,
        message: &Notification,
        deadline: Instant,
    ) -> Result<Delivered, DeliveryFailure> {
        let body = slack::render(message).to_string();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(webhook_reply::late(&self.place));
        }
        let settings = client_settings()
            .proxy(self.proxy.as_ref().map(|through| through.proxy.clone()))
            .max_idle_connections(0)
            .max_response_header_size(HEAD_BYTES)
            .timeout_global(Some(left))
            .tls_config(TlsConfig::builder().root_certs(self.roots.clone()).build());
        let agent = create_client(settings);
        let mut request = agent.post(&self.uri).header("content-type", "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", format!("Bearer {}", bearer.expose_secret()));
        }
        let answer = request.send(body.as_bytes()).map_err(|error| self.unreachable(&error))?;
        self.judge(answer)
    }

    fn unreachable(&self, error: &ureq::Error) -> DeliveryFailure {
        match &self.proxy {
            Some(through) => webhook_reply::unreachable_through(&through.place, &self.place, error),
            None => webhook_reply::unreachable_service(&self.place, error),
        }
    }

    fn judge(&self, answer: Response<ureq::Body>) -> Result<Delivered, DeliveryFailure> {
        let (head, body) = answer.into_parts();
        if head.status.is_success() {
            return Ok(Delivered {
                what: format!("`{}` answered {}", self.place, head.status.as_u16()),
            });
        }
        let mut said = Vec::new();
        // The part that arrived in time; it serves only as an explanation.
        let _ = body.into_reader().take(BODY_BYTES).read_to_end(&mut said);
        let said = redact_secrets(&String::from_utf8_lossy(&said), &self.secrets());
        Err(webhook_reply::refused(&self.place, head.status.as_u16(), &head.headers, &said))
    }

    /// Returns the secrets that an answer could repeat.
    fn secrets(&self) -> Vec<&str> {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        // A service may repeat one part of the address alone; shorter parts are ordinary words.
        let parts = target.split(['/', '?', '&', '=']).filter(|part| part.len() >= 8);
        let whole = (target.len() > 1).then_some(target);
        whole
            .into_iter()
            .chain(parts)
            .chain(self.bearer.iter().map(ExposeSecret::expose_secret))
            .collect()
    }
}

fn parse(url: &str) -> Result<Uri, DeliveryFailure> {
    parse_address(url).map_err(|what| {
        DeliveryFailure::give_up(
            format!("the webhook's address {what}"),
            "write it as `https://host/path`",
        )
    })
}

/// Parses the address of a web service.
///
/// # Errors
/// Fails with the rest of a sentence about the address. It repeats nothing of it: an address may hold
/// a secret.
pub fn parse_address(url: &str) -> Result<Uri, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is none")?;
    let authority = uri.authority().ok_or("names no host")?;
    if authority.as_str().contains('@') {
        return Err("holds a user name");
    }
    match uri.scheme_str() {
        Some("https" | "http") if !authority.host().is_empty() => Ok(uri),
        _ => Err("is neither `https` nor `http`"),
    }
}

fn open_line(place: &str) -> DeliveryFailure {
    DeliveryFailure::give_up(
        format!("the webhook `{place}` is not encrypted and not on this machine"),
        "use `https`",
    )
}
