//! The vault's folder: who may use it, who uses it now, and what time it is there.

use crate::error::CheckpointError;
use crate::id::Id;
use crate::index;
use crate::node::{Digest, Time};
use crate::packs::Packs;
use crate::report::{Listing, Shown};
use crate::request::Bounds;
use crate::sealed::{Desk, private_folder};
use crate::steps::{Steps, Unhindered};
use crate::tree::Found;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, CheckpointError>;

const FOLDERS: [&str; 7] = ["packs", "checkpoints", "snapshots", "roots", "restores", index::FOLDER, "drafts"];

/// All checkpoints of a user, in one folder. Any number of processes may use it at once.
#[derive(Clone, Debug)]
pub struct Vault {
    pub(crate) desk: Desk,
    pub(crate) bounds: Bounds,
}

impl Vault {
    /// Opens a vault, making the folder (0700) where there is none.
    ///
    /// # Errors
    /// The folder belongs to another user or others may enter it, or the system refuses.
    pub fn open(folder: impl Into<PathBuf>, bounds: Bounds) -> Result<Self> {
        let folder = folder.into();
        for name in FOLDERS {
            let path = folder.join(name);
            if !path.is_dir() {
                private_folder(&path).map_err(CheckpointError::io("make", path))?;
            }
        }
        let found = fs::metadata(&folder).map_err(CheckpointError::io("look at", &folder))?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(CheckpointError::NotPrivate { path: folder });
        }
        Ok(Self { desk: Desk { folder, steps: Arc::new(Unhindered), durability: bounds.durability }, bounds })
    }

    /// Tells `steps` of every step that outlives the process, before it is taken.
    #[must_use]
    pub fn with_steps(mut self, steps: Arc<dyn Steps>) -> Self {
        self.desk.steps = steps;
        self
    }

    /// All checkpoints, oldest first.
    ///
    /// # Errors
    /// The vault cannot be read. A damaged checkpoint is in the answer instead.
    pub fn list(&self) -> Result<Listing> {
        let _lock = self.share()?;
        let (manifests, mut damaged) = self.manifests()?;
        damaged.extend(Packs::load(&self.desk)?.damaged);
        let unfinished = self.unfinished()?;
        Ok(Listing { checkpoints: manifests.iter().map(crate::manifest::Manifest::listed).collect(), damaged, unfinished })
    }

    /// One checkpoint and what its action changed.
    ///
    /// # Errors
    /// There is none of that id, or it is damaged.
    pub fn show(&self, id: &Id) -> Result<Shown> {
        let _lock = self.share()?;
        let manifest = self.manifest(id)?;
        Ok(Shown { summary: manifest.listed(), left_out: manifest.left_out.clone(), changes: manifest.changes() })
    }

    /// The bytes of a content, for a text difference. All in memory: at most the policy's largest file.
    ///
    /// # Errors
    /// The content is not in the vault or damaged.
    pub fn content(&self, digest: &Digest) -> Result<Vec<u8>> {
        let _lock = self.share()?;
        let mut bytes = Vec::new();
        Packs::load(&self.desk)?.copy(digest, &self.desk.folder, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Keeps collections away until the answer is dropped.
    pub(crate) fn share(&self) -> Result<File> {
        self.lock("lock", File::try_lock_shared)
    }

    /// Keeps everybody away.
    pub(crate) fn own(&self) -> Result<File> {
        self.lock("lock", File::try_lock)
    }

    /// Keeps other restores away.
    pub(crate) fn own_restores(&self) -> Result<File> {
        self.lock("restore.lock", File::try_lock)
    }

    fn lock(&self, name: &str, lock: impl Fn(&File) -> std::result::Result<(), TryLockError>) -> Result<File> {
        let path = self.desk.folder.join(name);
        let file = private_file(&path).map_err(CheckpointError::io("lock", &path))?;
        let start = Instant::now();
        loop {
            match lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if start.elapsed() < self.bounds.patience => std::thread::sleep(Duration::from_millis(5)),
                Err(TryLockError::WouldBlock) => return Err(CheckpointError::Busy { path }),
                Err(TryLockError::Error(error)) => return Err(CheckpointError::io("lock", path)(error)),
            }
        }
    }

    /// What the file system's clock says, which no caller can set: the time of a file that is written now.
    pub(crate) fn clock(&self) -> Result<Time> {
        let path = self.desk.folder.join("clock");
        let read = || -> io::Result<Time> {
            let mut file = private_file(&path)?;
            file.write_all(b"t")?;
            Ok(Found::of_file(&file)?.stamp.modified)
        };
        read().map_err(CheckpointError::io("write", &path))
    }

    /// Its device and inode.
    pub(crate) fn place(&self) -> Result<(u64, u64)> {
        let found = fs::metadata(&self.desk.folder).map_err(CheckpointError::io("look at", &self.desk.folder))?;
        Ok((found.dev(), found.ino()))
    }

    /// Restores that began and did not end.
    pub(crate) fn unfinished(&self) -> Result<Vec<Id>> {
        let names = self.desk.list("restores")?;
        Ok(names.iter().filter_map(|path| Id::new(path.file_name()?.to_str()?).ok()).collect())
    }

    /// The folders that unfinished restores work in: no content of a tree.
    pub(crate) fn passed_over(&self) -> Result<BTreeSet<OsString>> {
        Ok(self.unfinished()?.iter().map(workplace).collect())
    }
}

/// The folder in a root where a restore writes files before it puts them in place.
pub(crate) fn workplace(undo: &Id) -> OsString {
    format!(".portcullis-restore-{undo}").into()
}

fn private_file(path: &Path) -> io::Result<File> {
    // For reading too: a pipe of that name would keep a mere writer waiting for its reader.
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
