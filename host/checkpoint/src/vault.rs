//! The vault's folder: its access rights, its locks, and its clock.

use crate::entry::EntryInfo;
use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::id::Id;
use crate::name_key::INDEX;
use crate::node::{ContentDigest, Time};
use crate::packs::Packs;
use crate::request::Bounds;
use crate::sealed::VaultDir;
use crate::steps::{NoHook, StepHook};
use portcullis_encryption::DataKeys;
use portcullis_fs::{create_private_folder, open_lock_file, wait_for_lock};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The folders of the vault.
pub(crate) const FOLDERS: [&str; 7] =
    ["packs", "checkpoints", "snapshots", "roots", "restores", INDEX, "drafts"];

/// All checkpoints of a user, in one folder. Any number of processes may use it at once.
#[derive(Clone, Debug)]
pub struct Vault {
    pub(crate) dir: VaultDir,
    pub(crate) bounds: Bounds,
    pub(crate) files: FileAccess,
}

impl Vault {
    /// Opens a vault, and creates the folder (0700) if it does not exist. `keys` encrypt what is new in
    /// it, unless they are off, and decrypt the rest.
    ///
    /// # Errors
    /// Fails if the folder belongs to another user or others may enter it, or if the system
    /// refuses.
    pub fn open_folder(
        folder: impl Into<PathBuf>,
        keys: &DataKeys,
        bounds: Bounds,
    ) -> Result<Self> {
        let folder = folder.into();
        for name in FOLDERS {
            let path = folder.join(name);
            if !path.is_dir() {
                create_private_folder(&path).map_err(CheckpointError::io("make", path))?;
            }
        }
        let found = fs::metadata(&folder).map_err(CheckpointError::io("look at", &folder))?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(CheckpointError::NotPrivate { path: folder });
        }
        Ok(Self {
            dir: VaultDir {
                folder,
                keys: keys.clone(),
                steps: Arc::new(NoHook),
                durability: bounds.durability,
            },
            bounds,
            files: FileAccess::default(),
        })
    }

    /// Keeps and restores files through another access than that of this process's user.
    #[must_use]
    pub fn with_files(self, files: FileAccess) -> Self {
        Self { files, ..self }
    }

    /// Calls `steps` for every step that outlives the process, before it is taken.
    #[must_use]
    pub fn with_step_hook(mut self, steps: Arc<dyn StepHook>) -> Self {
        self.dir.steps = steps;
        self
    }

    /// Returns the bytes of a content, for a text difference. All in memory: at most the policy's
    /// largest file.
    ///
    /// # Errors
    /// Fails if the content is not in the vault or is damaged.
    pub fn read_content(&self, digest: &ContentDigest) -> Result<Vec<u8>> {
        let _lock = self.lock_shared()?;
        let mut bytes = Vec::new();
        Packs::load(&self.dir)?.copy(&self.dir, digest, &self.dir.folder, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Reads a file of the tree as it is now, which may have been replaced by anything since it was
    /// listed; none if it is not a regular file of at most `most` bytes. No link is followed.
    #[must_use]
    pub fn read_current(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let mut file = self.files.open(path.parent()?).ok()?.read(path.file_name()?).ok()?;
        let found = file.info().ok()?;
        if found.kind != FileType::RegularFile || found.stamp.size > most {
            return None;
        }
        let mut bytes = Vec::new();
        (&mut file).take(most + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= most).then_some(bytes)
    }

    /// Takes a shared lock, which keeps collections away until it is dropped.
    pub(crate) fn lock_shared(&self) -> Result<File> {
        self.lock("lock", File::try_lock_shared)
    }

    /// Takes the exclusive lock, which keeps all other processes away.
    pub(crate) fn lock_exclusive(&self) -> Result<File> {
        self.lock("lock", File::try_lock)
    }

    /// Takes the lock that keeps other restores away.
    pub(crate) fn lock_restores(&self) -> Result<File> {
        self.lock("restore.lock", File::try_lock)
    }

    fn lock(
        &self,
        name: &str,
        lock: impl Fn(&File) -> std::result::Result<(), TryLockError>,
    ) -> Result<File> {
        let path = self.dir.folder.join(name);
        let file = open_lock_file(&path).map_err(CheckpointError::io("lock", &path))?;
        match wait_for_lock(self.bounds.patience, || lock(&file)) {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(CheckpointError::Busy { path }),
            Err(TryLockError::Error(error)) => Err(CheckpointError::io("lock", path)(error)),
        }
    }

    /// Returns the time of the file system's clock, which no caller can set: that of a file that is
    /// written now.
    pub(crate) fn clock(&self) -> Result<Time> {
        let path = self.dir.folder.join("clock");
        let read = || -> io::Result<Time> {
            let mut file = open_lock_file(&path)?;
            file.write_all(b"t")?;
            Ok(EntryInfo::of_file(&file)?.stamp.modified)
        };
        read().map_err(CheckpointError::io("write", &path))
    }

    /// Returns device and inode of its folder and of that of the keys.
    pub(crate) fn own_folders(&self) -> Result<Vec<(u64, u64)>> {
        let mut own = Vec::new();
        for folder in [self.dir.folder.as_path(), self.dir.keys.folder()] {
            match fs::metadata(folder) {
                // Without keys, the vault was plain until now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                found => {
                    let found = found.map_err(CheckpointError::io("look at", folder))?;
                    own.push((found.dev(), found.ino()));
                }
            }
        }
        Ok(own)
    }

    /// Returns the restores that did not finish.
    pub(crate) fn unfinished(&self) -> Result<Vec<Id>> {
        let names = self.dir.list("restores")?;
        Ok(names.iter().filter_map(|path| Id::new(path.file_name()?.to_str()?).ok()).collect())
    }

    /// Returns the names of the folders that unfinished restores work in, which are not part of a
    /// tree's content.
    pub(crate) fn restore_folders(&self) -> Result<BTreeSet<OsString>> {
        Ok(self.unfinished()?.iter().map(staging_name).collect())
    }
}

/// Returns the name of the folder in a root for staged files.
pub(crate) fn staging_name(undo: &Id) -> OsString {
    format!(".portcullis-restore-{undo}").into()
}
