//! The home, the folder that holds Portcullis's state: journal, key and cache.
//!
//! Only its owner may change it, and only its owner may read the key. Everything in it is created
//! under one lock, or appears by a rename, so that any number of processes may start at the same
//! time.

use crate::error::StoreError;
use portcullis_encryption::DataKeys;
use portcullis_fs::{
    Links, ReadError, Replacement, create_private_folder, open_file, open_lock_file, wait_for_lock,
};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The timeout for any lock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The name of the journal's mark in the home.
pub(crate) const MARK_FILE: &str = "journal.mark";

const KEY_SIZE: usize = 32;

/// Files, and non-empty folders, that only a home with a journal has.
const TRACES: &[&str] = &[MARK_FILE, "journal.db-wal", "incidents", "stopped"];

/// A checked home.
#[derive(Clone)]
pub struct Home {
    root: PathBuf,
    key: [u8; KEY_SIZE],
    data_keys: DataKeys,
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Home {
    /// Opens the home and creates missing parts: the folder (0700), `key` (32 random bytes, 0600)
    /// and `cache/` (0700).
    ///
    /// # Errors
    /// Fails if the folder or the key belongs to another user, others may change the folder or read
    /// the key, the key has the wrong size, or the system refuses.
    pub fn open_root(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        check_folder(&root)?;
        let key = match read_key(&root.join("key"))? {
            Some(key) => key,
            None => create_key(&root)?,
        };
        let home = Self::new(root, key);
        make_folder(&home.cache())?;
        Ok(home)
    }

    /// Opens an existing home and creates nothing; returns none if the folder or the key is
    /// missing.
    ///
    /// # Errors
    /// Fails in the same cases as [`Home::open_root`].
    pub fn open_existing(root: impl Into<PathBuf>) -> Result<Option<Self>, StoreError> {
        let root = root.into();
        if matches!(fs::metadata(&root), Err(error) if error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        check_folder(&root)?;
        Ok(read_key(&root.join("key"))?.map(|key| Self::new(root, key)))
    }

    fn new(root: PathBuf, key: [u8; KEY_SIZE]) -> Self {
        let sealing = blake3::derive_key("portcullis 2026 encryption keys", &key);
        let data_keys = DataKeys::new(root.join("keys"), sealing);
        Self { root, key, data_keys }
    }

    /// Returns the keys that encrypt what is kept here.
    #[must_use]
    pub const fn data_keys(&self) -> &DataKeys {
        &self.data_keys
    }

    /// Returns the folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the database: sessions and journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.db")
    }

    /// Returns the folder for data that can be created again, such as compiled code.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Returns the evidence that a home without a journal has had one: its mark, its log, or data
    /// about stopped sessions.
    #[must_use]
    pub fn journal_evidence(&self) -> Option<&'static str> {
        let left = |name: &&&str| {
            let path = self.root.join(name);
            fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir())
                || fs::read_dir(&path).is_ok_and(|mut held| held.next().is_some())
        };
        TRACES.iter().find(left).copied()
    }

    /// Derives a key for one purpose from the home's own, which never leaves this type. `purpose`
    /// is a constant that names application and use, for example `portcullis 2026 code cache`.
    #[must_use]
    pub fn derive_key(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.key)
    }

    /// Takes the home's lock and holds it until the returned file is dropped.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        lock(&self.root)
    }
}

fn check_folder(root: &Path) -> Result<(), StoreError> {
    let found = match fs::metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(root)?;
            fs::metadata(root).map_err(|error| StoreError::io("read", root, error))?
        }
        other => other.map_err(|error| StoreError::io("read", root, error))?,
    };
    if !found.is_dir() {
        return Err(StoreError::WrongKind { path: root.to_owned(), wanted: "folder" });
    }
    check_access(root, &found, 0o022, "700")
}

/// Creates a folder and its parents if they are missing.
fn make_folder(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    create_private_folder(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            StoreError::WrongKind { path: path.to_owned(), wanted: "folder" }
        }
        _ => StoreError::io("create", path, error),
    })
}

fn check_access(
    path: &Path,
    found: &fs::Metadata,
    forbidden: u32,
    wanted: &'static str,
) -> Result<(), StoreError> {
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return Err(StoreError::ForeignOwner { path: path.to_owned(), owner: found.uid(), user });
    }
    let mode = found.mode() & 0o7777;
    if mode & forbidden != 0 {
        return Err(StoreError::OpenToOthers { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

fn read_key(path: &Path) -> Result<Option<[u8; KEY_SIZE]>, StoreError> {
    let bad = |size| StoreError::BadKey { path: path.to_owned(), size };
    let failed = |error| match error {
        ReadError::Io(error) => StoreError::io("read", path, error),
        ReadError::NotAFile | ReadError::Link => {
            StoreError::WrongKind { path: path.to_owned(), wanted: "file" }
        }
        ReadError::TooLarge(size) => bad(size),
    };
    let opened =
        open_file(path, Links::Follow).map_err(|error| match (&error, fs::metadata(path)) {
            // A key of another user cannot be opened, and its owner says why.
            (ReadError::Io(_), Ok(found)) => {
                check_access(path, &found, 0o077, "600").err().unwrap_or(failed(error))
            }
            _ => failed(error),
        });
    let Some(open) = opened? else { return Ok(None) };
    check_access(path, &open.metadata, 0o077, "600")?;
    let size = open.metadata.len();
    if size != KEY_SIZE as u64 {
        return Err(bad(size));
    }
    let bytes = open.read_rest(KEY_SIZE as u64).map_err(failed)?;
    <[u8; KEY_SIZE]>::try_from(bytes.as_slice()).map(Some).map_err(|_| bad(bytes.len() as u64))
}

/// Creates the key, or reads the one that another process has created in the meantime. A reader
/// never sees half a key: it appears by a rename.
fn create_key(root: &Path) -> Result<[u8; KEY_SIZE], StoreError> {
    let _lock = lock(root)?;
    let path = root.join("key");
    if let Some(key) = read_key(&path)? {
        return Ok(key);
    }
    let mut key = [0; KEY_SIZE];
    getrandom::fill(&mut key)
        .map_err(|error| StoreError::io("create", &path, io::Error::other(error)))?;
    let written =
        Replacement::new(&path, 0o600).under_lock().write_with(|file| file.write_all(&key));
    written.map_err(|error: io::Error| StoreError::io("create", &path, error))?;
    Ok(key)
}

pub(crate) fn lock(root: &Path) -> Result<File, StoreError> {
    let path = root.join("lock");
    let file = open_lock_file(&path).map_err(|error| StoreError::io("create", &path, error))?;
    match wait_for_lock(PATIENCE, || file.try_lock()) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy { path }),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path, error)),
    }
}
