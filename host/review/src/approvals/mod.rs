//! Actions that wait for a person, where the agent's client does not ask one.
//!
//! ```text
//! review -> ask -> somebody there? -> row that waits -> answer -> review again with the answer
//!                        no -> the refusal of today       none -> refusal
//! ```
//!
//! The process that reviewed the action holds it: it adds a row to the store, looks at it again and
//! again without holding a lock, and acts on the answer itself. A permission is an exception for
//! this one action, with which the action is reviewed again: whatever has happened meanwhile
//! counts, and a stopped session stays stopped. A permission does not count if the action would do
//! something else by then.
//!
//! Nobody pays for waiting where nobody is there: a person watches ([`WatchLock`]), or a channel
//! sends the question.

mod changes;
mod held;
mod presence;
mod reviewed_event;
mod wait;

pub use presence::{WatchLock, is_watched};
pub use reviewed_event::EventReply;
pub use wait::AnswerPort;

pub(crate) use changes::list_changes;
pub(crate) use held::{ApprovedAction, HeldAction};
pub(crate) use reviewed_event::ReviewedEvent;
pub(crate) use wait::settle_question;
