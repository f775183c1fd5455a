//! How far exports are.

use super::settings::ConfiguredExport;
use super::state::ExportState;
use portcullis_store::{ExportCursor, Filter, Store, StoreError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How far one export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportStatus {
    /// Its name.
    pub name: String,
    /// True if the configuration has it.
    pub is_configured: bool,
    /// The position of the last record that it is done with; 0 for none.
    pub sequence: u64,
    /// Records of the journal after that one, those that its filter leaves out included.
    pub waiting: u64,
    /// The time of the oldest of them, in milliseconds since 1970.
    pub waits_since: Option<u64>,
    /// Its totals and failures.
    pub state: ExportState,
}

impl ExportStatus {
    /// Returns how old the oldest waiting record is at `now`, in milliseconds; 0 if none waits.
    #[must_use]
    pub fn lag_ms(&self, now: u64) -> u64 {
        self.waits_since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// Returns the exports that are configured or have a cursor, by name.
///
/// # Errors
/// Fails if the journal cannot be read, or a cursor was changed from outside.
pub fn list_export_statuses(
    configured: &BTreeMap<String, ConfiguredExport>,
    store: &Store,
    now: u64,
) -> Result<Vec<ExportStatus>, StoreError> {
    let mut cursors: BTreeMap<String, Option<ExportCursor>> =
        configured.keys().map(|name| (name.clone(), None)).collect();
    for cursor in store.list_export_cursors()? {
        cursors.insert(cursor.name.clone(), Some(cursor));
    }
    let head = store.head_anchor(now)?.sequence;
    let start = store.start()?.map_or(0, |start| start.sequence);
    let mut statuses = Vec::new();
    for (name, cursor) in cursors {
        let state = cursor.as_ref().map(ExportState::of_cursor).unwrap_or_default();
        let sequence = cursor.map_or(0, |cursor| cursor.sequence);
        let waiting = head.saturating_sub(sequence.max(start));
        statuses.push(ExportStatus {
            is_configured: configured.contains_key(&name),
            name,
            sequence,
            waiting,
            waits_since: if waiting > 0 { time_after(store, sequence)? } else { None },
            state,
        });
    }
    Ok(statuses)
}

/// Returns the time of the first record after a position.
fn time_after(store: &Store, sequence: u64) -> Result<Option<u64>, StoreError> {
    let mut at = None;
    let filter = Filter { after: Some(sequence), limit: Some(1), ..Filter::default() };
    store.query_records(&filter, |stored| {
        at = Some(stored.record.at);
        ControlFlow::Break(())
    })?;
    Ok(at)
}
