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
//! stands in the write-ahead log, and every first opener reads that log: let maintenance run it when
//! [`Store::checkpoint_due`] says so.

mod chain;
mod error;
mod home;
mod protocol;
mod query;
mod record;
mod schema;
mod store;
mod verify;

pub use chain::{Hash, hex};
pub use error::{CommitError, StoreError};
pub use home::Home;
pub use protocol::{Committed, Draft};
pub use query::{Filter, SessionSummary};
pub use record::{NewRecord, Stored};
pub use store::{Commit, Durability, Snapshot, Store};
pub use verify::{Flaw, Progress, Verification};
