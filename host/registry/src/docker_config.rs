//! Looks up credentials for a registry in docker's configuration.

use crate::access::Access;
use crate::credential::RegistryLogin;
use crate::helper;
use data_encoding::{BASE64, BASE64_NOPAD};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};

/// The most bytes of docker's configuration.
const MOST_BYTES: u64 = 1 << 20;
/// The name of docker's own registry in credential stores.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The result of a lookup, and where it looked.
#[derive(Clone, Debug)]
pub(crate) struct DockerLookup {
    pub(crate) credential: Option<RegistryLogin>,
    /// The origin of the credentials, or a statement that none were found.
    pub(crate) words: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default)]
    creds_store: String,
}

#[derive(Default, Deserialize)]
struct Auth {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    identitytoken: String,
}

/// Looks up the credentials for that registry.
///
/// # Errors
/// Fails if docker's configuration cannot be read, or if the helper that it names fails; the error
/// is in words.
pub(crate) fn find(access: &Access, registry: &str) -> Result<DockerLookup, String> {
    let nobody = |words: String| DockerLookup { credential: None, words };
    let Some(folder) = &access.docker_config else {
        return Ok(nobody(
            "there is no docker configuration (neither `DOCKER_CONFIG` nor `HOME` is set)"
                .to_owned(),
        ));
    };
    let path = folder.join("config.json");
    let shown = path.display();
    let mut text = Vec::new();
    match File::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(nobody(format!("there is no `{shown}`")));
        }
        Err(error) => {
            return Err(format!("docker's configuration `{shown}` cannot be read ({error})"));
        }
    }
    if u64::try_from(text.len()).map_or(true, |bytes| bytes > MOST_BYTES) {
        return Err(format!("docker's configuration `{shown}` has more than {MOST_BYTES} bytes"));
    }
    // The position of a mistake is reported, but nothing of the text, which may be secret.
    let config: Config = serde_json::from_slice(&text).map_err(|error| {
        format!(
            "docker's configuration `{shown}` is wrong in line {}; fix it, or log in again",
            error.line()
        )
    })?;
    let server = if registry == "docker.io" { DOCKER_HUB } else { registry };
    let helped = |name: &str| {
        let words = format!("the helper `docker-credential-{name}` that `{shown}` names");
        let credential =
            helper::get(name, server, access).map_err(|what| format!("{words} {what}"))?;
        let words = if credential.is_some() {
            format!("what {words} has")
        } else {
            format!("{words} has nothing for `{server}`")
        };
        Ok(DockerLookup { credential, words })
    };
    if let Some((_, name)) = config.cred_helpers.iter().find(|(key, _)| is_key_of(key, registry)) {
        return helped(name);
    }
    let entry = config
        .auths
        .iter()
        .filter(|(key, _)| is_key_of(key, registry))
        .find_map(|(key, auth)| Some((key, auth.credential()?)));
    match entry {
        Some((key, Ok(credential))) => Ok(DockerLookup {
            credential: Some(credential),
            words: format!("what `{shown}` has for `{key}`"),
        }),
        Some((key, Err(what))) => {
            Err(format!("docker's configuration `{shown}`: its entry `{key}` {what}; log in again"))
        }
        None if !config.creds_store.is_empty() => helped(&config.creds_store),
        None => Ok(nobody(format!("`{shown}` has no entry for `{server}`"))),
    }
}

/// Returns true if an entry of the configuration belongs to that registry: tools write only the
/// host, or a URL with it.
fn is_key_of(key: &str, registry: &str) -> bool {
    let host = key.split_once("://").map_or(key, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default().to_ascii_lowercase();
    host == registry
        || (registry == "docker.io"
            && matches!(host.as_str(), "index.docker.io" | "registry-1.docker.io"))
}

impl Auth {
    /// Returns the credentials of the entry; `None` if it only says that somebody logged in, and a
    /// helper has the rest.
    fn credential(&self) -> Option<Result<RegistryLogin, &'static str>> {
        if !self.identitytoken.is_empty() {
            return Some(Ok(RegistryLogin::Identity(self.identitytoken.clone().into())));
        }
        if self.auth.is_empty() {
            let password = || RegistryLogin::Password {
                user: self.username.clone(),
                password: self.password.clone().into(),
            };
            return (!self.username.is_empty()).then(|| Ok(password()));
        }
        let decode = || {
            let text = self.auth.trim_end_matches('=').as_bytes();
            let bytes =
                BASE64.decode(self.auth.as_bytes()).or_else(|_| BASE64_NOPAD.decode(text)).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let (user, password) = text.split_once(':')?;
            Some(RegistryLogin::Password {
                user: user.to_owned(),
                password: password.trim_end_matches('\0').to_owned().into(),
            })
        };
        Some(decode().ok_or("has an `auth` that is not base64 of `user:password`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_for_one_registry() {
        for (key, registry, is) in [
            ("ghcr.io", "ghcr.io", true),
            ("GHCR.io", "ghcr.io", true),
            ("https://ghcr.io", "ghcr.io", true),
            ("http://ghcr.io/v2/", "ghcr.io", true),
            ("ghcr.io:443", "ghcr.io", false),
            ("127.0.0.1:5000", "127.0.0.1:5000", true),
            ("127.0.0.1", "127.0.0.1:5000", false),
            ("evil-ghcr.io", "ghcr.io", false),
            ("ghcr.io.evil.example", "ghcr.io", false),
            ("https://evil.example/ghcr.io", "ghcr.io", false),
            ("https://index.docker.io/v1/", "docker.io", true),
            ("docker.io", "docker.io", true),
            ("https://index.docker.io/v1/", "ghcr.io", false),
            ("", "ghcr.io", false),
        ] {
            assert_eq!(is_key_of(key, registry), is, "{key} {registry}");
        }
    }
}
