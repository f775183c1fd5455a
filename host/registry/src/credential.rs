//! Credentials for a registry, and the header that carries a password.

use data_encoding::BASE64;
use secrecy::{ExposeSecret, SecretString};

/// Credentials for a registry.
#[derive(Clone, Debug)]
pub(crate) enum RegistryLogin {
    /// A password for the registry or its token server.
    Password { user: String, password: SecretString },
    /// An identity token for its token server only.
    Identity(SecretString),
}

/// Returns the header for a name and a password.
pub(crate) fn basic_header(user: &str, password: &SecretString) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{}", password.expose_secret()).as_bytes()))
}
