//! Single exchanges with a server: connections, redirects and timeouts.

use super::address::ServerAddress;
use super::{HttpLimits, lock};
use portcullis_network::{client_settings, create_client};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ureq::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use ureq::http::{Method, Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, AsSendBody, Body, Error};
use url::Url;

/// The media type of one message.
pub(super) const JSON: &str = "application/json";
/// The media type of a stream of messages.
pub(super) const EVENTS: &str = "text/event-stream";
/// The most redirects of one request.
const MOST_REDIRECTS: usize = 3;
/// The longest time that a connection without a request is kept: servers often close it after 5 s.
const IDLE: Duration = Duration::from_secs(4);
/// The most connections without a request.
const MOST_IDLE: usize = 8;

/// The way to one server.
pub(super) struct Exchanges {
    address: ServerAddress,
    /// Sent with each request. The values are secrets.
    headers: HeaderMap,
    roots: RootCerts,
    limits: HttpLimits,
    /// Each has at most one connection, so that its shutdown ends one request.
    idle: Mutex<Vec<Agent>>,
}

/// A request to a server.
pub(super) struct RequestParts<'b> {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<&'b [u8]>,
    /// The longest time without an answer, and without its next bytes; `None` is for ever.
    pub(super) patience: Option<Duration>,
    /// The longest time for the whole body of the answer; `None` is for ever.
    pub(super) body_limit: Option<Duration>,
}

impl Exchanges {
    pub(super) fn new(
        address: ServerAddress,
        headers: HeaderMap,
        authorities: Option<Vec<Certificate<'static>>>,
        limits: HttpLimits,
    ) -> Self {
        let roots =
            authorities.map_or(RootCerts::WebPki, |found| RootCerts::Specific(Arc::new(found)));
        Self { address, headers, roots, limits, idle: Mutex::default() }
    }

    pub(super) const fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Returns an agent for one request.
    pub(super) fn take_agent(&self) -> Agent {
        lock(&self.idle).pop().unwrap_or_else(|| self.create_agent())
    }

    /// Gives an agent back after its request, whose answer was read to its end.
    pub(super) fn return_agent(&self, agent: Agent) {
        let mut idle = lock(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(agent);
        }
    }

    fn create_agent(&self) -> Agent {
        let settings = client_settings()
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_idle_age(IDLE)
            .timeout_connect(Some(self.limits.connect))
            .timeout_resolve(Some(self.limits.connect))
            .timeout_per_write(Some(self.limits.accept))
            .tls_config(TlsConfig::builder().root_certs(self.roots.clone()).build());
        create_client(settings)
    }

    /// Sends a request and returns its answer, with any status but a redirect. Redirects are
    /// followed to the same server only, and with the same method.
    pub(super) fn send(
        &self,
        agent: &Agent,
        parts: &RequestParts<'_>,
    ) -> Result<Response<Body>, String> {
        let mut url = self.address.url().clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.send_once(agent, parts, &url)?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            url = self.find_redirect(&url, &answer, parts)?;
        }
        Err(format!("the server redirects more than {MOST_REDIRECTS} times"))
    }

    fn send_once(
        &self,
        agent: &Agent,
        parts: &RequestParts<'_>,
        url: &Url,
    ) -> Result<Response<Body>, String> {
        let mut request = Request::builder().method(&parts.method).uri(url.as_str());
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
            headers.extend(parts.headers.clone());
            let accepted = if parts.body.is_some() {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
                "application/json, text/event-stream"
            } else {
                EVENTS
            };
            headers.insert(ACCEPT, HeaderValue::from_static(accepted));
        }
        let answer = match parts.body {
            Some(body) => request.body(body).map(|request| run_request(agent, request, parts)),
            None => request.body(()).map(|request| run_request(agent, request, parts)),
        };
        let answer = answer.map_err(|_| "the server's address cannot be used".to_owned())?;
        answer.map_err(|error| describe_error(&error))
    }

    fn find_redirect(
        &self,
        from: &Url,
        answer: &Response<Body>,
        parts: &RequestParts<'_>,
    ) -> Result<Url, String> {
        let status = answer.status().as_u16();
        let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| from.join(to).ok());
        let Some(to) = to else {
            return Err(format!("the server redirects ({status}), and does not say where"));
        };
        let shown = ServerAddress::parse(to.as_str(), true).map_or_else(
            |_| "an address that cannot be used".into(),
            |to| format!("`{}`", to.describe()),
        );
        if to.origin() != from.origin() {
            return Err(format!(
                "the server redirects to {shown}, which is another server: it is not followed. \
                 Name that address if you trust it"
            ));
        }
        if !matches!(status, 307 | 308) && parts.method != Method::GET {
            return Err(format!(
                "the server redirects ({status}) to {shown} in a way that loses the message: name that address"
            ));
        }
        Ok(to)
    }
}

fn run_request(
    agent: &Agent,
    request: Request<impl AsSendBody>,
    parts: &RequestParts<'_>,
) -> Result<Response<Body>, Error> {
    let request = agent
        .configure_request(request)
        .timeout_per_read(parts.patience)
        .timeout_recv_response(parts.patience)
        .timeout_recv_body(parts.body_limit);
    agent.run(request.build())
}

/// Describes a failure without the address.
fn describe_error(error: &Error) -> String {
    match error {
        Error::Timeout(_) => "the server did not answer in time".into(),
        Error::Io(error) => describe_io_error(error),
        Error::HostNotFound => "the server's name cannot be resolved".into(),
        error => format!("the exchange with the server failed: {error}"),
    }
}

/// Describes a failure of a connection.
pub(super) fn describe_io_error(error: &std::io::Error) -> String {
    let timeout = |error: &Error| matches!(error, Error::Timeout(_));
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    if inner.is_some_and(timeout) || error.kind() == std::io::ErrorKind::TimedOut {
        return "the server did not answer in time".into();
    }
    format!("the connection to the server failed: {error}")
}
