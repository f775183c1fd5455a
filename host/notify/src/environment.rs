//! The environment that a channel may query.

use crate::credential::CredentialSource;
use crate::failure::DeliveryFailure;
use secrecy::SecretString;
use std::ffi::OsString;

/// The environment that a channel may query.
pub(crate) trait Environment {
    /// Returns a variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Returns a credential's value.
    fn credential(&self, credential: &CredentialSource) -> Result<SecretString, DeliveryFailure> {
        credential.read_secret(&|name| self.variable(name))
    }
}
