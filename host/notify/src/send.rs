//! The entry point for sending.

use crate::channel::Channel;
use crate::environment::Environment;
use crate::failure::{Delivered, DeliveryFailure};
use crate::message::Notification;
use crate::{program, smtp, webhook};
use std::ffi::OsString;
use std::fmt;
use std::time::Instant;

/// Sends messages. Holds the source of environment variables, and nothing else.
pub struct Sender<V> {
    variable: V,
}

impl<V> fmt::Debug for Sender<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<V: Fn(&str) -> Option<OsString>> Sender<V> {
    /// Returns a sender with a source of variables, for credentials and for the environment of
    /// programs.
    pub const fn new(variable: V) -> Self {
        Self { variable }
    }

    /// Sends a message, and waits until the deadline at most.
    ///
    /// # Errors
    /// Fails if the channel is not configured correctly, could not be reached, or did not take the
    /// message. After a failure that asks for a retry, the message may have arrived.
    pub fn send_message(
        &self,
        channel: &Channel,
        message: &Notification,
        deadline: Instant,
    ) -> Result<Delivered, DeliveryFailure> {
        let message = message.bounded();
        match channel {
            Channel::Webhook(webhook) => {
                webhook::CheckedWebhook::new(webhook, self)?.send(&message, deadline)
            }
            Channel::Smtp(smtp) => smtp::CheckedServer::new(smtp, self)?.send(&message, deadline),
            Channel::Program(program) => {
                program::CheckedProgram::new(program, self)?.send(&message, deadline)
            }
        }
    }

    /// Checks as far as possible without sending that a message could be sent: addresses are well
    /// formed, credentials exist, files have the right owner and mode.
    ///
    /// # Errors
    /// Fails if sending would refuse the settings.
    pub fn check_channel(&self, channel: &Channel) -> Result<(), DeliveryFailure> {
        match channel {
            Channel::Webhook(webhook) => webhook::CheckedWebhook::new(webhook, self).map(drop),
            Channel::Smtp(smtp) => smtp::CheckedServer::new(smtp, self).map(drop),
            Channel::Program(program) => program::CheckedProgram::new(program, self).map(drop),
        }
    }
}

impl<V: Fn(&str) -> Option<OsString>> Environment for Sender<V> {
    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name)
    }
}
