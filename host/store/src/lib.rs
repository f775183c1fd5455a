//! The durable side of Portcullis: sessions, their bounded history, and the journal.
//!
//! States are opaque bytes and record documents are opaque text: this crate keeps them, counts them
//! and chains them, and never looks inside. It reads no environment, and no clock except for
//! timeouts; the caller names the folder and dates the records.
//!
//! ```text
//! Home::open(folder) -> Store::open(&home) -> snapshot -> (review) -> commit -> reply
//! ```
//!
//! A record is durable when `commit` returns: it survives the death of the process, and with
//! [`Durability::Full`] that of the machine. Until [`Store::checkpoint_log`] runs, commits are
//! stored in the write-ahead log, and a process that opens the database while no other has it open
//! reads that whole log: maintenance should empty it when [`Store::checkpoint_due`] returns true. A
//! commit that finds a log of 4 MiB empties it itself.
//!
//! The module documentation in `chain.rs` states the guarantees of a journal that verifies, and
//! their limits.
//!
//! Cost: `cargo run --release -p portcullis-store --example cost`. On a busy two-core machine a
//! separate process takes .7 ms to open, .1 ms for the snapshot and .2 ms to commit a 3 KB record
//! and 10 KB of state, together .7 to 1.0 of `sh -c true` in the same run; a tenth to a quarter of
//! that reads the log. A checkpoint flushes the disk, 30 ms there, and is due after 18 such
//! commits.
//!
//! Retention (`--example retention`) removed 18,000 records of 3 KB in 4 to 7 s there, in
//! transactions of .8 ms; concurrent commits took .5 ms, and now and then one waited for a
//! checkpoint's flush.

mod anchors;
mod approvals;
mod breakers;
mod buckets;
mod chain;
mod cipher;
mod commit;
mod due_keys;
mod erasure;
mod error;
mod exceptions;
mod exports;
mod format;
mod hash;
mod home;
mod inspect;
mod mark;
mod migrate;
mod outbox;
mod past;
mod protocol;
mod quarantine_journal;
mod query;
mod record;
mod retention;
mod schema;
mod seal;
mod sessions;
mod shared_commits;
mod store;
mod verify;
mod work;
mod writer;

pub use anchors::{Anchor, AnchorStatus};
pub use approvals::{
    AnswerEffect, ApprovalAnswer, ApprovalList, ApprovalRecord, ApprovalState, DocumentChange,
    StoredApproval,
};
pub use breakers::{BreakerChange, Breakers};
pub use chain::JournalStart;
pub use commit::{Commit, SessionSnapshot};
pub use erasure::{ErasedDocument, Erasure, ErasureResult};
pub use error::{CommitError, StoreError};
pub use exceptions::{ExceptionEnd, ExceptionRecord, StoredException};
pub use exports::ExportCursor;
pub use hash::{Hash, RecordProof, hash_record, to_hex};
pub use home::Home;
pub use inspect::JournalSummary;
pub use migrate::SEALED;
pub use outbox::WorkSummary;
pub use past::{SessionHistory, StepRecord};
pub use protocol::{CommittedReview, PendingCommit};
pub use quarantine_journal::quarantine_journal;
pub use query::{Filter, SessionSummary};
pub use record::{NewRecord, StoredRecord};
pub use retention::PruneResult;
pub use shared_commits::SharedCommits;
pub use store::{Durability, Store};
pub use verify::{CheckProgress, Flaw, Verification};
pub use work::{NewWork, WorkItem};
