//! The keyring where the kernel has none.

use super::SecretKeeper;
use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use secrecy::SecretString;

/// No keys.
pub(crate) struct KeyringKeeper {
    #[allow(dead_code, reason = "the keyring of Linux needs it")]
    pub(crate) store: String,
}

impl SecretKeeper for KeyringKeeper {
    fn read_value(&self, _: &CredentialName) -> Result<SecretString, CredentialFailure> {
        Err(absent())
    }

    fn write_value(&self, _: &CredentialName, _: &SecretString) -> Result<(), CredentialFailure> {
        Err(absent())
    }

    fn remove_value(&self, _: &CredentialName) -> Result<(), CredentialFailure> {
        Ok(())
    }
}

fn absent() -> CredentialFailure {
    CredentialFailure::new(
        "this system has no keyring in its kernel",
        "keep the value in a file (`--in file`), or name a command such as `security \
         find-generic-password -w -s NAME`",
    )
}
