//! The store: a sealed index of names, and the keepers of the values.

use crate::failure::CredentialFailure;
use crate::keepers::{CommandKeeper, FileKeeper, KeyringKeeper, SecretKeeper, VariableKeeper};
use crate::name::CredentialName;
use crate::uses::UseLog;
use portcullis_core::text::hash_parts;
use portcullis_fs::{
    SealError, SealedDocument, create_private_folder, open_lock_file, wait_for_lock,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of the index: some 2,000 credentials.
const MOST_INDEX: u64 = 512 << 10;
/// The timeout for the lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most credentials.
const MOST: usize = 1000;

/// The place that keeps a credential's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kept_in")]
pub enum KeptIn {
    /// A file of the store, mode 0600.
    File,
    /// The kernel's keyring of this user, until the machine restarts.
    Keyring,
    /// A variable of the environment.
    Variable {
        /// Its name.
        variable: String,
    },
    /// A command that prints it, such as a password manager's.
    Command {
        /// The program and its arguments, run without a shell.
        command: Vec<String>,
    },
}

/// What the store knows of a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialEntry {
    /// The place of its value.
    #[serde(flatten)]
    pub kept_in: KeptIn,
    /// When the name was made, in milliseconds since 1970.
    pub created: u64,
    /// When its value was last set, in milliseconds since 1970.
    pub set: u64,
    /// Until when it is valid, in milliseconds since 1970, as the person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The host of a registry that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// The user's name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct Index {
    credentials: BTreeMap<CredentialName, CredentialEntry>,
}

/// The credential store of one home.
#[derive(Clone, Debug)]
pub struct CredentialStore {
    folder: PathBuf,
    key: Key,
}

