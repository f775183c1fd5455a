//! A channel as the configuration has it.

use super::deliver::variable;
use crate::config::keys::{self, toml_text};
use crate::config::{CHANNEL, Config, at_home};
use portcullis_engine::SettingValue as Value;
use portcullis_notify::{Address, Channel, Credential, Encryption, Message, Program, Sender, Severity, Smtp, Webhook};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A channel and what it is told of.
#[derive(Debug)]
pub struct Configured {
    /// The word for what it is.
    pub kind: String,
    /// The words for what it is told of.
    pub events: Vec<String>,
    /// From which severity on.
    pub severity: Severity,
    /// Where messages go, or why they cannot, with what to do.
    pub channel: Result<Channel, String>,
}

impl Configured {
    /// Whether it is to be told of that.
    pub fn wants(&self, message: &Message) -> bool {
        message.severity >= self.severity && self.events.iter().any(|event| event == message.topic.as_str())
    }

    /// Why it cannot be used, as far as that shows without sending, with what to do.
    pub fn problem(&self) -> Option<String> {
        match &self.channel {
            Ok(ready) => Sender::new(variable).check(ready).err().map(|failure| failure.to_string()),
            Err(problem) => Some(problem.clone()),
        }
    }
}

/// All channels, by name. Reads no credential.
pub fn configured(config: &Config, person: &str) -> BTreeMap<String, Configured> {
    config.channels.iter().map(|(name, said)| (name.clone(), Says { name, said, person }.channel())).collect()
}

/// What is said of one channel.
struct Says<'a> {
    name: &'a str,
    said: &'a BTreeMap<String, Value>,
    person: &'a str,
}

impl Says<'_> {
    fn channel(&self) -> Configured {
        let kind = self.text("kind").unwrap_or_default();
        let channel = match kind.as_str() {
            "webhook" => self.webhook().map(Channel::Webhook),
            "smtp" => self.smtp().map(Channel::Smtp),
            "program" => self.program().map(Channel::Program),
            _ => Err(self.missing("kind")),
        };
        let severity = match self.text("severity").as_deref() {
            Some("critical") => Severity::Critical,
            Some("warning") => Severity::Warning,
            _ => Severity::Info,
        };
        Configured { kind, events: self.texts("events"), severity, channel }
    }

    fn webhook(&self) -> Result<Webhook, String> {
        let url = self.needed("url")?;
        let address = |text: String| match self.place(&text) {
            Some(place) => Address::Secret(place),
            None => Address::Open(text),
        };
        let (url, proxy) = (address(url), self.text("proxy").map(address));
        Ok(Webhook { url, proxy, bearer: self.credential("bearer")?, authorities: self.path("authorities") })
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

    fn program(&self) -> Result<Program, String> {
        Ok(Program { path: at_home(&self.needed("program")?, self.person), arguments: self.texts("arguments") })
    }

    fn credential(&self, key: &str) -> Result<Option<Credential>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        // What stands there may be the secret itself, so it is not repeated.
        let open = || format!("`{}` is neither `env:NAME` nor `file:PATH`: a credential has no place in the configuration", self.key(key));
        self.place(&text).map(Some).ok_or_else(open)
    }

    /// Where a credential is kept.
    fn place(&self, text: &str) -> Option<Credential> {
        match text.split_once(':')? {
            ("env", name) => Some(Credential::Variable(name.to_owned())),
            ("file", path) => Some(Credential::File(at_home(path, self.person))),
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
        let default = || (keys::named(&format!("{CHANNEL}{key}"))?.default)();
        self.said.get(key).cloned().or_else(default)
    }

    fn missing(&self, key: &str) -> String {
        format!("`{}` is missing: add it, or take the channel {} out", self.key(key), toml_text(&Value::Text(self.name.to_owned())))
    }

    fn key(&self, key: &str) -> String {
        CHANNEL.replace('*', self.name) + key
    }
}
