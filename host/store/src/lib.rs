//! The durable side of Portcullis: sessions, their bounded history, and the journal.
//!
//! States are opaque bytes and record documents are opaque text: this crate keeps them, counts them
//! and chains them, and never looks inside. It reads no environment and no clock except to give up
//! waiting; the caller names the folder and dates the records.
//!
//! ```text
//! Home::open(folder) -> Store::open(&home) -> snapshot -> (review) -> commit -> reply
//! ```
//!
//! A record is durable when `commit` returns: it survives the death of the process, and with
//! [`Durability::Full`] that of the machine. Until [`Store::checkpoint`] runs, what was committed
//! stands in the write-ahead log, and a process that finds no other at work reads that log whole: let
//! maintenance empty it when [`Store::checkpoint_due`] says so. A commit that meets a log of 4 MiB
//! empties it itself.
//!
//! What a journal that verifies proves, and what not, stands in `chain.rs`.
//!
//! Cost: `cargo run --release -p portcullis-store --example cost`. On a busy two-core machine a process
//! of its own takes .7 ms to open, .1 ms for the snapshot and .2 ms to commit a 3 KB record and 10 KB of
//! state, together .7 to 1.0 of `sh -c true` in the same run; a tenth to a quarter of that reads the log.
//! A checkpoint flushes the disk, 30 ms there, and is due after 18 such commits.
//!
//! Retention (`--example retention`) removed 18,000 records of 3 KB in 4 to 7 s there, in transactions of
//! .8 ms; commits beside it took .5 ms, and now and then one waited for a checkpoint's flush.

mod anchors;
mod aside;
mod breakers;
mod chain;
mod error;
mod grants;
mod home;
mod inspect;
mod migrate;
mod outbox;
mod past;
mod protocol;
mod query;
mod record;
mod retention;
mod schema;
mod seal;
mod store;
mod verify;
mod writer;

pub use anchors::{Anchor, Standing};
pub use aside::set_aside;
pub use breakers::{BreakerChange, Breakers};
pub use chain::{Hash, Start, hex};
pub use error::{CommitError, StoreError};
pub use grants::{Grant, GrantEnd, Granted};
pub use home::Home;
pub use inspect::Facts;
pub use outbox::{NewWork, Waiting, Work};
pub use past::Past;
pub use protocol::{Committed, Draft};
pub use query::{Filter, SessionSummary};
pub use record::{NewRecord, Stored};
pub use retention::Pruned;
pub use store::{Commit, Durability, Snapshot, Store};
pub use verify::{Flaw, Progress, Verification};
