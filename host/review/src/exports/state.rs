//! What is kept with an export's cursor.

use portcullis_core::text::one_line;
use portcullis_sinks::SinkPosition;
use portcullis_store::ExportCursor;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const LINE_BYTES: usize = 600;

/// An export's totals, its failures, and how far its sink is. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportState {
    /// Records that the sink acknowledged.
    pub delivered: u64,
    /// Deliveries that it acknowledged.
    pub deliveries: u64,
    /// The time of the last one; 0 for none.
    pub delivered_at: u64,
    /// Records that the sink took a delivery of and rejected.
    pub rejected: u64,
    /// Records that were passed over, since they were refused for good.
    pub skipped: u64,
    /// The last of them, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_skipped: Option<String>,
    /// Records passed over since the last delivery.
    pub skipped_in_row: u64,
    /// Records that retention removed before they were delivered, those of other kinds included.
    pub lost: u64,
    /// Failures since the last delivery.
    pub failures: u64,
    /// The last failure; none after a delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The time before which nothing is tried; 0 for none.
    pub retry_at: u64,
    /// What the sink needs after a restart.
    pub position: SinkPosition,
}

impl ExportState {
    /// Reads the notes of a cursor. Those of another version begin again.
    #[must_use]
    pub fn of_cursor(cursor: &ExportCursor) -> Self {
        serde_json::from_str(&cursor.document).unwrap_or_default()
    }

    /// Writes them into a cursor.
    pub(super) fn write_to(&self, cursor: &mut ExportCursor) {
        // Only map keys that are not strings could fail here, and there is no map.
        cursor.document = serde_json::to_string(self).unwrap_or_default();
    }

    pub(super) fn note_delivery(&mut self, records: u64, rejected: u64, now: u64) {
        self.delivered = self.delivered.saturating_add(records.saturating_sub(rejected));
        self.deliveries = self.deliveries.saturating_add(1);
        self.delivered_at = now;
        self.rejected = self.rejected.saturating_add(rejected);
        (self.skipped_in_row, self.failures, self.retry_at) = (0, 0, 0);
        self.last_error = None;
    }

    pub(super) fn note_skip(&mut self, id: &str, reason: &str) {
        self.skipped = self.skipped.saturating_add(1);
        self.skipped_in_row = self.skipped_in_row.saturating_add(1);
        self.last_skipped = Some(one_line(&format!("{id}: {reason}"), LINE_BYTES));
    }

    /// Notes a failure, and the time of the next attempt after `wait`.
    pub(super) fn note_failure(&mut self, reason: &str, now: u64, wait: Duration) {
        self.failures = self.failures.saturating_add(1);
        self.last_error = Some(one_line(reason, LINE_BYTES));
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.retry_at = now.saturating_add(wait);
    }
}
