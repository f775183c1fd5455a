//! Requests for the pages beside sessions and approvals: one incident and its ways on,
//! checkpoints, metrics, health, rules, the configuration.

use crate::collector::{self, Collector};
use crate::health::ServiceHealth;
use crate::operate::{self, DecisionForm, RestoreForm};
use crate::pages;
use crate::respond::{
    MaybeSignedIn, Shared, admit_form, admit_proved_form, ask_passkey, carry_out, send_json, show,
};
use crate::shared::SharedPage;
use crate::trial::TrialForm;
use axum::Router;
use axum::extract::{Extension, Form, Query, State};
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use portcullis_review::metrics::render_prometheus;
use portcullis_served::Role;
use serde_json::json;
use std::sync::Arc;

/// The kind of a text for Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn routes() -> Router<Arc<SharedPage>> {
    Router::new()
        .route("/incident", get(show_incident))
        .route("/incident/rollback", get(show_rollback))
        .route("/incident/decide", post(decide_incident))
        .route("/incident/passkey", post(ask_passkey::<DecisionForm>))
        .route("/checkpoints", get(show_checkpoints))
        .route("/checkpoint", get(show_checkpoint))
        .route("/checkpoint/restore", post(restore_checkpoint))
        .route("/checkpoint/passkey", post(ask_passkey::<RestoreForm>))
        .route("/charts", get(show_charts))
        .route(collector::PATH, get(send_metrics))
        .route("/health", get(send_health))
        .route("/rules", get(show_rules).post(try_rules))
        .route("/configuration", get(show_configuration))
}

async fn show_incident(
    signed_in: MaybeSignedIn,
    Query(query): Query<pages::incident::IncidentQuery>,
) -> Response {
    show(signed_in, move |site, reading, visitor| {
        pages::incident::compose(reading, visitor, &site.approvers()?, &query)
    })
    .await
}

async fn show_rollback(
    signed_in: MaybeSignedIn,
    Query(query): Query<pages::incident::IncidentQuery>,
) -> Response {
    show(signed_in, move |site, reading, visitor| {
        pages::rollback::compose(site, reading, visitor, &query)
    })
    .await
}

async fn decide_incident(signed_in: MaybeSignedIn, Form(form): Form<DecisionForm>) -> Response {
    let site = match admit_proved_form(signed_in, &form) {
        Ok(site) => site,
        Err(refused) => return *refused,
    };
    carry_out(move || operate::decide_incident(&site, &form)).await
}

async fn show_checkpoints(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |site, reading, _| pages::checkpoints::compose(site, reading)).await
}

async fn show_checkpoint(
    signed_in: MaybeSignedIn,
    Query(query): Query<pages::checkpoint::CheckpointQuery>,
) -> Response {
    show(signed_in, move |site, reading, visitor| {
        pages::checkpoint::compose(site, reading, visitor, &query)
    })
    .await
}

async fn restore_checkpoint(signed_in: MaybeSignedIn, Form(form): Form<RestoreForm>) -> Response {
    let site = match admit_proved_form(signed_in, &form) {
        Ok(site) => site,
        Err(refused) => return *refused,
    };
    carry_out(move || operate::restore_checkpoint(&site, &form)).await
}

async fn show_charts(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |site, reading, _| pages::charts::compose(site, reading)).await
}

/// Sends the totals in the text format of Prometheus, to visitors and to whoever shows the token.
async fn send_metrics(
    State(shared): Shared,
    signed_in: MaybeSignedIn,
    collector: Option<Extension<Collector>>,
) -> Response {
    let of_visitor = signed_in.map(|Extension(signed_in)| signed_in.site);
    let of_collector = || collector.and_then(|_| shared.find_site(None).ok());
    let Some(site) = of_visitor.or_else(of_collector) else {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let text = "the token of `serve --metrics-token-file` is needed, or a sign-in\n";
        return (StatusCode::UNAUTHORIZED, challenge, text).into_response();
    };
    let count = move || site.count_metrics(&site.open()?, render_prometheus);
    match tokio::task::spawn_blocking(count).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, PROMETHEUS)], text).into_response(),
        Ok(Err(error)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response()
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this\n").into_response(),
    }
}

/// Says whether the service can review, to anybody who reaches the port.
async fn send_health(State(shared): Shared) -> Response {
    let ServiceHealth { obstacle, held_back } = shared.health.look_at_service().await;
    let (status, body) = match obstacle {
        None => (StatusCode::OK, json!({ "status": "ok", "held_back": held_back })),
        Some(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "unable", "reason": reason }))
        }
    };
    (status, send_json(format!("{body}\n"))).into_response()
}

async fn show_rules(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |site, reading, visitor| pages::rules::compose(site, reading, visitor, None))
        .await
}

async fn try_rules(signed_in: MaybeSignedIn, Form(form): Form<TrialForm>) -> Response {
    if let Err(refused) = admit_form(signed_in.clone(), &form.token, Role::Viewer) {
        return *refused;
    }
    show(signed_in, move |site, reading, visitor| {
        pages::rules::compose(site, reading, visitor, Some(&form))
    })
    .await
}

async fn show_configuration(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |site, reading, _| pages::configuration::compose(site, reading)).await
}
