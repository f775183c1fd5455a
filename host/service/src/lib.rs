//! The resident service: reviews the events that hooks hand over.
//!
//! ```text
//! portcullis-hook -> socket -> connection -> review::hook::answer_event (with KeptParts)
//! ```
//!
//! | module | |
//! |---|---|
//! | `socket` | one service for a home: its socket, and the lock that proves it |
//! | `shared` | what all connections share: kept parts, counts |
//! | `server` | accepts connections, counts, and ends without a lost answer |
//! | `connection` | one exchange with one hook |
//! | `hold` | an action that waits for a person while its hook waits for the answer |
//!
//! The service is the embedded review kept warm: the same library reads the same configuration and
//! journal and gives the same verdicts. It holds nothing that a hook could not find on the disk, so
//! it can end at any moment: its hooks review by themselves.

mod connection;
mod hold;
mod server;
mod shared;
mod socket;

pub use server::{Service, Stop};
pub use socket::OwnSocket;
