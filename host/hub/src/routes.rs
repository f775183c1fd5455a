//! The addresses of a hub (`portcullis_fleet::protocol` lists them), and the bounds of a request.
//!
//! Each request has a deadline that is shorter than a machine's patience: one that a machine has
//! given up is never written after the machine's next.

use crate::approvals::answer_approvals;
use crate::approvals::approvers::{list_questions, take_answer};
use crate::failure::{Failure, json_response};
use crate::ingest::take_batch;
use crate::machines::{
    KnownMachine, join_machine, leave_fleet, list_heads, recognise_machine, renew_certificate,
};
use crate::orders::answer_orders;
use crate::protection::take_protection;
use crate::service::Hub;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use portcullis_fleet::protocol::{Authority, LONGEST_WAIT, MOST_BODY, RefusalKind};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_stream::StreamExt as _;

/// The time for a request with its body, its database and its answer.
const DEADLINE: Duration = Duration::from_secs(30);
/// The time for a body alone: a slow one must not hold a place for longer.
const BODY_DEADLINE: Duration = Duration::from_secs(15);
/// The requests whose bodies one replica holds at once. More are asked to come again.
const MOST_AT_ONCE: usize = 32;

/// The digest of the certificate that a connection showed; none if it showed none.
#[derive(Clone, Copy, Debug)]
pub struct PeerCertificate(pub Option<[u8; 32]>);

type HubState = State<Arc<Hub>>;
type Answer = Result<Response, Failure>;

/// Returns all addresses of a hub.
pub fn build_routes(hub: Arc<Hub>) -> Router {
    let bounds = RequestBounds::new(MOST_AT_ONCE, DEADLINE, "the hub has too many requests");
    // Those that are held leave room for those that send.
    let most_held = hub.machine_connections - hub.machine_connections / 4;
    let held_bounds =
        RequestBounds::new(most_held, LONGEST_WAIT + DEADLINE, "the hub holds too many requests");
    let held = Router::new()
        .route("/v1/orders", post(answer_orders_request))
        .route("/v1/approvals", post(answer_approvals_request))
        .layer(from_fn_with_state(held_bounds, limit_requests));
    Router::new()
        .route("/v1/join", post(answer_join))
        .route("/v1/renew", post(answer_renew))
        .route("/v1/records", post(answer_records))
        .route("/v1/heads", get(answer_heads))
        .route("/v1/protection", post(answer_protection))
        .route("/v1/leave", post(answer_leave))
        .route("/v1/approver/questions", post(answer_approver_list))
        .route("/v1/approver/answers", post(answer_approver_answer))
        .layer(from_fn_with_state(bounds, limit_requests))
        .merge(held)
        .route("/v1/authority", get(answer_authority))
        .route("/health", get(answer_health))
        .fallback(answer_nothing)
        .with_state(hub)
}

/// The bounds of requests of one kind.
#[derive(Clone)]
struct RequestBounds {
    /// A place for each request at once.
    places: Arc<Semaphore>,
    /// The time for each of them.
    deadline: Duration,
    /// The answer to a request that finds no free place.
    full: &'static str,
}

impl RequestBounds {
    fn new(most: usize, deadline: Duration, full: &'static str) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), deadline, full }
    }
}

/// Answers what finds no place, or takes too long, without the rest.
async fn limit_requests(
    State(bounds): State<RequestBounds>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(_place) = bounds.places.try_acquire() else {
        discard_body(request).await;
        return Failure::busy(bounds.full).into_response();
    };
    match tokio::time::timeout(bounds.deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Failure::busy("the request took too long").into_response(),
    }
}

async fn answer_authority(State(hub): HubState) -> Response {
    let authority = Authority { certificate: hub.authority.pem().to_owned() };
    json_response(StatusCode::OK, &authority)
}

async fn answer_health(State(hub): HubState) -> Answer {
    hub.database.connect().await?.query_one("SELECT 1", &[]).await?;
    Ok(json_response(StatusCode::OK, &serde_json::json!({})))
}

async fn answer_nothing() -> Failure {
    Failure::refuse(RefusalKind::NotFound, "the hub has no such address")
}

async fn answer_join(State(hub): HubState, request: Request) -> Answer {
    let joining = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &join_machine(&hub, &joining).await?))
}