#[derive(Clone)]
struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// The right to change a store: one process at a time has it.
struct StoreLock(#[allow(dead_code, reason = "it holds the lock until it is dropped")] File);

impl CredentialStore {
    /// Names the store in a folder, which need not exist yet. `key` seals what is not secret: without
    /// it nobody can lead a name to another command or variable.
    #[must_use]
    pub const fn new(folder: PathBuf, key: [u8; 32]) -> Self {
        Self { folder, key: Key(key) }
    }

    /// Returns the log of uses.
    #[must_use]
    pub fn use_log(&self) -> UseLog {
        UseLog::new(self.folder.join("uses.json"), self.key.0)
    }

    /// Returns all credentials by name, without their values.
    ///
    /// # Errors
    /// Fails if the index cannot be read, or was not written with this home's key.
    pub fn list_entries(
        &self,
    ) -> Result<BTreeMap<CredentialName, CredentialEntry>, CredentialFailure> {
        Ok(self.read_index()?.credentials)
    }

    /// Adds a credential. `value` is kept where the entry says, and has to be there exactly if the
    /// store keeps it (a file or the keyring).
    ///
    /// # Errors
    /// Fails if the name is taken, or the value or the index cannot be written.
    pub fn add_entry(
        &self,
        name: &CredentialName,
        entry: CredentialEntry,
        value: Option<&SecretString>,
    ) -> Result<(), CredentialFailure> {
        let _lock = self.take_lock()?;
        let mut index = self.read_index()?;
        if index.credentials.contains_key(name) {
            return Err(CredentialFailure::new(
                format!("there is a credential `{name}` already"),
                format!("`portcullis credential rotate {name}` gives it a new value"),
            ));
        }
        if index.credentials.len() >= MOST {
            return Err(CredentialFailure::new(
                format!("there are {MOST} credentials, which is the most"),
                "remove those that nobody uses",
            ));
        }
        // The value comes first: a name without a value fails at each use, a value without a name is
        // overwritten by the next attempt.
        if let Some(value) = value {
            self.keeper(&entry.kept_in, &|_| None).write_value(name, value)?;
        }
        index.credentials.insert(name.clone(), entry);
        self.write_index(&index)
    }

    /// Gives a credential a new value, and notes until when it is valid.
    ///
    /// # Errors
    /// Fails if there is no such name, somebody else keeps its value, or it cannot be written.
    pub fn rotate_value(
        &self,
        name: &CredentialName,
        value: &SecretString,
        expires: Option<u64>,
        now: u64,
    ) -> Result<(), CredentialFailure> {
        let _lock = self.take_lock()?;
        let mut index = self.read_index()?;
        let entry = index.credentials.get_mut(name).ok_or_else(|| unknown(name))?;
        self.keeper(&entry.kept_in, &|_| None).write_value(name, value)?;
        entry.set = now;
        entry.expires = expires;
        self.write_index(&index)
    }

    /// Moves the value of a credential to another place. Where the store does not keep it itself, it has
    /// to be there already.
    ///
    /// # Errors
    /// Fails if there is no such name, the new place does not give that value, or the index cannot be
    /// written. The value is then where it was.
    pub fn move_value(
        &self,
        name: &CredentialName,
        kept_in: KeptIn,
        value: &SecretString,
    ) -> Result<(), CredentialFailure> {
        let _lock = self.take_lock()?;
        let mut index = self.read_index()?;
        let entry = index.credentials.get_mut(name).ok_or_else(|| unknown(name))?;
        if entry.kept_in == kept_in {
            // An earlier move may have been killed before it emptied the old place.
            for other in [KeptIn::File, KeptIn::Keyring].iter().filter(|other| **other != kept_in) {
                let _gone_or_unreachable = self.keeper(other, &|_| None).remove_value(name);
            }
            return Ok(());
        }
        let keeper = self.keeper(&kept_in, &|name| std::env::var_os(name));
        if matches!(kept_in, KeptIn::File | KeptIn::Keyring) {
            keeper.write_value(name, value)?;
        }
        if keeper.read_value(name)?.expose_secret() != value.expose_secret() {
            return Err(CredentialFailure::new(
                format!("the new place has another value of `{name}`"),
                "put the value there first",
            ));
        }
        drop(keeper);
        let before = std::mem::replace(&mut entry.kept_in, kept_in);
        self.write_index(&index)?;
        self.keeper(&before, &|_| None).remove_value(name)
    }

    /// Returns true if the list was not written with this home's key.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn is_forged(&self) -> Result<bool, CredentialFailure> {
        match self.index().read_content::<Index>() {
            Ok(_) => Ok(false),
            Err(SealError::Io(error)) => {
                Err(CredentialFailure::of_system(&self.index_path(), &error))
            }
            Err(_) => Ok(true),
        }
    }

    /// Forgets a credential and the value that the store keeps; returns what was known of it.
    ///
    /// # Errors
    /// Fails if there is no such name, or it cannot be removed.
    pub fn remove_entry(
        &self,
        name: &CredentialName,
    ) -> Result<CredentialEntry, CredentialFailure> {
        let _lock = self.take_lock()?;
        let mut index = self.read_index()?;
        let entry = index.credentials.remove(name).ok_or_else(|| unknown(name))?;
        // The value goes first: it must not outlive its name.
        self.keeper(&entry.kept_in, &|_| None).remove_value(name)?;
        self.write_index(&index)?;
        Ok(entry)
    }

    /// Reads the value of a credential. `variable` reads the environment.
    ///
    /// # Errors
    /// Fails if there is no such name, or its keeper does not give the value.
    pub fn read_secret(
        &self,
        name: &CredentialName,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<SecretString, CredentialFailure> {
        let index = self.read_index()?;
        let entry = index.credentials.get(name).ok_or_else(|| unknown(name))?;
        self.keeper(&entry.kept_in, variable).read_value(name)
    }

    /// Finds the credential for a registry: its name, and what is known of it.
    ///
    /// # Errors
    /// Fails if the index cannot be read.
    pub fn find_for_registry(
        &self,
        host: &str,
    ) -> Result<Option<(CredentialName, CredentialEntry)>, CredentialFailure> {
        let found = self.list_entries()?.into_iter();
        Ok(found.into_iter().find(|(_, entry)| entry.registry.as_deref() == Some(host)))
    }

    fn keeper<'a>(
        &'a self,
        kept_in: &'a KeptIn,
        variable: &'a dyn Fn(&str) -> Option<OsString>,
    ) -> Box<dyn SecretKeeper + 'a> {
        match kept_in {
            KeptIn::File => Box::new(FileKeeper(self.folder.join("values"))),
            KeptIn::Keyring => Box::new(KeyringKeeper { store: self.fingerprint() }),
            KeptIn::Variable { variable: name } => Box::new(VariableKeeper { name, variable }),
            KeptIn::Command { command } => Box::new(CommandKeeper(command)),
        }
    }

    /// Tells this store from others of the same user.
    fn fingerprint(&self) -> String {
        format!("{:016x}", hash_parts(&[&self.folder.to_string_lossy()]))
    }

    fn index(&self) -> SealedDocument {
        SealedDocument::new(self.index_path(), self.key.0, MOST_INDEX)
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("index.json")
    }

    fn read_index(&self) -> Result<Index, CredentialFailure> {
        let read = self.index().read_content::<Index>();
        let index =
            read.map_err(|error| CredentialFailure::of_index(&self.index_path(), &error))?;
        Ok(index.unwrap_or_default())
    }

    fn write_index(&self, index: &Index) -> Result<(), CredentialFailure> {
        let written = self.index().write_content(index);
        written.map_err(|error| CredentialFailure::of_index(&self.index_path(), &error))
    }

    fn take_lock(&self) -> Result<StoreLock, CredentialFailure> {
        let path: &Path = &self.folder.join("lock");
        let taken = create_private_folder(&self.folder)
            .and_then(|()| open_lock_file(path))
            .and_then(|file| {
                wait_for_lock(PATIENCE, || file.try_lock())?;
                Ok(StoreLock(file))
            });
        taken.map_err(|error| CredentialFailure::of_system(path, &error))
    }
}

fn unknown(name: &CredentialName) -> CredentialFailure {
    CredentialFailure::new(
        format!("there is no credential `{name}`"),
        format!(
            "`portcullis credential set {name}` adds it; `portcullis credential list` shows those \
             that there are"
        ),
    )
}
