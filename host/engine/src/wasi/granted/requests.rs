//! Requests to granted hosts: `wasmtime-wasi-http`, whose requests leave through `web`.
//!
//! A request is checked when it is handed over and sent while the guest waits for its answer, which
//! then takes no longer than `LONGEST`, or the rest of the plugin's part of the review. A request
//! whose answer nobody waits for is not sent. No plugin handles incoming requests.

use super::ledger::SharedLedger;
use crate::grants::{Grants, MOST_HOSTS, RequestOrigin};
use crate::web::{HttpError, Timeouts, Web, WebAnswer, WebRequest};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use portcullis_core::plugins::Grant;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use ureq::http::{HeaderMap, HeaderName, Request, Response};
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

/// The most requests of one call. More would take too long: at a second each, they would
/// outlast the review.
const MOST: u32 = 4;
/// The most headers of a request; servers take about as many.
const MOST_HEADERS: usize = 64;
/// The most bytes of a request's body.
const UPLOAD_BYTES: usize = 64 << 10;
/// The most bytes that most guests write at a time.
const WRITE_BYTES: usize = 4 << 10;
/// The longest time that an answer may take, its body included: half of a review's time, so that
/// one slow server leaves time for the plugins that come after.
const LONGEST: Duration = Duration::from_secs(1);

/// The permitted methods. `CONNECT` opens a tunnel and `TRACE` echoes headers; methods of other
/// names are unknown and refused.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];

/// Headers that only the client sets: the destination of the request, the framing of its body, the
/// handling of the connection.
const FORBIDDEN: &[&str] = &[
    "connection",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What may be sent during a call, and how.
#[derive(Default)]
pub(crate) struct RequestTerms {
    pub(crate) grants: Arc<Grants>,
    pub(crate) web: Web,
    pub(crate) deadline: Option<Instant>,
}

/// The requests of one call.
#[derive(Default)]
pub(super) struct HostHooks {
    terms: RequestTerms,
    ledger: SharedLedger,
    /// The number of requests that the guest handed over to be sent.
    requests: u32,
}

impl HostHooks {
    pub(super) fn new(terms: RequestTerms, ledger: SharedLedger) -> Self {
        Self { terms, ledger, requests: 0 }
    }

    /// Takes a request over, if it may be sent.
    fn judge(
        &mut self,
        request: &Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Exchange, HttpError> {
        let uri = request.uri();
        let secure = uri.scheme_str() == Some("https");
        let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        let origin = RequestOrigin::of(secure, authority).ok_or(HttpError::BAD_URI)?;
        let method = request.method().as_str();
        let method =
            METHODS.iter().find(|known| **known == method).copied().ok_or(HttpError::METHOD)?;
        let what = format!("{method} {origin}");
        let named =
            self.terms.grants.hosts.iter().take(MOST_HOSTS).find(|host| host.origin == origin);
        let problem = match named {
            None => HttpError::NOT_NAMED,
            Some(_) if self.terms.grants.offline => HttpError::NOT_NOW,
            Some(_) if self.requests >= MOST => HttpError::TOO_MANY,
            Some(host) => {
                self.requests += 1;
                let path = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
                let request = WebRequest {
                    host: host.clone(),
                    method,
                    path: if path.starts_with('/') { path } else { format!("/{path}") },
                    headers: Vec::new(),
                    body: Vec::new(),
                    patience: Timeouts {
                        connect: options.connect_timeout,
                        first_byte: options.first_byte_timeout,
                        between_bytes: options.between_bytes_timeout,
                    },
                };
                let (web, ledger) = (self.terms.web.clone(), self.ledger.clone());
                return Ok(Exchange { request, what, web, ledger, deadline: self.terms.deadline });
            }
        };
        let why = problem.says.unwrap_or_default();
        self.ledger.lock().uses.refused(Grant::Hosts, &what, why);
        Err(problem)
    }
}

type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for HostHooks {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name: &HeaderName| FORBIDDEN.contains(&name.as_str()))
    }

    /// The client sets it, from the granted host.
    fn set_host_header(&mut self) -> bool {
        false
    }

    /// Room for the longest body, which some guests write before they hand the request over.
    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        UPLOAD_BYTES / WRITE_BYTES + 1
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        UPLOAD_BYTES
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let exchange = self.judge(&request, options.unwrap_or_default());
        Box::new(async move {
            let answer = exchange?.run(request).await?;
            Ok((answer, Box::new(std::future::ready(Ok(()))) as Box<_>))
        })
    }
}

/// A request that was handed over.
struct Exchange {
    /// Without headers and body.
    request: WebRequest,
    /// Its description in the record.
    what: String,
    web: Web,
    ledger: SharedLedger,
    deadline: Option<Instant>,
}

