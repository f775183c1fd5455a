//! Signs browsers in with the code of a link, and out again.

use super::visit::{PageHandle, PageState, SignedIn, answer_failure};
use crate::audit::{Act, Actor, Channel, NewEntry};
use crate::people::{end_session, redeem_link};
use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::answers::{send_page, with_cookie};
use portcullis_served::door::read_cookie;
use portcullis_served::frame::begin_page;
use portcullis_served::parts::add_notice;
use serde::Deserialize;

/// The query of the page.
#[derive(Deserialize)]
pub struct SignInQuery {
    #[serde(default)]
    said: String,
}

/// The form with the code of a link.
#[derive(Deserialize)]
pub struct SignInForm {
    code: String,
}

/// The form that signs out.
#[derive(Deserialize)]
pub struct SignOutForm {
    token: String,
}

/// Shows the page on which a browser gives the code of its link.
pub async fn show_sign_in(State(state): PageHandle, Query(query): Query<SignInQuery>) -> Response {
    let mut page = begin_page("Sign in", false);
    page.put_template(
        "<body class=\"site\"><main id=\"main\"><p class=\"brand\">Portcullis hub</p><h1>Sign in</h1>",
        &[],
    );
    add_said(&mut page, &query.said);
    if state.provider.is_some() {
        page.put_template(
            "<p><a class=\"main\" href=\"/oidc/begin\">Sign in by your organisation's provider</a></p>",
            &[],
        );
    }
    page.put_template(
        "<p>Where the hub's folder is, <code>portcullis hub user link NAME</code> prints a link that \
         works once, within minutes. Open it here, or type what stands behind its <code>#</code>.</p>\
         <form id=\"sign-in\" class=\"answer\" method=\"post\" action=\"/sign-in\"><label>Code\
         <input name=\"code\" required autocomplete=\"off\" spellcheck=\"false\"></label>\
         <button class=\"main\">Sign in</button></form></main></body></html>\n",
        &[],
    );
    send_page(StatusCode::OK, &page)
}

fn add_said(page: &mut Html, said: &str) {
    match said {
        "unknown" => add_notice(
            page,
            false,
            "This code was used, is too old, or never was. Ask for another link.",
        ),
        "out" => add_notice(page, true, "You are signed out."),
        _ => {}
    }
}

/// Takes the code of a link.
pub async fn sign_in(State(state): PageHandle, Form(form): Form<SignInForm>) -> Response {
    let redeemed = redeem_link(&state.hub.database, &state.audit, form.code.trim()).await;
    match redeemed {
        Ok(Some(cookie)) => {
            let cookie = format!("{}={cookie}; {}", state.cookie_name(), state.cookie_attributes());
            with_cookie(Redirect::to("/").into_response(), &cookie)
        }
        Ok(None) => refuse_guess(&state).await,
        Err(failure) => answer_failure(&failure),
    }
}

/// Refuses a code, and counts it. A right one counts all the same: nobody can guess it, and whoever
/// tries must not keep others out. Beyond the bound the audit gets no entry, so nobody fills it.
async fn refuse_guess(state: &PageState) -> Response {
    if state.guesses.are_too_many() {
        return (StatusCode::TOO_MANY_REQUESTS, "too many codes were wrong: wait a minute\n")
            .into_response();
    }
    state.guesses.note_failure();
    let nobody = Actor { name: String::new(), channel: Channel::Page };
    let entry = NewEntry::of_act(Act::RefuseSignIn, "").with_detail("reason", "an unknown code");
    match state.audit.record_act(&state.hub.database, &nobody, entry).await {
        Ok(()) => Redirect::to("/sign-in?said=unknown").into_response(),
        Err(failure) => answer_failure(&failure),
    }
}

/// Signs the browser out.
pub async fn sign_out(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    headers: HeaderMap,
    Form(form): Form<SignOutForm>,
) -> Response {
    if let Err(refused) = state.admit_form(&visitor, &form.token, Role::Viewer, "/sign-out").await {
        return *refused;
    }
    if let Some(cookie) = read_cookie(&headers, state.cookie_name())
        && let Err(failure) = end_session(&state.hub.database, &state.audit, &visitor, cookie).await
    {
        return answer_failure(&failure);
    }
    let ended = format!("{}=; {}; Max-Age=0", state.cookie_name(), state.cookie_attributes());
    with_cookie(Redirect::to("/sign-in?said=out").into_response(), &ended)
}
