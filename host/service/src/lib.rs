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
//! | `server` | begins, tells whether it can review, and ends without a lost answer |
//! | `workers` | the threads: each waits for a connection in its turn, and serves it |
//! | `connection` | one exchange with one hook |
//! | `hold` | an action that waits for a person while its hook waits for the answer |
//!
//! Behind a boundary it runs as a user of its own, keeps a state for each user of a hook, and asks
//! the hook about that user's files (`portcullis_review::user_view`). Who a hook's user is, the
//! system says.
//!
//! The service is the embedded review kept warm: the same library reads the same configuration and
//! journal and gives the same verdicts. It holds nothing that a hook could not find on the disk, so
//! it can end at any moment: its hooks review by themselves.

mod connection;
mod hold;
mod server;
mod shared;
mod socket;
mod workers;

pub use server::{Service, ServiceProbe, Stop};
pub use socket::OwnSocket;
