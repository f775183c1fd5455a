//! Says one event to a person: over a webhook, by mail, or through a program of theirs.
//!
//! ```text
//! outbox -> Sender::send(channel, message, deadline) -> Delivered | Failure -> backoff(attempt, key)
//! ```
//!
//! What it does not do: it keeps no journal and no queue, knows no policy, and does not decide what is worth a
//! message. Nothing here prints, reads the environment (the caller hands variables in) or asks what time it is; its
//! one clock is the deadline. A [`Message`] holds masked text only, as the journal does; masking is not done here.
//!
//! **At least once.** A channel may have taken a message whose answer never came; whoever calls tries again, and
//! the receiver sees it twice. The message's id is the same each time: mail programs fold such mails into one, and
//! a program reads it.
//!
//! **An agent's words stay words.** A message quotes what an agent did, so each channel gets it bounded, without
//! characters that deceive a reader, and each line of it marked as quoted; a chat's markup and mentions, a mail's
//! headers and a shell have no way in ([`Message`]).
//!
//! **Where a message may go.**
//! - [`Webhook`]: `https`, or `http` to this machine by a loopback address. Mozilla's authorities count, or those
//!   of one file. No redirect is followed, no proxy is used but the channel's own, no cookie kept, and 4 KiB of an
//!   answer are read.
//! - [`Smtp`]: TLS from the first byte or by STARTTLS, or neither to a loopback address, then without a password.
//! - [`Program`]: an absolute path and a list of arguments, no shell; the message as JSON on its standard input;
//!   of the environment `PATH`, `HOME` and `LANG`. Its process group ends with it; what leaves the group is not
//!   followed.
//!
//! **Credentials** come from a variable or from a file that is its owner's alone ([`Credential`]), are read when a
//! message is sent, and stand in no error.
//!
//! Whoever may configure a channel may have this machine send requests and start a program: that is the user or
//! who manages the machine, never a project. The configuration sees to that, not this crate.

mod authorities;
mod backoff;
mod channel;
mod credential;
mod failure;
mod file;
mod message;
mod program;
mod proxy;
mod send;
mod slack;
mod smtp;
mod smtp_reply;
mod webhook;
mod webhook_reply;

pub use backoff::{MOST_ATTEMPTS, backoff};
pub use channel::{Address, Channel, Encryption, Program, Smtp, Webhook};
pub use credential::Credential;
pub use failure::{Delivered, Failure, Next};
pub use message::{Message, Severity, Topic};
pub use send::Sender;
