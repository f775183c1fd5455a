//! Answers to requests of all pages: a page for a visitor, and the check of a form.

use crate::access::Visitor;
use crate::pages::{self, Frame};
use crate::shared::{SharedPage, SignedIn};
use crate::site::{ProvedForm, Reading, Site};
use anyhow::Result;
use axum::body::Body;
use axum::extract::{Extension, Form, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_served::Role;
pub(crate) use portcullis_served::answers::send_page;
use std::sync::Arc;

pub(crate) type Shared = State<Arc<SharedPage>>;
/// The visitor with what the cookie opens, if a cookie named one.
pub(crate) type MaybeSignedIn = Option<Extension<SignedIn>>;

/// Composes a page from what the visitor's home holds.
pub(crate) async fn show(
    signed_in: MaybeSignedIn,
    compose: impl FnOnce(&Site, &Reading, &Visitor) -> Result<Frame> + Send + 'static,
) -> Response {
    let Some(Extension(SignedIn { visitor, site })) = signed_in else {
        return Redirect::to("/sign-in").into_response();
    };
    let read = move || {
        let reading = site.open()?;
        let frame = compose(&site, &reading, &visitor)?;
        pages::whole_page(&reading, &visitor, &frame)
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(page)) => send_page(StatusCode::OK, &page),
        Ok(Err(error)) => send_page(StatusCode::INTERNAL_SERVER_ERROR, &pages::error_page(&error)),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this page\n").into_response(),
    }
}

/// Checks who sends a form, and that it is one of this page; returns the home that it is about.
///
/// # Errors
/// Fails with the answer to somebody who may not send it.
pub(crate) fn admit_form(
    signed_in: MaybeSignedIn,
    token: &str,
    least: Role,
) -> Result<Arc<Site>, Box<Response>> {
    let Some(Extension(SignedIn { visitor, site })) = signed_in else {
        return Err(Redirect::to("/sign-in").into_response().into());
    };
    if token != visitor.form_token {
        let text = "this form is not of this page: load it again\n";
        return Err((StatusCode::FORBIDDEN, text).into_response().into());
    }
    if visitor.role < least {
        let text = format!("only an {} may do this\n", least.as_str());
        return Err((StatusCode::FORBIDDEN, text).into_response().into());
    }
    Ok(site)
}

/// Checks a form that needs a proof like [`admit_form`]; the proof itself is checked later.
///
/// # Errors
/// Fails like it.
pub(crate) fn admit_proved_form<F: ProvedForm>(
    signed_in: MaybeSignedIn,
    form: &F,
) -> Result<Arc<Site>, Box<Response>> {
    admit_form(signed_in, form.token(), F::LEAST)
}

/// Carries out what a form asks for, and leads to the page that says what became of it.
pub(crate) async fn carry_out(act: impl FnOnce() -> Result<String> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(act).await {
        Ok(Ok(path)) => Redirect::to(&path).into_response(),
        Ok(Err(error)) => send_page(StatusCode::CONFLICT, &pages::error_page(&error)),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this\n").into_response(),
    }
}

/// Sends the options with which the browser lets a passkey sign this very form.
pub(crate) async fn ask_passkey<F: ProvedForm>(
    signed_in: MaybeSignedIn,
    Form(form): Form<F>,
) -> Response {
    let site = match admit_proved_form(signed_in, &form) {
        Ok(site) => site,
        Err(refused) => return *refused,
    };
    match site.prover.begin_passkey(site.domain(), form.purpose()) {
        Ok(options) => send_json(options),
        Err(error) => send_page(StatusCode::CONFLICT, &pages::error_page(&error)),
    }
}

pub(crate) fn send_json(text: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], Body::from(text)).into_response()
}
