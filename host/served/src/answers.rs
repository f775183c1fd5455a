//! Pages, style and script as answers.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use portcullis_page::{Html, STYLE};

const OWN_STYLE: &str = include_str!("assets/site.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// Returns a page.
#[must_use]
pub fn send_page(status: StatusCode, page: &Html) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    let text = format!("<!doctype html>\n{}", page.as_str());
    (status, [(header::CONTENT_TYPE, kind)], Body::from(text)).into_response()
}

/// Returns the style of all pages.
#[must_use]
pub fn send_style() -> Response {
    send_asset("text/css; charset=utf-8", format!("{STYLE}\n{OWN_STYLE}"))
}

/// Returns the script of all pages.
#[must_use]
pub fn send_script() -> Response {
    send_asset("text/javascript; charset=utf-8", SCRIPT.to_owned())
}

/// Adds a cookie to an answer.
#[must_use]
pub fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

fn send_asset(kind: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], Body::from(text)).into_response()
}
