//! The next records of an export.

use super::settings::ConfiguredExport;
use portcullis_store::{Filter, Store, StoreError, StoredRecord};
use std::ops::ControlFlow;

/// The most records that one step looks at, so that a filter that wants few of them never holds the
/// journal's view for long.
const MOST_LOOKED_AT: u64 = 2_000;

/// Records that follow an export's cursor.
pub(super) struct Batch {
    /// Those that the filter wants.
    pub(super) wanted: Vec<StoredRecord>,
    /// The last record that was looked at: position and hash; none at the end of the journal.
    pub(super) last: Option<(u64, portcullis_store::Hash)>,
    /// True if it takes no more records: it is full, or more of them follow.
    pub(super) is_full: bool,
}

/// Reads the records after a position, as many as one delivery takes.
pub(super) fn read_batch(
    store: &Store,
    export: &ConfiguredExport,
    after: u64,
) -> Result<Batch, StoreError> {
    let mut batch = Batch { wanted: Vec::new(), last: None, is_full: false };
    let (mut bytes, mut looked_at) = (0_usize, 0_u64);
    let filter = Filter { after: Some(after), limit: Some(MOST_LOOKED_AT), ..Filter::default() };
    store.query_records(&filter, |stored| {
        let is_wanted = export.filter.wants_record(&stored);
        let size = stored.record.document.len();
        let fits = batch.wanted.is_empty()
            || (batch.wanted.len() < export.batch_records
                && bytes.saturating_add(size) <= export.batch_bytes);
        if is_wanted && !fits {
            batch.is_full = true;
            return ControlFlow::Break(());
        }
        looked_at = looked_at.saturating_add(1);
        batch.last = Some((stored.sequence, stored.hash));
        if is_wanted {
            bytes = bytes.saturating_add(size);
            batch.wanted.push(stored);
        }
        ControlFlow::Continue(())
    })?;
    batch.is_full |= batch.wanted.len() >= export.batch_records || looked_at >= MOST_LOOKED_AT;
    Ok(batch)
}
