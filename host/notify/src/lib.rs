//! Notifies a person of one event: over a webhook, by mail, or through one of their programs.
//!
//! ```text
//! outbox -> Sender::send(channel, message, deadline) -> Delivered | Failure -> backoff(attempt, key)
//! ```
//!
//! This crate keeps no journal and no queue, has no policy, and does not decide which events
//! deserve a message. Nothing here prints, reads the environment (the caller passes variables in)
//! or reads the clock, except for the deadline. A [`Notification`] holds masked text only, as the
//! journal does; masking is not done here.
//!
//! **Delivery is at-least-once.** A channel may have taken a message whose answer never arrived;
//! the caller tries again, and the receiver sees it twice. The message's id is the same each time:
//! mail programs fold such mails into one, and a program can read it.
//!
//! **Agent-supplied text has no effect.** A message quotes an agent's actions, so each channel gets
//! that text bounded, without characters that deceive a reader, and with each line marked as
//! quoted. It cannot trigger a chat's markup or mentions, add a mail's headers, or reach a shell
//! ([`Notification`]).
//!
//! **The destinations of a message.**
//! - [`Webhook`]: `https`, or `http` to this machine by a loopback address. Mozilla's authorities
//!   are trusted, or those of one file. No redirect is followed, no proxy is used except the
//!   channel's own, no cookie is stored, and 4 KiB of an answer are read.
//! - [`Smtp`]: TLS from the first byte or by STARTTLS, or neither to a loopback address, then
//!   without a password.
//! - [`ProgramChannel`]: an absolute path and a list of arguments, no shell; the message as JSON on
//!   its standard input; of the environment only `PATH`, `HOME` and `LANG`. Its process group ends
//!   with it; processes that leave the group are not tracked.
//!
//! **Credentials** are named by a [`portcullis_credentials::CredentialSource`], are read when a message
//! is sent, and appear in no error.
//!
//! A person who may configure a channel may have this machine send requests and start a program:
//! that is the user or the administrator of the machine, never a project. The configuration
//! enforces that, not this crate.

mod authorities;
mod backoff;
mod channel;
mod failure;
mod message;
mod program;
mod proxy;
mod redact;
mod send;
mod slack;
mod smtp;
mod smtp_reply;
mod webhook;
mod webhook_reply;

pub use authorities::read_authorities;
pub use backoff::{MOST_ATTEMPTS, backoff_delay};
pub use channel::{Address, Channel, Encryption, ProgramChannel, Smtp, Webhook};
pub use failure::{Delivered, DeliveryFailure, Next};
pub use message::{Notification, NotificationSeverity, Topic};
pub use proxy::{CheckedProxy, read_proxy};
pub use redact::redact_secrets;
pub use send::Sender;
pub use webhook::parse_address;
pub use webhook_reply::{read_retry_after, unreachable_service, unreachable_through};
