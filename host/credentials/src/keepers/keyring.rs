//! Values in the kernel's keyring of this user. They never reach a disk, and end with the machine's
//! uptime.

use super::SecretKeeper;
use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use crate::value::check_secret;
use linux_keyutils::{
    Key, KeyError, KeyPermissionsBuilder, KeyRing, KeyRingIdentifier, Permission,
};
use secrecy::{ExposeSecret, SecretString};

/// The keys of one store.
pub(crate) struct KeyringKeeper {
    /// Tells the keys of this store from those of other homes of the same user.
    pub(crate) store: String,
}

impl KeyringKeeper {
    fn description(&self, name: &CredentialName) -> String {
        format!("portcullis:{}:{name}", self.store)
    }

    fn find(&self, name: &CredentialName) -> Result<Option<Key>, CredentialFailure> {
        match open_ring()?.search(&self.description(name)) {
            Ok(key) => Ok(Some(key)),
            Err(
                KeyError::KeyDoesNotExist
                | KeyError::KeyExpired
                | KeyError::KeyRevoked
                | KeyError::KeyringDoesNotExist,
            ) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }
}

impl SecretKeeper for KeyringKeeper {
    fn read_value(&self, name: &CredentialName) -> Result<SecretString, CredentialFailure> {
        let key = self.find(name)?.ok_or_else(|| {
            CredentialFailure::new(
                format!("the kernel's keyring has no value for `{name}`"),
                format!(
                    "it ends when the machine restarts: `portcullis credential rotate {name}` sets \
                     it again"
                ),
            )
        })?;
        let value = key.read_to_vec().map_err(|error| refused(&error))?;
        check_secret(&format!("the value of `{name}`"), value)
    }

    fn write_value(
        &self,
        name: &CredentialName,
        value: &SecretString,
    ) -> Result<(), CredentialFailure> {
        let key = open_ring()?
            .add_key(&self.description(name), value.expose_secret())
            .map_err(|error| refused(&error))?;
        // A process of the same user without this session's keyring, such as a service, does not
        // possess the key, so the user's own rights count.
        let own = Permission::VIEW | Permission::READ | Permission::WRITE | Permission::SEARCH;
        let rights = KeyPermissionsBuilder::builder()
            .posessor(Permission::ALL)
            .user(own | Permission::LINK | Permission::SETATTR)
            .build();
        key.set_perms(rights).map_err(|error| refused(&error))
    }

    fn remove_value(&self, name: &CredentialName) -> Result<(), CredentialFailure> {
        match self.find(name)? {
            Some(key) => open_ring()?.unlink_key(key).map_err(|error| refused(&error)),
            None => Ok(()),
        }
    }
}

fn open_ring() -> Result<KeyRing, CredentialFailure> {
    KeyRing::from_special_id(KeyRingIdentifier::User, true).map_err(|error| refused(&error))
}

fn refused(error: &KeyError) -> CredentialFailure {
    CredentialFailure::new(
        format!("the kernel's keyring refuses ({error})"),
        "containers often have none: keep the value in a file (`--in file`), or name a command",
    )
}
