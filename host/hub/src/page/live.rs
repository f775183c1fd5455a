//! The events of changes, for a page that is open: the browser loads it again.

use super::changes::Topic;
use super::visit::PageHandle;
use crate::people::Visitor;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// The time between two signs of life.
const PULSE: Duration = Duration::from_secs(15);
/// The time after which a browser has to ask again: roles and cookies are read then.
const LIFE: Duration = Duration::from_secs(300);
/// The most events that one browser has not taken yet.
const MOST_EVENTS: usize = 1;

/// The query of the events.
#[derive(Deserialize)]
pub struct LiveQuery {
    of: Topic,
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
    let mut marks = state.changes.subscribe();
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