impl Exchange {
    /// Sends a request once its body is complete; each byte costs fuel, and the exchange is
    /// recorded.
    async fn run(self, given: Request<WasiBody>) -> Result<Response<WasiBody>, HttpError> {
        let (head, body) = given.into_parts();
        let body = tokio::time::timeout(LONGEST, collect(body))
            .await
            .unwrap_or(Err(HttpError::UNFINISHED))?;
        let request = complete(self.request, &head.headers, body)?;
        let longest = Instant::now() + LONGEST;
        let until = self.deadline.map_or(longest, |deadline| deadline.min(longest));
        let (ledger, what, sent) = (self.ledger.clone(), self.what.clone(), request.body.len());
        let begun = Arc::new(AtomicBool::new(false));
        // From then on a part of it may be sent, whatever becomes of this call.
        let begin = {
            let begun = Arc::clone(&begun);
            move || {
                let mut ledger = ledger.lock();
                if !ledger.closed {
                    begun.store(true, Ordering::Relaxed);
                    ledger.uses.used(Grant::Hosts, &what, sent);
                    ledger.owe(sent);
                }
                !ledger.closed
            }
        };
        let result = self.web.send(request, until, begin).await;
        let mut ledger = self.ledger.lock();
        match result {
            Ok(answer) => {
                let fields = answer.headers.iter().map(|(name, value)| name.len() + value.len());
                ledger.uses.add_bytes(Grant::Hosts, &self.what, answer.body.len());
                ledger.owe(answer.body.len() + fields.sum::<usize>());
                response(answer)
            }
            Err(problem) => {
                if problem.refused {
                    let why = problem.says.unwrap_or_default();
                    ledger.uses.refused(Grant::Hosts, &self.what, why);
                } else if !begun.load(Ordering::Relaxed) {
                    ledger.uses.used(Grant::Hosts, &self.what, 0);
                }
                Err(problem)
            }
        }
    }
}

/// Returns the whole body of a request.
async fn collect(mut body: WasiBody) -> Result<Vec<u8>, HttpError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // The guest dropped it half-written.
        let frame = frame.map_err(|_| HttpError::UNFINISHED)?;
        let data = frame.into_data().map_err(|_trailers| HttpError::TRAILERS)?;
        if bytes.len().saturating_add(data.len()) > UPLOAD_BYTES {
            return Err(HttpError::LONG_REQUEST);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.to_vec())
}

/// Returns the request as it is sent: with no length but that of its body.
fn complete(
    request: WebRequest,
    headers: &HeaderMap,
    body: Vec<u8>,
) -> Result<WebRequest, HttpError> {
    if headers.len() > MOST_HEADERS {
        return Err(HttpError::MANY_HEADERS);
    }
    let length = body.len().to_string();
    let mut fields = Vec::new();
    for (name, value) in headers {
        match name.as_str() {
            "content-length" if value.as_bytes() != length.as_bytes() => {
                return Err(HttpError::OTHER_LENGTH);
            }
            "content-length" => {}
            name => fields.push((name.to_owned(), value.as_bytes().to_vec())),
        }
    }
    if !body.is_empty() && !matches!(request.method, "POST" | "PUT" | "PATCH") {
        return Err(HttpError::METHOD);
    }
    Ok(WebRequest { headers: fields, body, ..request })
}

fn response(answer: WebAnswer) -> Result<Response<WasiBody>, HttpError> {
    let body = Full::new(Bytes::from(answer.body)).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(body).map_err(|_| HttpError::PROTOCOL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime_wasi_http::FieldMap;

    /// Sets one header as a guest does.
    fn append(fields: &mut FieldMap, name: &str, value: &[u8]) -> Result<(), String> {
        let mut hooks = HostHooks::default();
        fields
            .append(&mut hooks, name.to_owned(), value.to_vec())
            .map(drop)
            .map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn takes_no_header_that_could_be_read_otherwise() {
        let long = "v".repeat(super::super::resources::HEADER_BYTES);
        let table: &[(&str, &str, &str)] = &[
            ("accept", "text/plain", ""),
            ("X-Key", "a b\tc", ""),
            ("x", "", ""),
            ("x", "ü", ""),
            ("authorization", "Bearer t", ""),
            ("content-length", "3", ""),
            ("", "x", "InvalidHeaderName"),
            ("a b", "x", "InvalidHeaderName"),
            ("a:", "x", "InvalidHeaderName"),
            ("ä", "x", "InvalidHeaderName"),
            ("a\r\nhost", "x", "InvalidHeaderName"),
            ("a", "x\r\nhost: y", "InvalidHeaderValue"),
            ("a", "x\ny", "InvalidHeaderValue"),
            ("a", "x\0y", "InvalidHeaderValue"),
            ("a", "x\u{7f}", "InvalidHeaderValue"),
            ("a", &long, "TotalSizeTooBig"),
            ("Host", "other", "Forbidden"),
            ("HOST", "other", "Forbidden"),
            ("connection", "close", "Forbidden"),
            ("Transfer-Encoding", "chunked", "Forbidden"),
            ("proxy-authorization", "x", "Forbidden"),
            ("expect", "100-continue", "Forbidden"),
        ];
        for (name, value, problem) in table {
            let mut fields = FieldMap::new_mutable(super::super::resources::HEADER_BYTES);
            let done = append(&mut fields, name, value.as_bytes());
            assert_eq!(done.err().unwrap_or_default(), *problem, "{name}: {value:?}");
            assert_eq!(fields.len(), usize::from(problem.is_empty()), "{name}: {value:?}");
        }
    }
}
