//! The vault's own files: drafted, flushed and renamed, so that a reader never sees a partial one;
//! and the checksum that reveals a damaged one.

use crate::error::CheckpointError;
use crate::request::CheckpointDurability;
use crate::steps::StepHook;
use portcullis_fs::sync_folder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Result<T> = std::result::Result<T, CheckpointError>;

const MARK: &[u8; 8] = b"pcchk\0\0\x01";
const SEAL: usize = 32;
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// The vault's folder, and the way in which files are written to it.
#[derive(Clone, Debug)]
pub(crate) struct VaultDir {
    pub(crate) folder: PathBuf,
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

    /// Writes a value with its checksum; returns true if the name was free or could be replaced.
    pub(crate) fn write<T: Serialize>(
        &self,
        target: &Path,
        value: &T,
        replace: bool,
    ) -> Result<bool> {
        let bytes = seal(value).map_err(CheckpointError::io("write", target))?;
        let (draft, mut file) = self.draft()?;
        if let Err(error) = file.write_all(&bytes) {
            let _ = fs::remove_file(&draft);
            return Err(CheckpointError::io("write", target)(error));
        }
        self.publish(&draft, &file, target, replace)
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

fn seal<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let body = postcard::to_allocvec(value).map_err(|error| io::Error::other(error.to_string()))?;
    let mut bytes = Vec::with_capacity(body.len() + MARK.len() + SEAL);
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(blake3::hash(&body).as_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Reads a value and checks it; none if the file does not exist.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(CheckpointError::io("read", path))?,
    };
    let damaged = |reason| CheckpointError::Damaged { path: path.to_owned(), reason };
    let (mark, rest) =
        bytes.split_at_checked(MARK.len()).ok_or_else(|| damaged("it is too short"))?;
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
    postcard::from_bytes(body).map(Some).map_err(|_| damaged("its content is wrong"))
}
