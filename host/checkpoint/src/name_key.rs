//! The key that hides digests in the index and in the names of roots.

use crate::error::CheckpointError;
use crate::node::ContentDigest;
use crate::sealed::VaultDir;
use crate::stored_name::random_bytes;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The folder of the index, which the key belongs to.
pub(crate) const INDEX: &str = "index";
const FILE: &str = "key";

/// Hides digests that have to be found again without decrypting anything: whoever lacks the key can
/// neither read one nor try a guess. Each collection replaces the key. In a plain vault there is none,
/// and digests stand as they are.
///
/// Like all of the index it is a hint: without it contents are stored again, and trees are read again.
#[derive(Clone, Debug)]
pub(crate) struct NameKey(Option<[u8; 32]>);

impl NameKey {
    /// That of a plain vault.
    pub(crate) const PLAIN: Self = Self(None);

    /// Reads it; none if it has to be made, and the index with it.
    ///
    /// # Errors
    /// Fails if its own key is not available.
    pub(crate) fn read(dir: &VaultDir) -> Result<Option<Self>> {
        match dir.read(&path(dir)) {
            Ok(Some(key)) => Ok(Some(Self(Some(key)))),
            Ok(None) => Ok((!dir.encrypts()?).then_some(Self::PLAIN)),
            Err(error) if error.unreadable().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes one, in place of one that cannot be read. The index has to be forgotten before.
    pub(crate) fn make(dir: &VaultDir, at: u64) -> Result<Self> {
        dir.remove(&path(dir))?;
        if !dir.encrypts()? {
            return Ok(Self::PLAIN);
        }
        dir.write(&path(dir), &new_key(dir)?, false, at)?;
        // Another process may have been faster.
        Ok(Self::read(dir)?.unwrap_or(Self::PLAIN))
    }

    /// Replaces it. The index has to be forgotten before.
    pub(crate) fn renew(dir: &VaultDir, at: u64) -> Result<Self> {
        if !dir.encrypts()? {
            dir.remove(&path(dir))?;
            return Ok(Self::PLAIN);
        }
        let key = new_key(dir)?;
        dir.write(&path(dir), &key, true, at)?;
        Ok(Self(Some(key)))
    }

    /// Returns true if digests are hidden.
    pub(crate) const fn hides(&self) -> bool {
        self.0.is_some()
    }

    /// Returns a digest as the index holds it.
    pub(crate) fn hide(&self, digest: &ContentDigest) -> ContentDigest {
        match &self.0 {
            Some(key) => ContentDigest(*blake3::keyed_hash(key, &digest.0).as_bytes()),
            None => *digest,
        }
    }

    /// Returns the name of the file that remembers a root.
    pub(crate) fn of_root(&self, root: &Path) -> String {
        let path = root.as_os_str().as_encoded_bytes();
        match &self.0 {
            // A root is no content: its name must not be the entry of one in the index.
            Some(key) => blake3::keyed_hash(key, &[b"root\0", path].concat()).to_string(),
            None => ContentDigest::of_bytes(path).to_string(),
        }
    }
}

fn path(dir: &VaultDir) -> PathBuf {
    dir.folder.join(INDEX).join(FILE)
}

fn new_key(dir: &VaultDir) -> Result<[u8; 32]> {
    random_bytes().map_err(CheckpointError::io("write", path(dir)))
}
