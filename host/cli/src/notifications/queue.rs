//! Messages in the outbox.

use super::pace;
use crate::kept;
use anyhow::Result;
use portcullis_notify::Message;
use portcullis_store::{NewWork, Store, StoreError, Work};
use serde::{Deserialize, Serialize};

/// The kind of work.
pub const KIND: &str = "notification";

/// A message for a channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queued {
    /// The channel's name.
    pub channel: String,
    /// What it is to be told.
    pub message: Message,
    /// It waits for others of its session, to be told with them in one message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gathers: bool,
}

/// A message that waits.
#[derive(Debug)]
pub struct Waits {
    /// How it stands in the outbox.
    pub work: Work,
    /// The message; none where this version cannot read it.
    pub queued: Option<Queued>,
}

/// More than anybody looks at.
const MOST: u64 = 10_000;
/// When what was given up is due, in milliseconds since 1970.
pub const NEVER: u64 = i64::MAX.unsigned_abs();

impl Queued {
    /// As work; the same event is told a channel once.
    pub fn work(&self, now: u64) -> NewWork {
        NewWork {
            kind: KIND.into(),
            key: format!("{}/{}", self.channel, self.message.id),
            due_at: if self.gathers { now.saturating_add(pace::WINDOW) } else { now },
            // Only map keys that are no strings could fail here, and there are none.
            document: serde_json::to_string(self).unwrap_or_default(),
        }
    }
}

impl Waits {
    /// Nobody tries it again by itself.
    pub const fn given_up(&self) -> bool {
        self.work.due_at == NEVER
    }

    /// Until when a message that was given up is kept, in milliseconds since 1970; none for ever, or where this
    /// version cannot read it and so does not know its age.
    pub fn kept_until(&self, days: u32) -> Option<u64> {
        let queued = self.queued.as_ref().filter(|_| self.given_up())?;
        kept::until(queued.message.at, days)
    }
}

/// Removes messages that were given up and tell of what is past its days. What this version cannot read is left to
/// the one that wrote it.
///
/// # Errors
/// The outbox cannot be read or written, or holds what we did not write.
pub fn forget(store: &mut Store, days: u32, now: u64) -> Result<String> {
    let past = |waits: &Waits| waits.kept_until(days).is_some_and(|until| until < now);
    let old: Vec<i64> = waiting(store)?.iter().filter(|waits| past(waits)).map(|waits| waits.work.id).collect();
    for id in &old {
        store.work_done(*id)?;
    }
    Ok(format!("{} messages that were given up and are older than {days} days were removed", old.len()))
}

/// All that wait, the longest due first.
///
/// # Errors
/// The outbox cannot be read, or holds what we did not write.
pub fn waiting(store: &Store) -> Result<Vec<Waits>, StoreError> {
    let work = store.due(NEVER, MOST)?.into_iter().filter(|work| work.kind == KIND);
    Ok(work.map(|work| Waits { queued: serde_json::from_str(&work.document).ok(), work }).collect())
}
