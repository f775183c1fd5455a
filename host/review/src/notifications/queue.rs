//! Messages in the outbox.

use super::pace;
use crate::documents;
use anyhow::Result;
use portcullis_core::text::count_noun;
use portcullis_notify::Notification;
use portcullis_store::{NewWork, Store, StoreError, WorkItem};
use serde::{Deserialize, Serialize};

/// The kind of work.
pub const KIND: &str = "notification";

/// A message for a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuedMessage {
    /// The channel's name.
    pub channel: String,
    /// Its message.
    pub message: Notification,
    /// True if it waits for others of its session, to be sent with them in one message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gathers: bool,
}

/// A queued message.
#[derive(Debug)]
pub struct PendingMessage {
    /// Its entry in the outbox.
    pub work: WorkItem,
    /// The message; `None` if this version cannot read it.
    pub queued: Option<QueuedMessage>,
}

/// The most messages that are listed: more than anybody reads.
const MOST: u64 = 10_000;
/// The due time of abandoned messages, in milliseconds since 1970.
pub(super) const NEVER: u64 = i64::MAX.unsigned_abs();

impl QueuedMessage {
    /// Converts it to work; the same event is queued only once for a channel.
    pub fn to_work(&self, now: u64) -> NewWork {
        NewWork {
            kind: KIND.into(),
            key: format!("{}/{}", self.channel, self.message.id),
            due_at: if self.gathers { now.saturating_add(pace::WINDOW) } else { now },
            // Only map keys that are not strings could fail here, and there are none.
            document: serde_json::to_string(self).unwrap_or_default(),
        }
    }
}

impl PendingMessage {
    /// Returns true if it was abandoned: it is not retried automatically.
    pub const fn given_up(&self) -> bool {
        self.work.due_at == NEVER
    }

    /// Returns the end of an abandoned message's retention, in milliseconds since 1970; `None`
    /// means forever, or that this version cannot read the message and so does not know its age.
    pub fn kept_until(&self, days: u32) -> Option<u64> {
        let queued = self.queued.as_ref().filter(|_| self.given_up())?;
        documents::expiry_time(queued.message.at, days)
    }
}

/// Removes abandoned messages past their retention. Messages that this version cannot read are left
/// to the version that wrote them.
///
/// # Errors
/// Fails if the outbox cannot be read or written, or contains foreign data.
pub fn purge_expired(store: &mut Store, days: u32, now: u64) -> Result<String> {
    let past = |waits: &PendingMessage| waits.kept_until(days).is_some_and(|until| until < now);
    let old: Vec<i64> = list_waiting(store)?
        .iter()
        .filter(|waits| past(waits))
        .map(|waits| waits.work.id)
        .collect();
    for id in &old {
        store.work_done(*id)?;
    }
    Ok(format!(
        "removed {} older than {}",
        count_noun(old.len() as u64, "undeliverable message"),
        count_noun(u64::from(days), "day")
    ))
}

/// Returns all queued messages, the longest due first.
///
/// # Errors
/// Fails if the outbox cannot be read, or contains foreign data.
pub fn list_waiting(store: &Store) -> Result<Vec<PendingMessage>, StoreError> {
    let work = store.list_due(NEVER, MOST)?.into_iter().filter(|work| work.kind == KIND);
    Ok(work
        .map(|work| PendingMessage { queued: serde_json::from_str(&work.document).ok(), work })
        .collect())
}
