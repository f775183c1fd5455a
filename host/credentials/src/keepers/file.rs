//! Values in files of their own, which only their owner can read.

use super::SecretKeeper;
use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use crate::value::{MOST_BYTES, check_secret};
use portcullis_fs::{
    FileAccess, create_private_folder, destroy_file, read_named_file, replace_bytes,
};
use secrecy::{ExposeSecret, SecretString};
use std::io::ErrorKind;
use std::path::PathBuf;

/// A folder with one file a value, mode 0600.
pub(crate) struct FileKeeper(pub(crate) PathBuf);

impl FileKeeper {
    fn path(&self, name: &CredentialName) -> PathBuf {
        self.0.join(name.as_str())
    }
}

impl SecretKeeper for FileKeeper {
    fn read_value(&self, name: &CredentialName) -> Result<SecretString, CredentialFailure> {
        let path = self.path(name);
        let bytes = read_named_file(&path, MOST_BYTES, FileAccess::OwnerOnly)?;
        check_secret(&format!("the file `{}`", path.display()), bytes)
    }

    fn write_value(
        &self,
        name: &CredentialName,
        value: &SecretString,
    ) -> Result<(), CredentialFailure> {
        let path = self.path(name);
        create_private_folder(&self.0)
            .and_then(|()| replace_bytes(&path, 0o600, value.expose_secret().as_bytes()))
            .map_err(|error| CredentialFailure::of_system(&path, &error))
    }

    fn remove_value(&self, name: &CredentialName) -> Result<(), CredentialFailure> {
        let path = self.path(name);
        match destroy_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(CredentialFailure::of_system(&path, &error))
            }
            _ => Ok(()),
        }
    }
}
