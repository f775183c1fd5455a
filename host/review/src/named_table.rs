//! A table of the configuration with a name of its own: a channel of messages, or an export.

use portcullis_config::at_home;
use portcullis_config::keys::{self, toml_text};
use portcullis_credentials::CredentialSource;
use portcullis_engine::SettingValue as Value;
use portcullis_notify::Address;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Such a table, with the defaults of the keys that it leaves out.
pub(crate) struct NamedTable<'a> {
    /// The beginning of its keys, with `*` for the name.
    pub(crate) prefix: &'static str,
    /// The word for such a table.
    pub(crate) noun: &'static str,
    pub(crate) name: &'a str,
    pub(crate) said: &'a BTreeMap<String, Value>,
    /// The home folder for `~/`.
    pub(crate) person: &'a str,
}

impl NamedTable<'_> {
    pub(crate) fn credential(&self, key: &str) -> Result<Option<CredentialSource>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        // The text may be the secret itself, so it is not repeated.
        let open = || {
            format!(
                "`{}` is neither `credential:NAME` nor `env:NAME` nor `file:PATH`: a credential has no \
                 place in the configuration",
                self.key(key)
            )
        };
        self.find_credential(&text).map(Some).ok_or_else(open)
    }

    /// Returns an address, which may be a credential.
    pub(crate) fn address(&self, text: String) -> Address {
        match self.find_credential(&text) {
            Some(place) => Address::Secret(place),
            None => Address::Open(text),
        }
    }

    fn find_credential(&self, text: &str) -> Option<CredentialSource> {
        CredentialSource::parse(text, |path| at_home(path, self.person))
    }

    pub(crate) fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|path| at_home(&path, self.person))
    }

    pub(crate) fn needed(&self, key: &str) -> Result<String, String> {
        self.text(key).ok_or_else(|| self.missing(key))
    }

    pub(crate) fn needed_path(&self, key: &str) -> Result<PathBuf, String> {
        self.path(key).ok_or_else(|| self.missing(key))
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let Some(Value::Text(text)) = self.value(key) else { return None };
        Some(text)
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let Some(Value::Texts(texts)) = self.value(key) else { return Vec::new() };
        texts
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.value(key) == Some(Value::Flag(true))
    }

    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        let Some(Value::Integer(number)) = self.value(key) else { return None };
        Some(number)
    }

    fn value(&self, key: &str) -> Option<Value> {
        let default = || (keys::find_by_name(&format!("{}{key}", self.prefix))?.default)();
        self.said.get(key).cloned().or_else(default)
    }

    pub(crate) fn missing(&self, key: &str) -> String {
        format!(
            "`{}` is missing: add it, or take the {} {} out",
            self.key(key),
            self.noun,
            toml_text(&Value::Text(self.name.to_owned()))
        )
    }

    fn key(&self, key: &str) -> String {
        self.prefix.replace('*', self.name) + key
    }
}
