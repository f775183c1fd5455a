//! A secret that `hub.toml` names and never holds: `credential:NAME` in the hub's own store,
//! `env:NAME` or `file:PATH`.

use crate::hub_files::read_secret;
use anyhow::{Context, Result};
use portcullis_credentials::CredentialSource;
use portcullis_fleet::HubCredentials;
use secrecy::ExposeSecret;
use serde::{Deserialize, Deserializer, de};
use std::path::{Path, PathBuf};

/// The place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSecret(CredentialSource);

impl HubSecret {
    /// Reads the value; `setting` is the key that names the secret. A file may be a link, as secrets
    /// are that a cluster mounts, and root reads that of the hub's user.
    pub fn read(&self, folder: &Path, setting: &str) -> Result<String> {
        let context = || format!("the secret of `{setting}` in `hub.toml`");
        if let CredentialSource::File(path) = &self.0 {
            let text = read_secret(path).with_context(context)?;
            return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
        }
        let read = self.0.read_secret(&HubCredentials::new(folder, setting));
        Ok(read.with_context(context)?.expose_secret().to_owned())
    }

    /// Returns where it is.
    pub const fn source(&self) -> &CredentialSource {
        &self.0
    }
}

impl<'de> Deserialize<'de> for HubSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The text is not repeated: it may be the secret itself.
        let source = CredentialSource::parse(&text, |path| PathBuf::from(path));
        let is_usable = |source: &CredentialSource| match source {
            CredentialSource::File(path) => path.is_absolute(),
            _ => true,
        };
        let source = source.filter(is_usable).ok_or_else(|| {
            de::Error::custom(
                "a secret has no place in `hub.toml`: name it as `credential:NAME`, `env:NAME` or \
                 `file:/PATH`",
            )
        })?;
        Ok(Self(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Named {
        password: HubSecret,
    }

    #[test]
    fn a_secret_is_named_and_never_written() {
        for (text, expected) in [
            ("env:DB", Some("env:DB")),
            ("file:/etc/db", Some("file:/etc/db")),
            ("credential:db", Some("credential:db")),
            ("hunter2-0123456789", None),
            ("file:db", None),
            ("keyring:db", None),
            ("", None),
        ] {
            let read = toml::from_str::<Named>(&format!("password = \"{text}\""));
            match (read, expected) {
                (Ok(named), Some(expected)) => {
                    assert_eq!(named.password.source().to_string(), expected);
                }
                (Err(error), None) => {
                    assert!(!error.message().contains("hunter2"), "{error}");
                }
                (read, _) => panic!("{text}: {}", read.is_ok()),
            }
        }
    }
}
