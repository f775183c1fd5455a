//! Requests for the pages beside sessions and approvals: one incident and its ways on,
//! checkpoints.

use crate::access::Role;
use crate::operate::{self, DecisionForm, RestoreForm};
use crate::pages;
use crate::respond::{MaybeVisitor, Shared, admit_form, ask_passkey, carry_out, show};
use crate::site::Site;
use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use std::sync::Arc;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/incident", get(show_incident))
        .route("/incident/rollback", get(show_rollback))
        .route("/incident/decide", post(decide_incident))
        .route("/incident/passkey", post(ask_passkey_to_decide))
        .route("/checkpoints", get(show_checkpoints))
        .route("/checkpoint", get(show_checkpoint))
        .route("/checkpoint/restore", post(restore_checkpoint))
        .route("/checkpoint/passkey", post(ask_passkey_to_restore))
}

async fn show_incident(
    State(site): Shared,
    visitor: MaybeVisitor,
    Query(query): Query<pages::incident::IncidentQuery>,
) -> Response {
    show(site, visitor, move |site, reading, visitor| {
        pages::incident::compose(reading, visitor, &site.approvers()?, &query)
    })
    .await
}

async fn show_rollback(
    State(site): Shared,
    visitor: MaybeVisitor,
    Query(query): Query<pages::incident::IncidentQuery>,
) -> Response {
    show(site, visitor, move |site, reading, visitor| {
        pages::rollback::compose(site, reading, visitor, &query)
    })
    .await
}

async fn decide_incident(
    State(site): Shared,
    visitor: MaybeVisitor,
    Form(form): Form<DecisionForm>,
) -> Response {
    if let Err(refused) = admit_form(visitor, &form.token, Role::Operator) {
        return refused;
    }
    carry_out(move || operate::decide_incident(&site, &form)).await
}

async fn ask_passkey_to_decide(
    State(site): Shared,
    visitor: MaybeVisitor,
    Form(form): Form<DecisionForm>,
) -> Response {
    match admit_form(visitor, &form.token, Role::Operator) {
        Ok(()) => ask_passkey(&site, &form),
        Err(refused) => refused,
    }
}

async fn ask_passkey_to_restore(
    State(site): Shared,
    visitor: MaybeVisitor,
    Form(form): Form<RestoreForm>,
) -> Response {
    match admit_form(visitor, &form.token, Role::Operator) {
        Ok(()) => ask_passkey(&site, &form),
        Err(refused) => refused,
    }
}

async fn show_checkpoints(State(site): Shared, visitor: MaybeVisitor) -> Response {
    show(site, visitor, |site, reading, _| pages::checkpoints::compose(site, reading)).await
}

async fn show_checkpoint(
    State(site): Shared,
    visitor: MaybeVisitor,
    Query(query): Query<pages::checkpoint::CheckpointQuery>,
) -> Response {
    show(site, visitor, move |site, reading, visitor| {
        pages::checkpoint::compose(site, reading, visitor, &query)
    })
    .await
}

async fn restore_checkpoint(
    State(site): Shared,
    visitor: MaybeVisitor,
    Form(form): Form<RestoreForm>,
) -> Response {
    if let Err(refused) = admit_form(visitor, &form.token, Role::Operator) {
        return refused;
    }
    carry_out(move || operate::restore_checkpoint(&site, &form)).await
}
