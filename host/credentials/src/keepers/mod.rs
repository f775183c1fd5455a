//! The places that keep values.

mod command;
mod file;
#[cfg(target_os = "linux")]
#[path = "keyring.rs"]
mod keyring;
#[cfg(not(target_os = "linux"))]
#[path = "keyring_elsewhere.rs"]
mod keyring;
mod variable;

pub(crate) use command::CommandKeeper;
pub(crate) use file::FileKeeper;
pub(crate) use keyring::KeyringKeeper;
pub(crate) use variable::VariableKeeper;

use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use secrecy::SecretString;

/// A place that keeps the values of credentials.
pub(crate) trait SecretKeeper {
    /// Returns the value of a credential.
    fn read_value(&self, name: &CredentialName) -> Result<SecretString, CredentialFailure>;

    /// Keeps a value, in place of the one before it.
    fn write_value(
        &self,
        name: &CredentialName,
        value: &SecretString,
    ) -> Result<(), CredentialFailure>;

    /// Forgets a value; a missing one is no failure.
    fn remove_value(&self, name: &CredentialName) -> Result<(), CredentialFailure>;
}

/// Returns the failure for a value that somebody else keeps.
fn kept_elsewhere(place: &str) -> CredentialFailure {
    CredentialFailure::new(
        format!("its value is kept by {place}"),
        "change it there; portcullis reads it at each use",
    )
}
