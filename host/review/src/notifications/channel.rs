//! A channel as the configuration has it.

use crate::credentials::HomeCredentials;
use crate::named_table::NamedTable;
use portcullis_config::{CHANNEL, Config};
use portcullis_notify::{
    Channel, Encryption, Notification, NotificationSeverity, ProgramChannel, Sender, Smtp, Topic,
    Webhook,
};
use std::collections::BTreeMap;

/// A channel and its events.
#[derive(Debug)]
pub struct ConfiguredChannel {
    /// The word for its kind.
    pub kind: String,
    /// The words for its events.
    pub events: Vec<String>,
    /// The lowest severity that it gets.
    pub severity: NotificationSeverity,
    /// The destination of messages, or the problem with it and the advice.
    pub channel: Result<Channel, String>,
}

impl ConfiguredChannel {
    /// Returns true if it can get messages on that topic.
    pub fn takes(&self, topic: Topic) -> bool {
        self.channel.is_ok() && self.events.iter().any(|event| event == topic.as_str())
    }

    /// Returns true if it should get that message.
    pub fn wants_message(&self, message: &Notification) -> bool {
        message.severity >= self.severity
            && self.events.iter().any(|event| event == message.topic.as_str())
    }

    /// Returns the problem, as far as it is visible without sending, with the advice.
    pub fn problem(&self, credentials: &HomeCredentials) -> Option<String> {
        match &self.channel {
            Ok(ready) => Sender::new(credentials)
                .check_channel(ready)
                .err()
                .map(|failure| failure.to_string()),
            Err(problem) => Some(problem.clone()),
        }
    }
}

/// Returns all channels, by name. Reads no credential.
pub fn configured_channels(config: &Config, person: &str) -> BTreeMap<String, ConfiguredChannel> {
    config
        .channels
        .iter()
        .map(|(name, said)| {
            (
                name.clone(),
                ChannelSettings(NamedTable {
                    prefix: CHANNEL,
                    noun: "channel",
                    name,
                    said,
                    person,
                })
                .channel(),
            )
        })
        .collect()
}

/// One channel as it is configured.
struct ChannelSettings<'a>(NamedTable<'a>);

impl ChannelSettings<'_> {
    fn channel(&self) -> ConfiguredChannel {
        let kind = self.0.text("kind").unwrap_or_default();
        let channel = match kind.as_str() {
            "webhook" => self.webhook().map(Channel::Webhook),
            "smtp" => self.smtp().map(Channel::Smtp),
            "program" => self.program().map(Channel::Program),
            _ => Err(self.0.missing("kind")),
        };
        let severity = match self.0.text("severity").as_deref() {
            Some("critical") => NotificationSeverity::Critical,
            Some("warning") => NotificationSeverity::Warning,
            _ => NotificationSeverity::Info,
        };
        ConfiguredChannel { kind, events: self.0.texts("events"), severity, channel }
    }

    fn webhook(&self) -> Result<Webhook, String> {
        let url = self.0.needed("url")?;
        Ok(Webhook {
            url: self.0.address(url),
            proxy: self.0.text("proxy").map(|proxy| self.0.address(proxy)),
            bearer: self.0.credential("bearer")?,
            authorities: self.0.path("authorities"),
        })
    }

    fn smtp(&self) -> Result<Smtp, String> {
        let login = match (self.0.text("user"), self.0.credential("password")?) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            (Some(_), None) => return Err(self.0.missing("password")),
            (None, Some(_)) => return Err(self.0.missing("user")),
        };
        Ok(Smtp {
            host: self.0.needed("host")?,
            port: self.0.integer("port").and_then(|port| u16::try_from(port).ok()),
            encryption: match self.0.text("encryption").as_deref() {
                Some("none") => Encryption::None,
                Some("starttls") => Encryption::StartTls,
                _ => Encryption::Tls,
            },
            login,
            from: self.0.needed("from")?,
            to: self.0.texts("to"),
            authorities: self.0.path("authorities"),
        })
    }

    fn program(&self) -> Result<ProgramChannel, String> {
        Ok(ProgramChannel {
            path: self.0.needed_path("program")?,
            arguments: self.0.texts("arguments"),
        })
    }
}
