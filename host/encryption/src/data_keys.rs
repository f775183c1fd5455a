//! The keys of a home's data: found, made, wrapped again and destroyed.

use crate::day_key::{DayKey, WrappedKey, make_key, path_of};
use crate::error::EncryptionError;
use crate::key_id::{DataKind, Day, KeyId};
use crate::master_id::MasterId;
use crate::master_key::{MasterKey, open_behind, random_bytes, seal_behind};
use crate::master_store::MasterStore;
use portcullis_fs::SealedDocument;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The beginning of an encrypted text. No UTF-8 text and no state of a session begins with it.
const MARK: [u8; 4] = [0xff, b'p', b'c', 1];
const HEADER: usize = MARK.len() + 8;
const MOST_OFF: u64 = 256;

/// The keys of a home's data. Clones share what they have read.
#[derive(Clone)]
pub struct DataKeys(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    masters: MasterStore,
    off: SealedDocument,
    read: Mutex<ReadKeys>,
}

/// The keys that this process has read.
#[derive(Default)]
pub(crate) struct ReadKeys {
    pub(crate) masters: BTreeMap<MasterId, Arc<MasterKey>>,
    pub(crate) days: BTreeMap<(DataKind, KeyId), Arc<DayKey>>,
    /// The key that new texts of a kind get.
    newest: BTreeMap<DataKind, KeyId>,
}

impl std::fmt::Debug for DataKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataKeys").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

/// The mark of a home that encrypts nothing new.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Off {
    off: bool,
}

/// A day key as its file shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStatus {
    /// The kind of data.
    pub kind: DataKind,
    /// Its name.
    pub id: KeyId,
    /// The master key that it is wrapped by; the problem with a file that this home did not write.
    pub master: Result<MasterId, String>,
}

impl DataKeys {
    /// Names the keys in a folder, which need not exist yet. `key` seals the list of master keys:
    /// without it nobody can lead one to another command.
    #[must_use]
    pub fn new(folder: PathBuf, key: [u8; 32]) -> Self {
        let masters = MasterStore::new(folder.join("master"), key);
        let off = SealedDocument::new(folder.join("off"), key, MOST_OFF);
        Self(Arc::new(Shared { folder, masters, off, read: Mutex::default() }))
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Returns the master keys.
    #[must_use]
    pub fn masters(&self) -> &MasterStore {
        &self.0.masters
    }

    /// Returns true if new texts stay plain.
    ///
    /// # Errors
    /// Fails if somebody else made the mark that says so.
    pub fn is_off(&self) -> Result<bool, EncryptionError> {
        let path = self.0.off.path();
        match self.0.off.read_content::<Off>() {
            Ok(mark) => Ok(mark.is_some_and(|mark| mark.off)),
            Err(portcullis_fs::SealError::Io(error)) => {
                Err(EncryptionError::io("read", path)(error))
            }
            Err(_) => Err(EncryptionError::KeyDamaged { path: path.to_owned() }),
        }
    }

    /// Lets new texts stay plain, or be encrypted again. What is kept already stays as it is.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn set_off(&self, off: bool) -> Result<(), EncryptionError> {
        let path = self.0.off.path();
        if off {
            let written = self.0.off.write_content(&Off { off });
            return written
                .map_err(|error| EncryptionError::io("write", path)(io::Error::other(error)));
        }
        self.0.off.remove().map(drop).map_err(EncryptionError::io("remove", path))
    }

    /// Encrypts a text of a time (milliseconds since 1970) for a place; `None` if new texts stay plain.
    /// The result is some 70 bytes longer than the text.
    ///
    /// # Errors
    /// Fails if the newest master key is not available, or the key of the day cannot be written.
    pub fn encrypt(
        &self,
        kind: DataKind,
        at: u64,
        place: &[&str],
        plain: &[u8],
    ) -> Result<Option<Vec<u8>>, EncryptionError> {
        if self.is_off()? {
            return Ok(None);
        }
        let (id, key) = self.key_to_write(kind, Day::of_time(at))?;
        let header = [MARK.as_slice(), &id.to_bytes()].concat();
        seal_behind(&header, &key, &bind(kind, place, &header), plain).map(Some)
    }

    /// Returns the key that an encrypted text names; `None` if the bytes are plain.
    #[must_use]
    pub fn key_of(encrypted: &[u8]) -> Option<KeyId> {
        let id = encrypted.strip_prefix(&MARK)?.first_chunk::<8>()?;
        Some(KeyId::of_bytes(*id))
    }

    /// Decrypts what [`DataKeys::encrypt`] returned for that place. Plain bytes are returned as they
    /// are: whether plain ones may be there is for their owner to check, by a seal of its own.
    ///
    /// # Errors
    /// Fails if the key was destroyed or its master key is not available, or with
    /// [`EncryptionError::Changed`] if the bytes are not what was encrypted for that place.
    pub fn decrypt(
        &self,
        kind: DataKind,
        place: &[&str],
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, EncryptionError> {
        if !bytes.starts_with(&MARK) {
            return Ok(bytes);
        }
        let id = Self::key_of(&bytes).ok_or(EncryptionError::Changed)?;
        let key = self.key_to_read(kind, id)?;
        let header = bytes.get(..HEADER).ok_or(EncryptionError::Changed)?;
        let bound = bind(kind, place, header);
        open_behind(HEADER, &key, &bound, bytes).ok_or(EncryptionError::Changed)
    }

    /// Returns all day keys, the oldest of each kind first.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn list_keys(&self) -> Result<Vec<KeyStatus>, EncryptionError> {
        let status = |(kind, id)| {
            let master = match WrappedKey::read(self.folder(), kind, id) {
                Ok(Some(wrapped)) => Ok(wrapped.master),
                Ok(None) => return None,
                Err(error) => Err(error.to_string()),
            };
            Some(KeyStatus { kind, id, master })
        };
        Ok(self.find_files()?.into_iter().filter_map(status).collect())
    }

