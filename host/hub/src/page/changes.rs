//! Changes while pages are open: a replica looks at the database as long as a page is open.

use crate::database::Database;
use crate::failure::Failure;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::sync::watch;

/// The time between two looks, which is also the least between two events of one page.
const PERIOD: Duration = Duration::from_secs(1);

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
pub struct Marks {
    records: String,
    approvals: String,
    incidents: String,
}

impl Marks {
    /// Returns a short mark of a topic; none until somebody has looked. What waits is in the
    /// navigation of every page.
    pub fn of_topic(&self, topic: Topic) -> Option<String> {
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

impl LiveChanges {
    /// Returns the newest marks, from now on.
    pub fn subscribe(&self) -> watch::Receiver<Marks> {
        self.newest.subscribe()
    }
}

/// Looks at the database while pages are open, until the task ends.
pub async fn watch_changes(changes: &LiveChanges, database: &Database) {
    let newest = &changes.newest;
    loop {
        if newest.receiver_count() > 0 {
            match read_marks(database).await {
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
