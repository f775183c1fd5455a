//! Sends one request to a named host, and returns its answer, or the reason for a missing one.
//!
//! A name is looked up once, its addresses are checked (`address`), and the connection goes to one
//! of exactly those: a name that resolves differently the next moment changes nothing. There is no
//! proxy, no cookie, no redirect that is followed, no connection that is reused: each request is
//! independent. The caller waits no longer than its deadline, regardless of the network, since the
//! request runs on a thread of its own that is left behind if need be.
//!
//! The permission to use a host is not checked here (`wasi::granted` does that).

pub(crate) mod address;
mod problem;

pub(crate) use problem::HttpError;

use crate::grants::{Host, Target};
use portcullis_network::client_settings;
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::http::{self, HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, AsSendBody, Body};

/// The most bytes of an answer's body: a guest reads them into 64 MiB of memory, and each costs it
/// fuel.
pub(crate) const ANSWER_BYTES: u64 = 256 << 10;
/// The most bytes of an answer's status and headers; at most 128 headers are accepted.
const HEAD_BYTES: usize = 16 << 10;
/// The size of the client's own buffers: the bytes that it reads from a socket at a time.
const BUFFER_BYTES: usize = 32 << 10;

/// Resolves names.
pub trait NameResolver: Send + Sync {
    /// Returns all addresses of a name. May take its time: the caller does not wait for ever.
    ///
    /// # Errors
    /// Fails if there are none, or if no name server could be reached.
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves no name: only addresses can be reached.
struct NoNames;

impl NameResolver for NoNames {
    fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The way in which requests leave the machine: the name resolver and the trusted certificates.
#[derive(Clone)]
pub struct Web {
    names: Arc<dyn NameResolver>,
    roots: RootCerts,
}

impl Default for Web {
    /// Returns a client that resolves no names.
    fn default() -> Self {
        Self::new(Arc::new(NoNames))
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").finish_non_exhaustive()
    }
}

impl Web {
    /// Returns a client that resolves names with `names` and trusts Mozilla's list of authorities.
    /// The list is in the program, so that neither a variable nor a file, which an agent could
    /// write, adds an authority.
    #[must_use]
    pub fn new(names: Arc<dyn NameResolver>) -> Self {
        Self { names, roots: RootCerts::WebPki }
    }

    /// Trusts these authorities alone (certificates in DER).
    #[must_use]
    pub fn trusting_authorities(self, authorities: &[Vec<u8>]) -> Self {
        let certificates: Vec<_> =
            authorities.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        Self { roots: RootCerts::Specific(Arc::new(certificates)), ..self }
    }
}

/// A request; the caller has checked everything that only the server cannot judge.
#[derive(Debug)]
pub(crate) struct WebRequest {
    pub(crate) host: Host,
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) patience: Timeouts,
}

/// The timeouts that a guest asks for; values above the host's own limit have no effect.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    pub(crate) connect: Option<Duration>,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) between_bytes: Option<Duration>,
}

