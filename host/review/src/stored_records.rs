//! Records on their way into the journal.

use portcullis_core::record::Record;
use portcullis_store::{Durability, Home, NewRecord, Store, StoreError};

/// Opens the journal and appends one record.
///
/// # Errors
/// Fails if the journal cannot be opened or written.
pub fn write_record(
    home: &Home,
    durability: Durability,
    record: &Record,
) -> Result<(), StoreError> {
    Store::open_database(home, durability)?.append_records(vec![to_store(record)]).map(drop)
}

/// Converts a record for the store.
#[must_use]
pub fn to_store(record: &Record) -> NewRecord {
    NewRecord {
        id: record.id.clone(),
        at: record.at,
        kind: record.kind.as_str().to_owned(),
        step: record.step,
        call_id: record.call.clone(),
        subject: record.subject.clone(),
        verdict: record.verdict().map(|verdict| verdict.as_str().to_owned()),
        document: record.document(),
    }
}