async fn answer_renew(
    State(hub): HubState,
    Extension(peer): Extension<PeerCertificate>,
    request: Request,
) -> Answer {
    let (machine, request) = recognise_sender(&hub, peer, request).await?;
    let renewing = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &renew_certificate(&hub, &machine, &renewing).await?))
}

async fn answer_records(
    State(hub): HubState,
    Extension(peer): Extension<PeerCertificate>,
    request: Request,
) -> Answer {
    let (machine, request) = recognise_sender(&hub, peer, request).await?;
    let batch = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &take_batch(&hub, &machine, &batch).await?))
}

async fn answer_heads(State(hub): HubState, Extension(peer): Extension<PeerCertificate>) -> Answer {
    let machine = recognise_machine(&hub, peer.0).await?;
    Ok(json_response(StatusCode::OK, &list_heads(&hub, &machine).await?))
}

async fn answer_orders_request(
    State(hub): HubState,
    Extension(peer): Extension<PeerCertificate>,
    request: Request,
) -> Answer {
    let (machine, request) = recognise_sender(&hub, peer, request).await?;
    let asked = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &answer_orders(&hub, &machine, &asked).await?))
}

async fn answer_protection(
    State(hub): HubState,
    Extension(peer): Extension<PeerCertificate>,
    request: Request,
) -> Answer {
    let (machine, request) = recognise_sender(&hub, peer, request).await?;
    take_protection(&hub.database, &machine, &read_body(request).await?).await?;
    Ok(json_response(StatusCode::OK, &serde_json::json!({})))
}

async fn answer_approvals_request(
    State(hub): HubState,
    Extension(peer): Extension<PeerCertificate>,
    request: Request,
) -> Answer {
    let (machine, request) = recognise_sender(&hub, peer, request).await?;
    let asked = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &answer_approvals(&hub, &machine, &asked).await?))
}

async fn answer_approver_list(State(hub): HubState, request: Request) -> Answer {
    let signed = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &list_questions(&hub, &signed).await?))
}

async fn answer_approver_answer(State(hub): HubState, request: Request) -> Answer {
    let signed = read_body(request).await?;
    Ok(json_response(StatusCode::OK, &take_answer(&hub, &signed).await?))
}

async fn answer_leave(State(hub): HubState, Extension(peer): Extension<PeerCertificate>) -> Answer {
    let machine = recognise_machine(&hub, peer.0).await?;
    Ok(json_response(StatusCode::OK, &leave_fleet(&hub, &machine).await?))
}

/// Returns the machine that sends a request, and the request.
async fn recognise_sender(
    hub: &Hub,
    peer: PeerCertificate,
    request: Request,
) -> Result<(KnownMachine, Request), Failure> {
    match recognise_machine(hub, peer.0).await {
        Ok(machine) => Ok((machine, request)),
        Err(failure) => {
            discard_body(request).await;
            Err(failure)
        }
    }
}

/// Reads the body of a request that is refused, up to the bounds of one that is not. A connection that
/// ends with unread bytes may take the answer with it: a machine would not hear when to come again, or
/// that it was revoked.
async fn discard_body(request: Request) {
    let reading = async {
        let mut parts = request.into_body().into_data_stream();
        let mut left = MOST_BODY;
        while let Some(Ok(part)) = parts.next().await
            && left > part.len()
        {
            left -= part.len();
        }
    };
    let _slow = tokio::time::timeout(BODY_DEADLINE, reading).await;
}

/// Reads a message: JSON in one piece, never more than a bound, never compressed.
async fn read_body<T: DeserializeOwned>(request: Request) -> Result<T, Failure> {
    let malformed = |reason: String| Failure::refuse(RefusalKind::Malformed, reason);
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        return Err(malformed("a compressed body is not taken".into()));
    }
    let too_large = || malformed(format!("the body has more than {MOST_BODY} bytes"));
    let stated = request.headers().get(header::CONTENT_LENGTH);
    let stated = stated.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if stated.is_some_and(|length| length > MOST_BODY) {
        return Err(too_large());
    }
    let reading = to_bytes(request.into_body(), MOST_BODY);
    let bytes = match tokio::time::timeout(BODY_DEADLINE, reading).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => return Err(malformed("the body came too slowly".into())),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| malformed(format!("the body is not understood: {error}")))
}
