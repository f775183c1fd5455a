//! The upkeep of day keys: wrapped by another master key, and destroyed. Both run under the lock of the
//! folder, as does the making of a key, so that none is wrapped by a master key that is being forgotten.

use crate::data_keys::DataKeys;
use crate::day_key::{WrappedKey, path_of};
use crate::error::EncryptionError;
use crate::key_id::{DataKind, Day, KeyId};
use crate::master_id::MasterId;
use crate::master_key::MasterKey;
use portcullis_credentials::KeptIn;
use portcullis_fs::{
    create_private_folder, destroy_file, open_lock_file, sync_folder, wait_for_lock,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

/// The most keys that one call destroys: each takes two flushes of the disk, and the caller may hold a
/// lock that hooks wait for.
pub const MOST_DESTROYED: u64 = 8;
/// The timeout for the lock of the folder.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result of [`DataKeys::destroy_keys`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DestroyedKeys {
    /// The number of destroyed keys.
    pub count: u64,
    /// The newest day among them.
    pub newest: Option<Day>,
}

/// The result of [`DataKeys::rewrap_keys`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewrapResult {
    /// The number of keys that the newest master key wraps now.
    pub rewrapped: u64,
    /// Those that stay as they were, since their master key is not available: file and reason.
    pub kept: Vec<(String, String)>,
    /// The master keys that nothing needed any more; they are forgotten.
    pub removed: Vec<MasterId>,
}

impl DataKeys {
    /// Destroys at most [`MOST_DESTROYED`] keys of a kind of the days before `before`, except those that
    /// are still needed. Their files are overwritten and removed, and that is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// Fails if the folder is locked for more than 2 s, or a file cannot be overwritten or removed; those
    /// before it are destroyed.
    pub fn destroy_keys(
        &self,
        kind: DataKind,
        before: Day,
        needed: &BTreeSet<KeyId>,
    ) -> Result<DestroyedKeys, EncryptionError> {
        let _lock = self.lock()?;
        self.remove_drafts()?;
        let mut destroyed = DestroyedKeys::default();
        for id in self.keys_before(kind, before)? {
            if needed.contains(&id) {
                continue;
            }
            let path = path_of(self.folder(), kind, id);
            destroy_file(&path).map_err(EncryptionError::io("destroy", &path))?;
            self.read().days.remove(&(kind, id));
            destroyed.count += 1;
            destroyed.newest = destroyed.newest.max(Some(id.day));
            if destroyed.count == MOST_DESTROYED {
                break;
            }
        }
        if destroyed.count > 0 {
            sync_folder(self.folder()).map_err(EncryptionError::io("flush", self.folder()))?;
        }
        Ok(destroyed)
    }

    /// Destroys all such keys, for a caller that holds no lock of hooks.
    ///
    /// # Errors
    /// As for [`DataKeys::destroy_keys`].
    pub fn destroy_all_keys(
        &self,
        kind: DataKind,
        before: Day,
        needed: &BTreeSet<KeyId>,
    ) -> Result<DestroyedKeys, EncryptionError> {
        let mut all = DestroyedKeys::default();
        loop {
            let destroyed = self.destroy_keys(kind, before, needed)?;
            all.count += destroyed.count;
            all.newest = all.newest.max(destroyed.newest);
            if destroyed.count < MOST_DESTROYED {
                return Ok(all);
            }
        }
    }

    /// Adds a master key and wraps all day keys with it: see [`DataKeys::rewrap_keys`].
    ///
    /// # Errors
    /// Fails if the key cannot be kept there, and in the same cases as [`DataKeys::rewrap_keys`].
    pub fn rotate_master(
        &self,
        key: &MasterKey,
        kept_in: KeptIn,
    ) -> Result<RewrapResult, EncryptionError> {
        self.masters().add(key, kept_in)?;
        self.rewrap_keys()
    }

