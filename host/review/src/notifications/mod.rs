//! Notifications: from a record, over the outbox, to a person.
//!
//! ```text
//! record -> tell (in the hook: which channels want it) -> outbox, with the record's own commit
//! outbox -> deliver (in `maintain`: one attempt) -> done | later | given up, and kept
//! ```
//!
//! A hook reads no credential and opens no connection for it: it writes a row for each channel that
//! wants the event, and starts `maintain`, as for any work that is due. The row is removed only
//! after a channel has accepted the message, so delivery is at-least-once: after a crash in
//! between, the message is sent again. Abandoned messages stay too, for `portcullis notifications
//! retry`, until their retention ends. Frequent events of a session are gathered first, so that
//! people are not flooded (`pace`).
//!
//! Channels are only configured by the organisation and the person; a project's file can neither
//! add nor change one.

mod channel;
pub mod deliver;
mod pace;
mod queue;
mod tell;

pub use channel::{ConfiguredChannel, configured_channels};
pub use pace::{AT_ONCE, WINDOW};
pub use queue::{KIND, PendingMessage, list_waiting, purge_expired};
pub use tell::message_tasks;
