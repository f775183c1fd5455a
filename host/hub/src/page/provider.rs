//! Sign-in by a provider: the browser goes there and comes back with a code, which the hub exchanges
//! for the provider's token.
//!
//! A replica keeps nothing of a sign-in that is under way. The browser gets one secret in a cookie;
//! state, nonce and verifier are derived from it. So an answer counts only in the browser that
//! asked, at any replica, and only for ten minutes.

use super::provider_client::{CALLBACK, CallbackQuery};
use super::visit::{PageHandle, PageState, answer_failure, answer_refusal};
use crate::audit::{Act, Actor, Channel, NewEntry};
use crate::people::admit_provided;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::text::one_line;
use portcullis_served::answers::{send_page, with_cookie};
use portcullis_served::door::read_cookie;
use portcullis_served::frame::begin_page;
use portcullis_served::secrets::new_token;

/// The time for which a sign-in may take, in seconds.
const PATIENCE: u32 = 600;

impl PageState {
    const fn attempt_cookie(&self) -> &'static str {
        if self.is_secure { "__Host-portcullis-hub-attempt" } else { "portcullis-hub-attempt" }
    }

    /// Returns the text of the cookie of a sign-in that is under way. The provider's page sends the
    /// browser back, so it cannot be `Strict`.
    fn attempt_text(&self, secret: &str, seconds: u32) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = self.attempt_cookie();
        format!("{name}={secret}; HttpOnly; SameSite=Lax; Path=/; Max-Age={seconds}{secure}")
    }
}

/// Sends a browser to the provider.
pub async fn begin(State(state): PageHandle) -> Response {
    let Some(provider) = state.provider.clone() else { return no_provider() };
    let Ok(secret) = new_token() else { return no_provider() };
    let callback = format!("{}{CALLBACK}", state.door.origin);
    let cookie = state.attempt_text(&secret, PATIENCE);
    let begun = tokio::task::spawn_blocking(move || provider.begin(&secret, &callback)).await;
    match begun {
        Ok(Ok(address)) => with_cookie(Redirect::to(&address).into_response(), &cookie),
        Ok(Err(error)) => {
            crate::report_line(&one_line(&format!("{error:#}"), 1000));
            let said = "The provider does not answer as it should: the hub's log says more.";
            answer_refusal(StatusCode::BAD_GATEWAY, "You are not signed in", said)
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this\n").into_response(),
    }
}

/// Takes the browser's way back from the provider.
pub async fn finish(
    State(state): PageHandle,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Response {
    let Some(provider) = state.provider.clone() else { return no_provider() };
    let secret = read_cookie(&headers, state.attempt_cookie()).unwrap_or_default().to_owned();
    if secret.is_empty() {
        return refuse(&state, "no sign-in of this browser is under way").await;
    }
    let callback = format!("{}{CALLBACK}", state.door.origin);
    let finished = tokio::task::spawn_blocking(move || provider.finish(&secret, &query, &callback));
    let person = match finished.await {
        Ok(Ok(person)) => person,
        Ok(Err(error)) => return refuse(&state, &format!("{error:#}")).await,
        Err(_) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this\n").into_response();
        }
    };
    match admit_provided(&state.hub.database, &state.audit, &person).await {
        Err(failure) => answer_failure(&failure),
        Ok(None) => refuse(&state, "an operator has disabled this person").await,
        Ok(Some(cookie)) => {
            let cookie = format!("{}={cookie}; {}", state.cookie_name(), state.cookie_attributes());
            with_cookie(with_cookie(lead_home(), &cookie), &state.attempt_text("", 0))
        }
    }
}

/// Returns a page that leads to the first one. A redirect would still count as coming from the
/// provider, and the browser would keep the new cookie back.
fn lead_home() -> Response {
    let mut page = begin_page("Signed in", false);
    page.put_template(
        "<body class=\"site\"><main><meta http-equiv=\"refresh\" content=\"0; url=/\">\
         <h1>Signed in</h1><p><a href=\"/\">Machines</a></p></main></body></html>\n",
        &[],
    );
    send_page(StatusCode::OK, &page)
}

fn no_provider() -> Response {
    let said = "This hub has no provider: ask its operator for a link.";
    answer_refusal(StatusCode::NOT_FOUND, "You are not signed in", said)
}

/// Refuses an answer, with an entry in the audit. Beyond a bound there is none, so nobody fills it.
async fn refuse(state: &PageState, reason: &str) -> Response {
    if state.guesses.are_too_many() {
        return (StatusCode::TOO_MANY_REQUESTS, "too many sign-ins failed: wait a minute\n")
            .into_response();
    }
    state.guesses.note_failure();
    let nobody = Actor { name: String::new(), channel: Channel::Page };
    let entry = NewEntry::of_act(Act::RefuseSignIn, "").with_detail("reason", reason);
    match state.audit.record_act(&state.hub.database, &nobody, entry).await {
        Ok(()) => {
            let said = "The answer of the provider does not sign you in. The hub's audit says why.";
            answer_refusal(StatusCode::FORBIDDEN, "You are not signed in", said)
        }
        Err(failure) => answer_failure(&failure),
    }
}
