//! A master key that a passphrase opens: the portable form, for backups and for machines whose keyring
//! starts empty.

use crate::error::EncryptionError;
use crate::master_id::MasterId;
use crate::master_key::{KEY_BYTES, MasterKey, open_bytes, random_bytes, seal_bytes};
use argon2::{Algorithm, Argon2, Params, Version};
use data_encoding::HEXLOWER;
use portcullis_fs::{Links, ReadError, Replacement, read_file};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;
use zeroize::Zeroizing;

const MOST_BYTES: u64 = 4096;
const PLACE: &[u8] = b"portcullis 2026 locked master key";
const SALT_BYTES: usize = 16;

/// The cost of trying a passphrase: what RFC 9106 recommends where memory is short, 64 MiB.
const COST: Cost = Cost { memory_kib: 64 << 10, passes: 3, lanes: 4 };
/// The highest cost that is accepted in a file, which somebody else may have written.
const MOST_COST: Cost = Cost { memory_kib: 1 << 20, passes: 16, lanes: 16 };

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// A master key that a passphrase opens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedKey {
    /// The key's id.
    pub master: MasterId,
    argon2id: Cost,
    /// In hex digits.
    salt: String,
    /// Nonce and ciphertext, in hex digits.
    key: String,
}

impl LockedKey {
    /// Locks a key with a passphrase, which takes some tenths of a second.
    ///
    /// # Errors
    /// Fails if the system gives no random numbers.
    pub fn lock(key: &MasterKey, passphrase: &SecretString) -> Result<Self, EncryptionError> {
        let salt: [u8; SALT_BYTES] = random_bytes()?;
        let derived = derive(passphrase, &salt, COST).ok_or(EncryptionError::Changed)?;
        let sealed = seal_bytes(&derived, PLACE, key.bytes())?;
        Ok(Self {
            master: key.id(),
            argon2id: COST,
            salt: HEXLOWER.encode(&salt),
            key: HEXLOWER.encode(&sealed),
        })
    }

    /// Opens the key. `path` is the file that this was read from, for the error.
    ///
    /// # Errors
    /// Fails with [`EncryptionError::WrongPassphrase`] for another passphrase, or a damaged file.
    pub fn open(
        &self,
        passphrase: &SecretString,
        path: &Path,
    ) -> Result<MasterKey, EncryptionError> {
        let wrong = || EncryptionError::WrongPassphrase { path: path.to_owned() };
        let salt = HEXLOWER.decode(self.salt.as_bytes()).map_err(|_| wrong())?;
        let sealed = HEXLOWER.decode(self.key.as_bytes()).map_err(|_| wrong())?;
        let derived = derive(passphrase, &salt, self.argon2id).ok_or_else(wrong)?;
        let key = open_bytes(&derived, PLACE, &sealed).ok_or_else(wrong)?;
        MasterKey::of_bytes(&key).filter(|key| key.id() == self.master).ok_or_else(wrong)
    }

    /// Reads one from a file; `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Option<Self>, EncryptionError> {
        let text = match read_file(path, MOST_BYTES, Links::Follow) {
            Ok(None) => return Ok(None),
            Ok(Some(text)) => text,
            Err(ReadError::Io(error)) => return Err(EncryptionError::io("read", path)(error)),
            Err(_) => return Err(EncryptionError::KeyDamaged { path: path.to_owned() }),
        };
        let parsed = serde_json::from_slice(&text);
        parsed.map(Some).map_err(|_| EncryptionError::KeyDamaged { path: path.to_owned() })
    }

    /// Writes it to a file, mode 0600, in place of an earlier one.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EncryptionError> {
        let write = |file: &mut dyn Write| -> io::Result<()> {
            serde_json::to_writer(&mut *file, self)?;
            file.write_all(b"\n")
        };
        Replacement::new(path, 0o600).write_with(write).map_err(EncryptionError::io("write", path))
    }
}

/// Returns the key of a passphrase; `None` for a cost that no version wrote.
fn derive(
    passphrase: &SecretString,
    salt: &[u8],
    cost: Cost,
) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let is_bounded = cost.memory_kib <= MOST_COST.memory_kib
        && cost.passes <= MOST_COST.passes
        && cost.lanes <= MOST_COST.lanes;
    if !is_bounded {
        return None;
    }
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(KEY_BYTES)).ok()?;
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.expose_secret().as_bytes(), salt, key.as_mut_slice())
        .ok()?;
    Some(key)
}
