//! The one way to a channel.

use crate::channel::Channel;
use crate::credential::Credential;
use crate::failure::{Delivered, Failure};
use crate::message::Message;
use crate::{program, smtp, webhook};
use secrecy::SecretString;
use std::ffi::OsString;
use std::fmt;
use std::time::Instant;

/// Sends messages. Holds where variables of the environment come from, and nothing else.
pub struct Sender<V> {
    variable: V,
}

impl<V> fmt::Debug for Sender<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<V: Fn(&str) -> Option<OsString>> Sender<V> {
    /// Variables come from there: credentials, and what a program gets to see.
    pub const fn new(variable: V) -> Self {
        Self { variable }
    }

    /// Sends a message, and waits until the deadline at most.
    ///
    /// # Errors
    /// The channel is badly configured, could not be reached, or did not take the message. After a failure that
    /// says to try again the message may have arrived.
    pub fn send(&self, channel: &Channel, message: &Message, deadline: Instant) -> Result<Delivered, Failure> {
        let message = message.bounded();
        match channel {
            Channel::Webhook(webhook) => webhook::Ready::new(webhook, self)?.send(&message, deadline),
            Channel::Smtp(smtp) => smtp::Ready::new(smtp, self)?.send(&message, deadline),
            Channel::Program(program) => program::Ready::new(program, self)?.send(&message, deadline),
        }
    }

    /// Whether a message could be sent as far as that shows without sending: addresses are well formed, credentials
    /// are there, files are as they have to be.
    ///
    /// # Errors
    /// What sending would refuse.
    pub fn check(&self, channel: &Channel) -> Result<(), Failure> {
        match channel {
            Channel::Webhook(webhook) => webhook::Ready::new(webhook, self).map(drop),
            Channel::Smtp(smtp) => smtp::Ready::new(smtp, self).map(drop),
            Channel::Program(program) => program::Ready::new(program, self).map(drop),
        }
    }
}

/// What a channel may ask of its surroundings.
pub(crate) trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// A credential's value.
    fn credential(&self, credential: &Credential) -> Result<SecretString, Failure> {
        credential.read(&|name| self.variable(name))
    }
}

impl<V: Fn(&str) -> Option<OsString>> Surroundings for Sender<V> {
    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name)
    }
}
