//! Records as written to the journal and as read from it.

use crate::hash::{GENESIS, Hash, RecordProof, hash_record};

/// A record to be stored. Sequence, hash and session come from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRecord {
    /// Unique in the journal, not empty.
    pub id: String,
    /// Milliseconds since 1970-01-01T00:00:00Z, at most `i64::MAX`.
    pub at: u64,
    /// `review`, `outcome`, `fault` and the like, not empty.
    pub kind: String,
    /// The step that it belongs to, at most `i64::MAX`.
    pub step: Option<u64>,
    /// The client's own id of the tool call.
    pub call_id: Option<String>,
    /// The tool or event.
    pub subject: String,
    /// The verdict, for reviews.
    pub verdict: Option<String>,
    /// The whole record as JSON text, which is hashed byte for byte.
    pub document: String,
}

/// A record of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Position in the journal, from 1, without gaps.
    pub sequence: u64,
    /// None for records that belong to no session.
    pub session: Option<String>,
    /// The subagent; none for the main agent.
    pub agent: Option<String>,
    /// The record as it was given.
    pub record: NewRecord,
    /// Hash of the record before it; zeros for the first.
    pub previous: Hash,
    /// Its own hash.
    pub hash: Hash,
    /// What leads from its document to its hash; none for a record that is stored as plain text.
    pub proof: Option<RecordProof>,
    /// When a person had its document erased, in milliseconds since 1970. The document is then the one
    /// that was put in its place, which no hash covers.
    pub erased_at: Option<u64>,
    /// Why its document cannot be read; it is empty then. Only a query that asks for such records has
    /// them ([`crate::Filter::with_unreadable`]).
    pub unreadable: Option<String>,
}

impl StoredRecord {
    /// Returns the record in its place after another one, or as the first of a journal if that is
    /// none. Nothing is written, and no seal confirms the place: this shows the form that a record
    /// would have in a journal.
    #[must_use]
    pub fn chain_after(
        last: Option<&Self>,
        session: Option<String>,
        agent: Option<String>,
        record: NewRecord,
    ) -> Self {
        let (sequence, previous) =
            last.map_or((1, GENESIS), |last| (last.sequence.saturating_add(1), last.hash));
        let hash = hash_record(&previous, sequence, record.document.as_bytes(), None);
        Self {
            sequence,
            session,
            agent,
            record,
            previous,
            hash,
            proof: None,
            erased_at: None,
            unreadable: None,
        }
    }
}
