//! Notifications: from a record, over the outbox, to a person.
//!
//! ```text
//! record -> tell (in the hook: which channels want it) -> outbox, with the record's own commit
//! outbox -> deliver (in `maintain`: one attempt) -> done | later | given up, and kept
//! ```
//!
//! A hook reads no credential and opens no connection for it: it writes a row for each channel that wants the event,
//! and starts `maintain`, as for any work that is due. The row goes only when a channel has taken the message, so
//! that a death in between sends it once more. What was given up stays too, for `portcullis notifications retry`, until
//! its days are over. What a session's hooks would flood people with is gathered first ([`pace`]).
//!
//! Channels are the organisation's and the person's alone; a project's file can neither add nor change one.

mod channel;
pub mod deliver;
mod pace;
mod queue;
mod tell;

pub use channel::{Configured, configured};
pub use pace::{AT_ONCE, WINDOW};
pub use queue::{KIND, Waits, forget, waiting};
pub use tell::work;
