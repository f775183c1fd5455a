//! The vault's own files: drafted, flushed and renamed, so that a reader never sees a partial one;
//! and encrypted for their place, or with a checksum, so that a damaged one is noticed.
//!
//! ```text
//! encrypted   mark 2 | a text that is encrypted with the key of a day, and names it
//! plain       mark 1 | checksum | text
//! ```

use crate::error::CheckpointError;
use crate::request::CheckpointDurability;
use crate::steps::StepHook;
use portcullis_encryption::{DataKeys, DataKind, EncryptionError, KeyId};
use portcullis_fs::sync_folder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(crate) const KIND: DataKind = DataKind::Checkpoints;
pub(crate) const MARK_BYTES: usize = 8;
const MARK: &[u8; MARK_BYTES] = b"pcchk\0\0\x01";
const MARK_ENCRYPTED: &[u8; MARK_BYTES] = b"pcchk\0\0\x02";
/// The beginning of a file that shows its key: its mark, and the beginning of an encrypted text.
const KEY_SHOWN: u64 = MARK_BYTES as u64 + 12;
const SEAL: usize = 32;
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// The vault's folder, and the way in which files are written to it.
#[derive(Clone, Debug)]
pub(crate) struct VaultDir {
    pub(crate) folder: PathBuf,
    pub(crate) keys: DataKeys,
    pub(crate) steps: Arc<dyn StepHook>,
    pub(crate) durability: CheckpointDurability,
}

impl VaultDir {
    /// Creates an empty private file with a temporary name.
    pub(crate) fn draft(&self) -> Result<(PathBuf, File)> {
        loop {
            let name = format!("{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
            let path = self.folder.join("drafts").join(name);
            self.step("write", &path)?;
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)
            {
                Ok(file) => return Ok((path, file)),
                // Left by a process that died and had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(CheckpointError::io("write", path)(error)),
            }
        }
    }

    /// Renames a draft to its final name. Without `replace` the name must be free: returns true if
    /// it was.
    pub(crate) fn publish(
        &self,
        draft: &Path,
        file: &File,
        target: &Path,
        replace: bool,
    ) -> Result<bool> {
        let named = self.try_publish(draft, file, target, replace);
        if !matches!(named, Ok(true)) || !replace {
            // If it is left over after a crash, the next collection removes it.
            let _ = fs::remove_file(draft);
        }
        named
    }

