//! Changes, for pages that are open: a replica looks at the database while one is, and tells the
//! browser to load the page again.

use super::visit::{PageHandle, PageState};
use crate::database::Database;
use crate::failure::Failure;
use crate::people::Visitor;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// The time between two looks, which is also the least between two events of one page.
const PERIOD: Duration = Duration::from_secs(1);
/// The time between two signs of life.
const PULSE: Duration = Duration::from_secs(15);
/// The time after which a browser has to ask again: roles and cookies are read then.
const LIFE: Duration = Duration::from_secs(300);
/// The most events that one browser has not taken yet.
const MOST_EVENTS: usize = 1;

/// The subjects of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// Records have arrived, or a machine has joined.
    Records,
    /// Something waits for an approver, or was answered.
    Approvals,
    /// An incident came, or was settled.
    Incidents,
}

impl Topic {
    /// Returns the address of its events.
    pub const fn address(self) -> &'static str {
        match self {
            Self::Records => "/live?of=records",
            Self::Approvals => "/live?of=approvals",
            Self::Incidents => "/live?of=incidents",
        }
    }
}

/// The marks of the newest state of each topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marks {
    records: String,
    approvals: String,
    incidents: String,
}

impl Marks {
    /// Returns a short mark of a topic; none until somebody has looked. What waits is in the
    /// navigation of every page.
    fn of_topic(&self, topic: Topic) -> Option<String> {
        let Self { records, approvals, incidents } = self;
        let records = Some(records).filter(|_| topic == Topic::Records);
        let parts = [Some(approvals), Some(incidents), records].into_iter().flatten();
        let whole: Vec<&str> = parts.map(String::as_str).collect();
        let digest = Sha256::digest(whole.join("\n").as_bytes());
        (*self != Self::default()).then(|| HEXLOWER.encode(&digest))
    }
}

/// Tells pages that are open what has changed.
#[derive(Debug, Default)]
pub struct LiveChanges {
    newest: watch::Sender<Marks>,
}

/// The query of the events.
#[derive(Deserialize)]
pub struct LiveQuery {
    of: Topic,
}

/// Looks at the database while pages are open, until the task ends.
pub async fn watch_changes(state: &PageState) {
    let newest = &state.changes.newest;
    loop {
        if newest.receiver_count() > 0 {
            match read_marks(&state.hub.database).await {
                Ok(marks) => {
                    newest.send_if_modified(|known| {
                        let is_new = *known != marks;
                        *known = marks;
                        is_new
                    });
                }
                Err(failure) => failure.report(),
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

async fn read_marks(database: &Database) -> Result<Marks, Failure> {
    let client = database.connect().await?;
    let statement = client
        .prepare_cached(
            "SELECT (SELECT concat(max(grown_at), ' ', count(*)) FROM journals) \
             || (SELECT concat(' ', max(protection_at), ' ', count(*), ' ', max(revoked_at)) \
                 FROM machines), \
             (SELECT concat(max(received_at), ' ', max(ended_at), ' ', sum(escalated), ' ', \
                 count(*) FILTER (WHERE ended_at IS NULL AND expires_at > now()), ' ', \
                 sum(cardinality(allowed_by))) FROM approval_questions) \
             || (SELECT concat(' ', max(given_at)) FROM approval_answers) \
             || (SELECT concat(' ', sum(attempts), ' ', count(sent_at), ' ', count(given_up_at)) \
                 FROM webhook_messages), \
             (SELECT concat(max(last_at), ' ', max(settled_at), ' ', count(*)) FROM incidents)",
        )
        .await?;
    let row = client.query_one(&statement, &[]).await?;
    Ok(Marks { records: row.get(0), approvals: row.get(1), incidents: row.get(2) })
}

/// Sends an event for each change of a topic, until the browser or the replica ends, or for some
/// minutes.
pub async fn send_changes(
    State(state): PageHandle,
    visitor: Option<Extension<Visitor>>,
    Query(query): Query<LiveQuery>,
    headers: HeaderMap,
) -> Response {
    if visitor.is_none() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    // A browser that comes again names the state that it has.
    let mut known = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut marks = state.changes.newest.subscribe();
    let (sender, events) = tokio::sync::mpsc::channel(MOST_EVENTS);
    tokio::spawn(async move {
        let end = Instant::now() + LIFE;
        loop {
            let mark = marks.borrow_and_update().of_topic(query.of);
            if let Some(mark) = mark {
                if known.as_ref().is_some_and(|known| *known != mark)
                    && sender.send(mark.clone()).await.is_err()
                {
                    return;
                }
                known = Some(mark);
            }
            tokio::select! {
                changed = timeout_at(end, marks.changed()) => match changed {
                    Ok(Ok(())) => {}
                    _ => return,
                },
                () = sender.closed() => return,
            }
        }
    });
    let events = ReceiverStream::new(events);
    let events = events
        .map(|mark| Ok::<_, Infallible>(Event::default().event("changed").id(&mark).data(&mark)));
    Sse::new(events).keep_alive(KeepAlive::new().interval(PULSE)).into_response()
}
