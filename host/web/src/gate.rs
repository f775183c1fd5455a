//! Checks of each request, before any page sees it.
//!
//! A page of another site that a person's browser shows can send requests here, and after DNS
//! rebinding it can even read the answers. Such requests name another host or another origin. A
//! program on this machine can name any host: it lacks the cookie.

use crate::collector::{self, Collector};
use crate::limited_listener::ConnectionOwner;
use crate::shared::{SharedPage, SignedIn};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The name of the cookie. A page on another port of `localhost` does not get it: the host differs.
pub(crate) const COOKIE: &str = "portcullis";

/// The headers of each answer.
static HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With `no-referrer`, a browser sends `Origin: null` with our own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Refuses what does not come from this page, and adds the headers.
pub(crate) async fn guard_request(
    State(shared): State<Arc<SharedPage>>,
    ConnectInfo(owner): ConnectInfo<ConnectionOwner>,
    mut request: Request,
    next: Next,
) -> Response {
    // A program that collects metrics may know this machine by another name; a page of another site
    // does not know the token.
    let collects = request.method() == Method::GET
        && request.uri().path() == collector::PATH
        && shared.metrics_token.as_ref().is_some_and(|token| token.is_shown(request.headers()));
    if collects {
        request.extensions_mut().insert(Collector);
    }
    let objection = if collects { None } else { find_objection(&shared, &request) };
    let mut response = match objection {
        Some((status, what)) => (status, what).into_response(),
        None => {
            let cookie = read_cookie(request.headers());
            if let Some(signed_in) = cookie.and_then(|cookie| shared.find_guest(cookie, owner)) {
                request.extensions_mut().insert::<SignedIn>(signed_in);
            }
            next.run(request).await
        }
    };
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name.clone(), HeaderValue::from_static(value));
    }
    response
}

/// Returns the reason for refusing a request, whoever sent it.
fn find_objection(shared: &SharedPage, request: &Request) -> Option<(StatusCode, &'static str)> {
    let (method, headers) = (request.method(), request.headers());
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
    };
    if only(header::HOST) != Some(shared.host.as_str()) {
        return Some((StatusCode::MISDIRECTED_REQUEST, "this page has another name\n"));
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    if *method != Method::POST {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "only GET and POST\n"));
    }
    if only(header::ORIGIN) != Some(shared.origin.as_str()) {
        return Some((StatusCode::FORBIDDEN, "a form of another page\n"));
    }
    let from = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if from.is_some_and(|from| from != b"same-origin") {
        return Some((StatusCode::FORBIDDEN, "a form of another site\n"));
    }
    None
}

/// Returns the value of our cookie; `None` if there is none, or several.
pub(crate) fn read_cookie(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    ours.next().filter(|_| ours.next().is_none())
}
