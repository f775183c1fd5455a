//! Checks of each request, before any page sees it, and the headers of each answer.
//!
//! A page of another site that a person's browser shows can send requests here, and after DNS
//! rebinding it can even read the answers. Such requests name another host or another origin. A
//! program on this machine can name any host: it lacks the cookie.

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};

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

/// The only names under which a page is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// The value of the header `Host`: a name, and a port unless it is the scheme's own.
    pub host: String,
    /// The value of `Origin` whose forms count.
    pub origin: String,
}

impl Door {
    /// Returns the reason for refusing a request, whoever sent it.
    #[must_use]
    pub fn find_objection(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<(StatusCode, &'static str)> {
        let only = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
        };
        if only(header::HOST) != Some(self.host.as_str()) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "this page has another name\n"));
        }
        if matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        if *method != Method::POST {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "only GET and POST\n"));
        }
        if only(header::ORIGIN) != Some(self.origin.as_str()) {
            return Some((StatusCode::FORBIDDEN, "a form of another page\n"));
        }
        let from = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if from.is_some_and(|from| from != b"same-origin") {
            return Some((StatusCode::FORBIDDEN, "a form of another site\n"));
        }
        None
    }
}

/// Adds the headers that each answer has.
pub fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in &HEADERS {
        headers.insert(name.clone(), HeaderValue::from_static(value));
    }
}

/// Returns the value of the cookie of that name; `None` if there is none, or several.
#[must_use]
pub fn read_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut found = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}
