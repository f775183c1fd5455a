//! Looks up credentials for a registry: in the credential store, then in docker's configuration.

use crate::access::Access;
use crate::credential::RegistryLogin;
use crate::docker_config;

/// The result of a lookup, and where it looked.
#[derive(Clone, Debug)]
pub(crate) struct CredentialLookup {
    pub(crate) credential: Option<RegistryLogin>,
    /// The origin of the credentials, or a statement that none were found.
    pub(crate) words: String,
    /// How to set them again.
    pub(crate) renewal: String,
    /// The name by which their use is recorded.
    pub(crate) source: String,
}

/// Looks up the credentials for that registry.
///
/// # Errors
/// Fails if the store or docker's configuration cannot be read, or if the helper that it names fails;
/// the error is in words.
pub(crate) fn find(access: &Access, registry: &str) -> Result<CredentialLookup, String> {
    let from_docker = || {
        let found = docker_config::find(access, registry)?;
        Ok(CredentialLookup {
            credential: found.credential,
            words: found.words,
            renewal: format!("`docker login {registry}`"),
            source: "docker".to_owned(),
        })
    };
    let Some(store) = &access.credentials else { return from_docker() };
    let found = store.find_for_registry(registry).map_err(|error| error.to_string())?;
    let Some((name, entry)) = found else { return from_docker() };
    let secret = store
        .read_secret(&name, &|variable| std::env::var_os(variable))
        .map_err(|error| format!("the credential `{name}`: {error}"))?;
    let credential = match entry.user {
        Some(user) => RegistryLogin::Password { user, password: secret },
        None => RegistryLogin::Identity(secret),
    };
    Ok(CredentialLookup {
        credential: Some(credential),
        words: format!("the credential `{name}`"),
        renewal: format!("`portcullis credential rotate {name}`"),
        source: format!("credential:{name}"),
    })
}