    fn try_publish(&self, draft: &Path, file: &File, target: &Path, replace: bool) -> Result<bool> {
        let failed = |error| CheckpointError::io("write", target)(error);
        if self.durability == CheckpointDurability::Power {
            self.step("flush", draft)?;
            file.sync_data().map_err(failed)?;
        }
        self.step("publish", target)?;
        // A link fails if the name is taken, where a rename would replace the file.
        let named = if replace { fs::rename(draft, target) } else { fs::hard_link(draft, target) };
        match named {
            Err(error) if !replace && error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(false);
            }
            other => other.map_err(failed)?,
        }
        if self.durability == CheckpointDurability::Power {
            target.parent().map_or(Ok(()), sync_folder).map_err(failed)?;
        }
        Ok(true)
    }

    /// Writes a value for its place, with the key of the day of `at` (milliseconds since 1970); returns
    /// true if the name was free or could be replaced.
    pub(crate) fn write<T: Serialize>(
        &self,
        target: &Path,
        value: &T,
        replace: bool,
        at: u64,
    ) -> Result<bool> {
        let body = postcard::to_allocvec(value)
            .map_err(|error| io::Error::other(error.to_string()))
            .map_err(CheckpointError::io("write", target))?;
        self.write_body(target, &body, replace, at)
    }

    fn write_body(&self, target: &Path, body: &[u8], replace: bool, at: u64) -> Result<bool> {
        let encrypted = self
            .keys
            .encrypt(KIND, at, &self.place_of(target), body)
            .map_err(CheckpointError::encryption("encrypt", target))?;
        let sum;
        let parts = match &encrypted {
            Some(encrypted) => [MARK_ENCRYPTED.as_slice(), encrypted, &[]],
            None => {
                sum = blake3::hash(body);
                [MARK.as_slice(), sum.as_bytes(), body]
            }
        };
        let (draft, mut file) = self.draft()?;
        if let Err(error) = parts.into_iter().try_for_each(|part| file.write_all(part)) {
            let _ = fs::remove_file(&draft);
            return Err(CheckpointError::io("write", target)(error));
        }
        self.publish(&draft, &file, target, replace)
    }

    /// Reads a value and checks it; none if the file does not exist.
    pub(crate) fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>> {
        let Some(body) = self.read_body(path)? else { return Ok(None) };
        postcard::from_bytes(&body).map(Some).map_err(|_| damaged(path)("its content is wrong"))
    }

    fn read_body(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let mut bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(CheckpointError::io("read", path))?,
        };
        let damaged = damaged(path);
        if bytes.len() < MARK_BYTES {
            return Err(damaged("it is too short"));
        }
        if bytes.starts_with(MARK_ENCRYPTED) {
            bytes.drain(..MARK_BYTES);
            return self.decrypt(path, bytes).map(Some);
        }
        let (mark, rest) = bytes.split_at_checked(MARK_BYTES).unwrap_or_default();
        if mark != MARK {
            let other = mark.get(..5) == MARK.get(..5);
            return Err(if other {
                CheckpointError::OtherVersion { path: path.to_owned() }
            } else {
                damaged("its header is wrong")
            });
        }
        let (sum, body) = rest.split_at_checked(SEAL).ok_or_else(|| damaged("it is too short"))?;
        if blake3::hash(body).as_bytes() != sum {
            return Err(damaged("its checksum is wrong"));
        }
        Ok(Some(body.to_vec()))
    }

    fn decrypt(&self, path: &Path, text: Vec<u8>) -> Result<Vec<u8>> {
        // The mark says that it is encrypted: a plain text was put there.
        DataKeys::key_of(&text)
            .ok_or(EncryptionError::Changed)
            .and_then(|_| self.keys.decrypt(KIND, &self.place_of(path), text))
            .map_err(CheckpointError::encryption("decrypt", path))
    }

    /// Writes a file again, with the key of another day.
    pub(crate) fn rewrite(&self, path: &Path, at: u64) -> Result<()> {
        match self.read_body(path)? {
            Some(body) => self.write_body(path, &body, true, at).map(drop),
            None => Ok(()),
        }
    }

    /// Returns the key that a file of the vault names; none for a plain or a missing one.
    pub(crate) fn key_of(&self, path: &Path) -> Result<Option<KeyId>> {
        let mut begin = Vec::new();
        let read = File::open(path).and_then(|file| file.take(KEY_SHOWN).read_to_end(&mut begin));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read
                .map(|_| begin.get(MARK_BYTES..).and_then(DataKeys::key_of))
                .map_err(CheckpointError::io("read", path)),
        }
    }

    /// Returns true if new files are encrypted.
    pub(crate) fn encrypts(&self) -> Result<bool> {
        let off = self.keys.is_off();
        off.map(|off| !off).map_err(CheckpointError::encryption("encrypt", &self.folder))
    }

    /// Returns the place that a file is encrypted for: its path in the vault.
    pub(crate) fn place_of<'p>(&self, path: &'p Path) -> Vec<&'p str> {
        let inside = path.strip_prefix(&self.folder).unwrap_or(path);
        inside.iter().filter_map(OsStr::to_str).collect()
    }

    /// Removes a file of the vault; a missing one is not an error.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        self.step("remove", path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(CheckpointError::io("remove", path)(error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn step(&self, act: &'static str, path: &Path) -> Result<()> {
        self.steps.before(act, path).map_err(CheckpointError::io(act, path))
    }

    /// Returns the paths in a folder of the vault, by name.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join(name);
        let read = || {
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()
        };
        let mut paths = read().map_err(CheckpointError::io("read", &folder))?;
        paths.sort_unstable();
        Ok(paths)
    }
}

fn damaged(path: &Path) -> impl Fn(&'static str) -> CheckpointError {
    move |reason| CheckpointError::Damaged { path: path.to_owned(), reason }
}