    /// Wraps all day keys with the newest master key, and forgets the master keys that nothing needs
    /// any more. A process that is killed leaves each key wrapped by one of the known master keys.
    ///
    /// # Errors
    /// Fails if the newest master key is not available, the folder is locked for more than 2 s, or a file
    /// cannot be read or written.
    pub fn rewrap_keys(&self) -> Result<RewrapResult, EncryptionError> {
        let _lock = self.lock()?;
        self.remove_drafts()?;
        let newest = self.masters().read_newest()?;
        let mut result = RewrapResult::default();
        for (kind, id) in self.find_files()? {
            match self.rewrap_key(kind, id, &newest) {
                Ok(is_rewrapped) => result.rewrapped += u64::from(is_rewrapped),
                Err(error @ EncryptionError::Io { .. }) => return Err(error),
                Err(error) => result.kept.push((id.file_name(kind), error.to_string())),
            }
        }
        // One that a damaged file may need stays too.
        if result.kept.is_empty() {
            let needed = self.needed_masters(&newest)?;
            for entry in self.masters().list()? {
                if !needed.contains(&entry.id) {
                    self.masters().remove(&entry.id)?;
                    self.read().masters.remove(&entry.id);
                    result.removed.push(entry.id);
                }
            }
        }
        Ok(result)
    }

    /// Wraps a key with a master key; false if it is wrapped by that one already.
    fn rewrap_key(
        &self,
        kind: DataKind,
        id: KeyId,
        master: &MasterKey,
    ) -> Result<bool, EncryptionError> {
        let folder = self.folder();
        let Some(wrapped) = WrappedKey::read(folder, kind, id)? else { return Ok(false) };
        if wrapped.master == master.id() {
            return Ok(false);
        }
        let key = wrapped.unwrap(folder, kind, id, &*self.master(&wrapped.master, kind, id)?)?;
        WrappedKey::wrap(kind, id, &key, master)?.write(folder, kind, id)?;
        Ok(true)
    }

    /// Returns the master keys that the files name now, and the newest.
    fn needed_masters(&self, newest: &MasterKey) -> Result<BTreeSet<MasterId>, EncryptionError> {
        let mut needed = BTreeSet::from([newest.id()]);
        for (kind, id) in self.find_files()? {
            needed.extend(WrappedKey::read(self.folder(), kind, id)?.map(|key| key.master));
        }
        Ok(needed)
    }

    /// Moves all keys to a folder of their own if the list of master keys was not written with this home's
    /// key, such as after that key was lost: new texts get new keys then. Returns the folder; `None` if
    /// the list is good.
    ///
    /// # Errors
    /// Fails if something cannot be moved.
    pub fn quarantine_keys(&self, now: u64) -> Result<Option<PathBuf>, EncryptionError> {
        if !self.masters().is_forged()? {
            return Ok(None);
        }
        let path = self.folder().join(format!("damaged-{now}"));
        create_private_folder(&path).map_err(EncryptionError::io("create", &path))?;
        for entry in fs::read_dir(self.folder()).map_err(EncryptionError::io("read", &path))? {
            let entry = entry.map_err(EncryptionError::io("read", self.folder()))?;
            if entry.path() != path {
                let to = path.join(entry.file_name());
                fs::rename(entry.path(), &to).map_err(EncryptionError::io("create", &to))?;
            }
        }
        Ok(Some(path))
    }

    /// Takes the lock of the folder until the returned file is dropped.
    pub(crate) fn lock(&self) -> Result<File, EncryptionError> {
        let path = self.folder().join("lock");
        let opened = create_private_folder(self.folder()).and_then(|()| open_lock_file(&path));
        let file = opened.map_err(EncryptionError::io("create", &path))?;
        let taken = wait_for_lock(PATIENCE, || file.try_lock());
        taken.map_err(|error| EncryptionError::io("lock", &path)(error.into()))?;
        Ok(file)
    }

    /// Removes what killed writers left: a draft holds a key that may have been destroyed since. The lock
    /// has to be held.
    fn remove_drafts(&self) -> Result<(), EncryptionError> {
        let failed = |error| EncryptionError::io("read", self.folder())(error);
        for entry in fs::read_dir(self.folder()).map_err(failed)? {
            let entry = entry.map_err(EncryptionError::io("read", self.folder()))?;
            if is_draft(&entry.file_name()) {
                let path = entry.path();
                destroy_file(&path).map_err(EncryptionError::io("destroy", &path))?;
            }
        }
        Ok(())
    }
}

fn is_draft(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}
