//! The file of one day's key.

use crate::error::EncryptionError;
use crate::key_id::{DataKind, KeyId};
use crate::master_id::MasterId;
use crate::master_key::{KEY_BYTES, MasterKey, open_bytes, random_bytes, seal_bytes};
use data_encoding::HEXLOWER;
use portcullis_fs::{Links, Replacement, read_file};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The most bytes of a key file.
const MOST_BYTES: u64 = 1024;

/// The key of one day, for one kind of data.
pub(crate) type DayKey = Zeroizing<[u8; KEY_BYTES]>;

/// A day's key as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrappedKey {
    /// The master key that it is wrapped by.
    pub(crate) master: MasterId,
    /// Nonce and ciphertext, in hex digits.
    key: String,
}

/// Makes the key of a day.
pub(crate) fn make_key() -> Result<DayKey, EncryptionError> {
    random_bytes().map(Zeroizing::new)
}

pub(crate) fn path_of(folder: &Path, kind: DataKind, id: KeyId) -> PathBuf {
    folder.join(id.file_name(kind))
}

impl WrappedKey {
    /// Wraps a key for the file of that name.
    pub(crate) fn wrap(
        kind: DataKind,
        id: KeyId,
        key: &DayKey,
        master: &MasterKey,
    ) -> Result<Self, EncryptionError> {
        let place = id.file_name(kind);
        let sealed = seal_bytes(master.bytes(), place.as_bytes(), key.as_slice())?;
        Ok(Self { master: master.id(), key: HEXLOWER.encode(&sealed) })
    }

    /// Reads the file of a key; `None` if there is none.
    pub(crate) fn read(
        folder: &Path,
        kind: DataKind,
        id: KeyId,
    ) -> Result<Option<Self>, EncryptionError> {
        let path = path_of(folder, kind, id);
        let damaged = |path: &Path| EncryptionError::KeyDamaged { path: path.to_owned() };
        match read_file(&path, MOST_BYTES, Links::Refuse) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => serde_json::from_slice(&text).map(Some).map_err(|_| damaged(&path)),
            Err(portcullis_fs::ReadError::Io(error)) => {
                Err(EncryptionError::io("read", &path)(error))
            }
            Err(_) => Err(damaged(&path)),
        }
    }

    /// Writes the file, in place of the one before it. It is on the disk afterwards: nothing that is
    /// encrypted with the key may be more durable than the key.
    pub(crate) fn write(
        &self,
        folder: &Path,
        kind: DataKind,
        id: KeyId,
    ) -> Result<(), EncryptionError> {
        let path = path_of(folder, kind, id);
        let text = serde_json::to_vec(self).unwrap_or_default();
        Replacement::new(&path, 0o600)
            .write_with(|file: &mut dyn Write| file.write_all(&text))
            .map_err(EncryptionError::io("write", &path))
    }

    /// Unwraps the key.
    pub(crate) fn unwrap(
        &self,
        folder: &Path,
        kind: DataKind,
        id: KeyId,
        master: &MasterKey,
    ) -> Result<DayKey, EncryptionError> {
        let damaged = || EncryptionError::KeyDamaged { path: path_of(folder, kind, id) };
        let sealed = HEXLOWER.decode(self.key.as_bytes()).map_err(|_| damaged())?;
        let place = id.file_name(kind);
        let key = open_bytes(master.bytes(), place.as_bytes(), &sealed).ok_or_else(damaged)?;
        <[u8; KEY_BYTES]>::try_from(key.as_slice()).map(Zeroizing::new).map_err(|_| damaged())
    }
}
