//! The checks of each request (`portcullis_served::door`), and the visitor whom its cookie names.

use crate::collector::{self, Collector};
use crate::limited_listener::ConnectionOwner;
use crate::shared::{SharedPage, SignedIn};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use portcullis_served::door::{add_headers, read_cookie};
use std::sync::Arc;

/// The name of the cookie. A page on another port of `localhost` does not get it: the host differs.
pub(crate) const COOKIE: &str = "portcullis";

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
    let objection = match collects {
        true => None,
        false => shared.door.find_objection(request.method(), request.headers()),
    };
    let mut response = match objection {
        Some((status, what)) => (status, what).into_response(),
        None => {
            let cookie = read_cookie(request.headers(), COOKIE);
            if let Some(signed_in) = cookie.and_then(|cookie| shared.find_guest(cookie, owner)) {
                request.extensions_mut().insert::<SignedIn>(signed_in);
            }
            next.run(request).await
        }
    };
    add_headers(response.headers_mut());
    response
}