    /// Returns the keys of a kind of the days before `before`.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn keys_before(&self, kind: DataKind, before: Day) -> Result<Vec<KeyId>, EncryptionError> {
        let files = self.find_files()?.into_iter();
        Ok(files.filter(|(of, id)| *of == kind && id.day < before).map(|(_, id)| id).collect())
    }

    pub(crate) fn read(&self) -> MutexGuard<'_, ReadKeys> {
        self.0.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the files of the folder that are named like day keys, in order.
    pub(crate) fn find_files(&self) -> Result<BTreeSet<(DataKind, KeyId)>, EncryptionError> {
        let entries = match fs::read_dir(self.folder()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(EncryptionError::io("read", self.folder()))?,
        };
        let mut files = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(EncryptionError::io("read", self.folder()))?;
            files.extend(entry.file_name().to_str().and_then(KeyId::parse));
        }
        Ok(files)
    }

    /// Returns the key that new texts of a day get; makes it if there is none that can be used.
    fn key_to_write(
        &self,
        kind: DataKind,
        day: Day,
    ) -> Result<(KeyId, Arc<DayKey>), EncryptionError> {
        let known = {
            let read = self.read();
            let newest = read.newest.get(&kind).copied().filter(|id| id.day == day);
            // A key that was read is as good: its master key is available.
            let any = || read.days.keys().find(|(of, id)| *of == kind && id.day == day);
            let id = newest.or_else(|| any().map(|(_, id)| *id));
            id.and_then(|id| Some((id, read.days.get(&(kind, id))?.clone())))
        };
        // Without its file, nobody could read the text once this process has ended.
        if let Some((id, key)) = known
            && path_of(self.folder(), kind, id).exists()
        {
            return Ok((id, key));
        }
        let (id, key) = match self.find_key(kind, day)? {
            Some(found) => found,
            None => self.make_key(kind, day)?,
        };
        let mut read = self.read();
        read.newest.insert(kind, id);
        read.days.insert((kind, id), key.clone());
        Ok((id, key))
    }

    /// Finds a key of a day that the newest master key wraps.
    fn find_key(
        &self,
        kind: DataKind,
        day: Day,
    ) -> Result<Option<(KeyId, Arc<DayKey>)>, EncryptionError> {
        let masters = self.0.masters.list()?;
        let Some(newest) = masters.first() else { return Ok(None) };
        for (of, id) in self.find_files()? {
            if of != kind || id.day != day {
                continue;
            }
            let wrapped = WrappedKey::read(self.folder(), kind, id)?;
            if wrapped.is_some_and(|wrapped| wrapped.master == newest.id) {
                return self.key_to_read(kind, id).map(|key| Some((id, key)));
            }
        }
        Ok(None)
    }

    fn make_key(&self, kind: DataKind, day: Day) -> Result<(KeyId, Arc<DayKey>), EncryptionError> {
        let _lock = self.lock()?;
        // Behind a command a key is asked for once.
        let master = match self.0.masters.list()?.first() {
            Some(newest) => self.master(&newest.id, kind, KeyId { day, serial: 0 })?,
            None => Arc::new(self.0.masters.read_newest()?),
        };
        let id = KeyId { day, serial: u32::from_be_bytes(random_bytes()?) };
        let key = make_key()?;
        WrappedKey::wrap(kind, id, &key, &master)?.write(self.folder(), kind, id)?;
        Ok((id, Arc::new(key)))
    }

    fn key_to_read(&self, kind: DataKind, id: KeyId) -> Result<Arc<DayKey>, EncryptionError> {
        if let Some(known) = self.read().days.get(&(kind, id)) {
            return Ok(known.clone());
        }
        let missing = || EncryptionError::KeyMissing { kind, day: id.day };
        let wrapped = WrappedKey::read(self.folder(), kind, id)?.ok_or_else(missing)?;
        let master = self.master(&wrapped.master, kind, id)?;
        let key = Arc::new(wrapped.unwrap(self.folder(), kind, id, &master)?);
        self.read().days.insert((kind, id), key.clone());
        Ok(key)
    }

    pub(crate) fn master(
        &self,
        id: &MasterId,
        kind: DataKind,
        of: KeyId,
    ) -> Result<Arc<MasterKey>, EncryptionError> {
        if let Some(known) = self.read().masters.get(id) {
            return Ok(known.clone());
        }
        let key = Arc::new(self.0.masters.read(id).or_else(|error| {
            let is_known = self.0.masters.list()?.iter().any(|entry| entry.id == *id);
            let unknown = EncryptionError::MasterUnknown { id: id.clone(), kind, day: of.day };
            Err(if is_known { error } else { unknown })
        })?);
        self.read().masters.insert(id.clone(), key.clone());
        Ok(key)
    }
}

/// Returns what a text is bound to: its kind, its place, and the header that names its key.
fn bind(kind: DataKind, place: &[&str], header: &[u8]) -> Vec<u8> {
    let mut bound = Vec::new();
    for part in [kind.as_str()].iter().chain(place) {
        bound.extend((part.len() as u64).to_be_bytes());
        bound.extend(part.as_bytes());
    }
    bound.extend(header);
    bound
}
