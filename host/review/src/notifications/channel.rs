//! A channel as the configuration has it.

use portcullis_config::keys::{self, toml_text};
use portcullis_config::{CHANNEL, Config, at_home};
use portcullis_engine::SettingValue as Value;
use portcullis_notify::{
    Address, Channel, CredentialSource, Encryption, Notification, NotificationSeverity,
    ProgramChannel, Sender, Smtp, Topic, Webhook,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

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
    pub fn problem(&self) -> Option<String> {
        match &self.channel {
            Ok(ready) => Sender::new(read_variable)
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
        .map(|(name, said)| (name.clone(), ChannelSettings { name, said, person }.channel()))
        .collect()
}

/// One channel as it is configured.
struct ChannelSettings<'a> {
    name: &'a str,
    said: &'a BTreeMap<String, Value>,
    person: &'a str,
}

impl ChannelSettings<'_> {
    fn channel(&self) -> ConfiguredChannel {
        let kind = self.text("kind").unwrap_or_default();
        let channel = match kind.as_str() {
            "webhook" => self.webhook().map(Channel::Webhook),
            "smtp" => self.smtp().map(Channel::Smtp),
            "program" => self.program().map(Channel::Program),
            _ => Err(self.missing("kind")),
        };
        let severity = match self.text("severity").as_deref() {
            Some("critical") => NotificationSeverity::Critical,
            Some("warning") => NotificationSeverity::Warning,
            _ => NotificationSeverity::Info,
        };
        ConfiguredChannel { kind, events: self.texts("events"), severity, channel }
    }

    fn webhook(&self) -> Result<Webhook, String> {
        let url = self.needed("url")?;
        let address = |text: String| match self.place(&text) {
            Some(place) => Address::Secret(place),
            None => Address::Open(text),
        };
        let (url, proxy) = (address(url), self.text("proxy").map(address));
        Ok(Webhook {
            url,
            proxy,
            bearer: self.credential("bearer")?,
            authorities: self.path("authorities"),
        })
    }

    fn smtp(&self) -> Result<Smtp, String> {
        let login = match (self.text("user"), self.credential("password")?) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            (Some(_), None) => return Err(self.missing("password")),
            (None, Some(_)) => return Err(self.missing("user")),
        };
        Ok(Smtp {
            host: self.needed("host")?,
            port: self.port(),
            encryption: match self.text("encryption").as_deref() {
                Some("none") => Encryption::None,
                Some("starttls") => Encryption::StartTls,
                _ => Encryption::Tls,
            },
            login,
            from: self.needed("from")?,
            to: self.texts("to"),
            authorities: self.path("authorities"),
        })
    }

    fn program(&self) -> Result<ProgramChannel, String> {
        Ok(ProgramChannel {
            path: at_home(&self.needed("program")?, self.person),
            arguments: self.texts("arguments"),
        })
    }

    fn credential(&self, key: &str) -> Result<Option<CredentialSource>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        // The text may be the secret itself, so it is not repeated.
        let open = || {
            format!(
                "`{}` is neither `env:NAME` nor `file:PATH`: a credential has no place in the configuration",
                self.key(key)
            )
        };
        self.place(&text).map(Some).ok_or_else(open)
    }

    /// Returns the location of a credential.
    fn place(&self, text: &str) -> Option<CredentialSource> {
        match text.split_once(':')? {
            ("env", name) => Some(CredentialSource::Variable(name.to_owned())),
            ("file", path) => Some(CredentialSource::File(at_home(path, self.person))),
            _ => None,
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|path| at_home(&path, self.person))
    }

    fn port(&self) -> Option<u16> {
        let Some(Value::Integer(port)) = self.value("port") else { return None };
        u16::try_from(port).ok()
    }

    fn needed(&self, key: &str) -> Result<String, String> {
        self.text(key).ok_or_else(|| self.missing(key))
    }

    fn text(&self, key: &str) -> Option<String> {
        let Some(Value::Text(text)) = self.value(key) else { return None };
        Some(text)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let Some(Value::Texts(texts)) = self.value(key) else { return Vec::new() };
        texts
    }

    fn value(&self, key: &str) -> Option<Value> {
        let default = || (keys::find_by_name(&format!("{CHANNEL}{key}"))?.default)();
        self.said.get(key).cloned().or_else(default)
    }

    fn missing(&self, key: &str) -> String {
        format!(
            "`{}` is missing: add it, or take the channel {} out",
            self.key(key),
            toml_text(&Value::Text(self.name.to_owned()))
        )
    }

    fn key(&self, key: &str) -> String {
        CHANNEL.replace('*', self.name) + key
    }
}

/// Returns a variable of this process's environment.
pub fn read_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
