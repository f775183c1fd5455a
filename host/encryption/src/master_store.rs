//! The master keys of a home, and the places that keep them.

use crate::error::EncryptionError;
use crate::master_id::MasterId;
use crate::master_key::MasterKey;
use portcullis_credentials::{
    CredentialEntry, CredentialFailure, CredentialName, CredentialStore, KeptIn,
};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The place and the age of a master key, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterEntry {
    /// Its id.
    pub id: MasterId,
    /// The place of its value.
    pub kept_in: KeptIn,
    /// When it was made or taken in, in milliseconds since 1970.
    pub created: u64,
}

/// The master keys of a home: a credential store of their own, whose names are the keys' ids.
#[derive(Clone, Debug)]
pub struct MasterStore(CredentialStore);

impl MasterStore {
    pub(crate) const fn new(folder: PathBuf, key: [u8; 32]) -> Self {
        Self(CredentialStore::new(folder, key))
    }

    /// Returns all master keys, the newest first: new keys of days are wrapped by that one.
    ///
    /// # Errors
    /// Fails if the list cannot be read, or was not written with this home's key.
    pub fn list(&self) -> Result<Vec<MasterEntry>, EncryptionError> {
        let entries = self.0.list_entries().map_err(EncryptionError::Masters)?;
        let mut all: Vec<_> = entries
            .into_iter()
            .map(|(name, entry)| MasterEntry {
                id: MasterId(name.as_str().to_owned()),
                kept_in: entry.kept_in,
                created: entry.created,
            })
            .collect();
        all.sort_by(|a, b| (b.created, &a.id).cmp(&(a.created, &b.id)));
        Ok(all)
    }

    /// Reads a master key from its place.
    ///
    /// # Errors
    /// Fails if the place does not give it, or gives another one.
    pub fn read(&self, id: &MasterId) -> Result<MasterKey, EncryptionError> {
        let unavailable = |reason| EncryptionError::MasterUnavailable { id: id.clone(), reason };
        let name = name_of(id)?;
        let variable = |name: &str| std::env::var_os(name);
        let line = self.0.read_secret(&name, &variable).map_err(unavailable)?;
        let other = || CredentialFailure::new("its place holds something else", "put it back");
        MasterKey::parse(&line).filter(|key| key.id() == *id).ok_or_else(|| unavailable(other()))
    }

    /// Adds a master key, as the newest one. Behind a command it has to be already.
    ///
    /// # Errors
    /// Fails if it is known already, or its place or the list cannot be written.
    pub fn add(&self, key: &MasterKey, kept_in: KeptIn) -> Result<MasterId, EncryptionError> {
        // A new key is the newest one, also when the clock was set back.
        let newest = self.list()?.first().map_or(0, |entry| entry.created);
        self.add_dated(key, kept_in, now_ms().max(newest.saturating_add(1)))
    }

    /// Adds a master key from a backup, kept in a file. Where there are others, it only reads what it
    /// wrapped.
    ///
    /// # Errors
    /// As for [`MasterStore::add`].
    pub fn add_old(&self, key: &MasterKey) -> Result<MasterId, EncryptionError> {
        let oldest = self.list()?.last().map_or_else(now_ms, |entry| entry.created);
        self.add_dated(key, KeptIn::File, oldest.saturating_sub(1))
    }

    fn add_dated(
        &self,
        key: &MasterKey,
        kept_in: KeptIn,
        now: u64,
    ) -> Result<MasterId, EncryptionError> {
        let id = key.id();
        let is_stored = matches!(kept_in, KeptIn::File | KeptIn::Keyring);
        let entry = CredentialEntry {
            kept_in,
            created: now,
            set: now,
            expires: None,
            registry: None,
            user: None,
        };
        let value = is_stored.then(|| key.to_line());
        let added = self.0.add_entry(&name_of(&id)?, entry, value.as_ref());
        added.map_err(EncryptionError::Masters)?;
        Ok(id)
    }

    /// Returns the newest master key; a home without one gets it, kept in a file.
    ///
    /// # Errors
    /// Fails if its place does not give it.
    pub fn read_newest(&self) -> Result<MasterKey, EncryptionError> {
        if let Some(newest) = self.list()?.first() {
            return self.read(&newest.id);
        }
        let key = MasterKey::generate()?;
        // Another process may have been faster: then there are two, and the newest counts.
        self.add(&key, KeptIn::File)?;
        Ok(key)
    }

    /// Puts a known key's value back where it is kept: into a keyring that lost it, or a file.
    ///
    /// # Errors
    /// Fails if the key is not known, is behind a command, or its place cannot be written.
    pub fn put_back(&self, key: &MasterKey) -> Result<(), EncryptionError> {
        let put = self.0.rotate_value(&name_of(&key.id())?, &key.to_line(), None, now_ms());
        put.map_err(EncryptionError::Masters)
    }

    /// Moves a key to another place. Behind a command it has to be already; that is checked.
    ///
    /// # Errors
    /// Fails if the key cannot be read, or the new place does not give it back.
    pub fn move_to(&self, id: &MasterId, kept_in: KeptIn) -> Result<(), EncryptionError> {
        let key = self.read(id)?;
        let moved = self.0.move_value(&name_of(id)?, kept_in, &key.to_line());
        moved.map_err(EncryptionError::Masters)
    }

    /// Moves a known key into a file, whatever its place gives: for one that a backup brought back.
    ///
    /// # Errors
    /// Fails if the key is not known, or the file or the list cannot be written.
    pub fn take_back(&self, key: &MasterKey) -> Result<(), EncryptionError> {
        let moved = self.0.move_value(&name_of(&key.id())?, KeptIn::File, &key.to_line());
        moved.map_err(EncryptionError::Masters)
    }

    /// Returns true if the list was not written with this home's key.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn is_forged(&self) -> Result<bool, EncryptionError> {
        self.0.is_forged().map_err(EncryptionError::Masters)
    }

    /// Forgets a key. What only it can unwrap is unreadable afterwards.
    ///
    /// # Errors
    /// Fails if it is not known, or its value cannot be removed.
    pub fn remove(&self, id: &MasterId) -> Result<(), EncryptionError> {
        let removed = self.0.remove_entry(&name_of(id)?);
        removed.map(drop).map_err(EncryptionError::Masters)
    }
}

fn name_of(id: &MasterId) -> Result<CredentialName, EncryptionError> {
    id.as_str().parse().map_err(EncryptionError::Masters)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
