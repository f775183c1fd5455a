//! The join of two reviewers that see the same call: a client's hook, and a gateway behind it.

use portcullis_core::event::Call;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_store::{Filter, Store, StoreError};
use serde_json::Value;
use std::ops::ControlFlow;

/// The longest time between the two reviews, in milliseconds.
const WITHIN: u64 = 60_000;
/// The most records that are looked through.
const MOST_RECORDS: u64 = 2000;

/// Returns true if a hook has just reviewed this call and lets it run as it is: the id of the
/// client alone proves nothing, so the tool and every parameter have to be the same, and none of
/// them may be masked in the record.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn is_reviewed(store: &Store, call: &Call, now: u64) -> Result<bool, StoreError> {
    let Some(id) = &call.id else { return Ok(false) };
    let filter = Filter { limit: Some(MOST_RECORDS), newest_first: true, ..Filter::default() };
    let mut found = false;
    store.query_records(&filter, |stored| {
        if stored.record.at.saturating_add(WITHIN) < now {
            return ControlFlow::Break(());
        }
        if stored.record.call_id.as_ref() == Some(id)
            && stored.record.kind == RecordKind::Review.as_str()
        {
            // The newest review of a call counts.
            found = allows(&stored.record.document, call);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn allows(document: &str, call: &Call) -> bool {
    let Ok(record) = serde_json::from_str::<Record>(document) else { return false };
    let passes = matches!(record.verdict(), Some(Verdict::Allow | Verdict::Warn));
    let same = |parameters: &str| {
        serde_json::from_str::<Value>(parameters)
            .is_ok_and(|parameters| parameters.as_object() == Some(&call.input))
    };
    passes
        && record.subject == call.tool
        && record.masked.is_empty()
        && record.faults.is_empty()
        && record.action.is_some_and(|action| action.run_as.is_none() && same(&action.parameters))
}
