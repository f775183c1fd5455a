//! The addresses of the page, and the checks of each request.

use super::provider_client::CALLBACK;
use super::visit::{PageHandle, PageState, answer_failure};
use super::{answers, approvals, audit, feedback, findings, incidents, live, machine, machines};
use super::{passkeys, people, plugins, provider, record, search, session, sign_in};
use crate::failure::Failure;
use crate::people::find_visitor;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use portcullis_served::answers::{send_script, send_style};
use portcullis_served::door::{add_headers, read_cookie};
use std::sync::Arc;
use std::time::Duration;

/// The largest form, in bytes.
const MOST_FORM: usize = 16 << 10;
/// The time for a request with its form, its database and its answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Returns all addresses of the page.
pub fn build_routes(state: Arc<PageState>) -> Router {
    Router::new()
        .route("/", get(machines::show_machines))
        .route("/machine", get(machine::show_machine))
        .route("/session", get(session::show_session))
        .route("/search", get(search::show_search))
        .route("/findings", get(findings::show_findings).post(feedback::mark_one_finding))
        .route("/record", get(record::show_record).post(record::mark))
        .route("/feedback", get(feedback::show_feedback))
        .route("/proposal", get(feedback::show_proposal).post(feedback::propose))
        .route("/incidents", get(incidents::show_incidents))
        .route("/incidents/settle", post(incidents::settle))
        .route("/approvals", get(approvals::show_approvals))
        .route("/approvals/passkey", post(answers::begin_answer))
        .route("/approvals/answer", post(answers::take_form))
        .route("/passkeys", get(passkeys::show_passkeys).post(passkeys::add_passkey))
        .route("/passkeys/begin", post(passkeys::begin_passkey))
        .route("/passkeys/prove", post(passkeys::prove_passkey))
        .route("/passkeys/remove", post(passkeys::remove))
        .route("/plugins", get(plugins::show_plugins))
        .route("/people", get(people::show_people).post(people::change))
        .route("/audit", get(audit::show_audit))
        .route("/live", get(live::send_changes))
        .route("/sign-in", get(sign_in::show_sign_in).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/oidc/begin", get(provider::begin))
        .route(CALLBACK, get(provider::finish))
        .route("/health", get(async || "ok\n"))
        // A browser asks for it by itself.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route("/style.css", get(async || send_style()))
        .route("/page.js", get(async || send_script()))
        .fallback(async || (StatusCode::NOT_FOUND, "there is no such page\n"))
        .layer(DefaultBodyLimit::max(MOST_FORM))
        .layer(from_fn_with_state(Arc::clone(&state), guard_request))
        .with_state(state)
}

/// Refuses what does not come from this page, finds the visitor, and adds the headers.
async fn guard_request(State(state): PageHandle, mut request: Request, next: Next) -> Response {
    let objection = state.door.find_objection(request.method(), request.headers());
    let mut response = match objection {
        Some((status, what)) => (status, what).into_response(),
        None => {
            let answered = async {
                let cookie = read_cookie(request.headers(), state.cookie_name());
                if let Some(cookie) = cookie
                    && let Some(visitor) = find_visitor(&state.hub.database, cookie).await?
                {
                    request.extensions_mut().insert(visitor);
                }
                Ok(next.run(request).await)
            };
            match tokio::time::timeout(DEADLINE, answered).await {
                Ok(Ok(response)) => response,
                Ok(Err(failure)) => answer_failure(&failure),
                Err(_) => answer_failure(&Failure::busy("the request took too long")),
            }
        }
    };
    add_headers(response.headers_mut());
    response
}
