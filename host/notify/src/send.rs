//! The entry point for sending.

use crate::channel::Channel;
use crate::failure::{Delivered, DeliveryFailure};
use crate::message::Notification;
use crate::{program, smtp, webhook};
use portcullis_credentials::CredentialReader;
use std::fmt;
use std::time::Instant;

/// Sends messages. Holds the reader of credentials, and nothing else.
pub struct Sender<'a> {
    reader: &'a dyn CredentialReader,
}

impl fmt::Debug for Sender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<'a> Sender<'a> {
    /// Returns a sender with a reader of credentials, and of variables for the environment of
    /// programs.
    pub const fn new(reader: &'a dyn CredentialReader) -> Self {
        Self { reader }
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
                webhook::CheckedWebhook::new(webhook, self.reader)?.send(&message, deadline)
            }
            Channel::Smtp(smtp) => {
                smtp::CheckedServer::new(smtp, self.reader)?.send(&message, deadline)
            }
            Channel::Program(program) => {
                program::CheckedProgram::new(program, self.reader)?.send(&message, deadline)
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
            Channel::Webhook(webhook) => {
                webhook::CheckedWebhook::new(webhook, self.reader).map(drop)
            }
            Channel::Smtp(smtp) => smtp::CheckedServer::new(smtp, self.reader).map(drop),
            Channel::Program(program) => {
                program::CheckedProgram::new(program, self.reader).map(drop)
            }
        }
    }
}