/// An answer, with its whole body.
#[derive(Debug)]
pub(crate) struct WebAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Web {
    /// Sends a request and waits for its answer, until `until` at most. `begin` is called when all
    /// is known about the request's way and before anything of it leaves; it can still stop it.
    pub(crate) async fn send(
        &self,
        request: WebRequest,
        until: Instant,
        begin: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<WebAnswer, HttpError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(HttpError::TIMEOUT);
        }
        // The client times out a little before its caller, so that the client can report what it
        // was waiting for.
        let patient = until.checked_sub(left / 10).unwrap_or(until);
        let (answers, answer) = tokio::sync::oneshot::channel();
        let web = self.clone();
        let exchange = move || drop(answers.send(web.exchange(&request, patient, begin)));
        // A thread of its own: it is left behind if the name service or the client do not return.
        std::thread::Builder::new()
            .name("portcullis-web".into())
            .spawn(exchange)
            .map_err(|_| HttpError::INTERNAL)?;
        match tokio::time::timeout_at(until.into(), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_no_answer)) => Err(HttpError::INTERNAL),
            Err(_late) => Err(HttpError::TIMEOUT),
        }
    }

    fn exchange(
        &self,
        request: &WebRequest,
        until: Instant,
        begin: impl FnOnce() -> bool,
    ) -> Result<WebAnswer, HttpError> {
        let addresses = self.addresses(&request.host)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(HttpError::NO_NAME_IN_TIME);
        }
        if !begin() {
            return Err(HttpError::TIMEOUT);
        }
        let agent = Agent::with_parts(
            self.config(request, left),
            DefaultConnector::default(),
            ResolvedAddresses(addresses),
        );
        let bodiless =
            request.body.is_empty() && !matches!(request.method, "POST" | "PUT" | "PATCH");
        let answer = if bodiless {
            agent.run(head(request, ())?)
        } else {
            agent.run(head(request, request.body.as_slice())?)
        };
        read(answer?)
    }

    /// Returns the addresses of a host that a request may go to.
    fn addresses(&self, host: &Host) -> Result<Vec<SocketAddr>, HttpError> {
        let port = host.origin.port;
        let name = match &host.origin.target {
            // The operator granted this very address, so it may be private.
            Target::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
            Target::Name(name) => name,
        };
        let mut addresses = self.names.addresses(name).map_err(|_| HttpError::NO_NAME)?;
        if addresses.is_empty() {
            return Err(HttpError::NO_NAME);
        }
        addresses.retain(|found| match host.within {
            Some(network) => network.holds(*found),
            None => address::is_public(*found),
        });
        match (addresses.is_empty(), host.within) {
            (false, _) => {
                Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
            }
            (true, Some(_)) => Err(HttpError::ELSEWHERE),
            (true, None) => Err(HttpError::PRIVATE),
        }
    }

    fn config(&self, request: &WebRequest, left: Duration) -> Config {
        let Timeouts { connect, first_byte, between_bytes } = request.patience;
        client_settings()
            // The client adds no header that the plugin did not set.
            .user_agent("")
            .max_idle_connections(0)
            .max_response_header_size(HEAD_BYTES)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            .timeout_global(Some(left))
            .timeout_connect(connect)
            .timeout_recv_response(first_byte)
            .timeout_per_read(between_bytes)
            .tls_config(TlsConfig::builder().root_certs(self.roots.clone()).build())
            .build()
    }
}

/// Resolves to the addresses that were looked up and checked before.
#[derive(Debug)]
struct ResolvedAddresses(Vec<SocketAddr>);

impl Resolver for ResolvedAddresses {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        // The list has room for 16.
        self.0.iter().take(16).for_each(|address| addresses.push(*address));
        Ok(addresses)
    }
}

fn head<B: AsSendBody>(request: &WebRequest, body: B) -> Result<http::Request<B>, HttpError> {
    let uri = format!("{}{}", request.host.origin, request.path);
    let uri: Uri = uri.parse().map_err(|_| HttpError::BAD_URI)?;
    let mut made = http::Request::builder()
        .method(request.method)
        .uri(uri)
        .body(body)
        .map_err(|_| HttpError::BAD_URI)?;
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpError::PROTOCOL)?;
        let value = HeaderValue::from_bytes(value).map_err(|_| HttpError::PROTOCOL)?;
        made.headers_mut().append(name, value);
    }
    Ok(made)
}

fn read(answer: http::Response<Body>) -> Result<WebAnswer, HttpError> {
    let (head, body) = answer.into_parts();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    let mut bytes = Vec::new();
    body.into_reader().take(ANSWER_BYTES + 1).read_to_end(&mut bytes).map_err(ureq::Error::from)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > ANSWER_BYTES {
        return Err(HttpError::LONG_ANSWER);
    }
    Ok(WebAnswer { status: head.status.as_u16(), headers, body: bytes })
}
