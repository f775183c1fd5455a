//! The folder of installed bundles.
//!
//! ```text
//! blobs/HEX        every document and component, under its digest; written once, never changed
//! installed.json   which bundles are installed; replaced as a whole
//! lock             held while something is changed
//! ```
//!
//! Installing first writes blobs, which have no effect yet, and then replaces `installed.json`,
//! which activates all of them. A process that is killed between two steps leaves the old set, and
//! blobs that [`BundleStore::collect`] removes. Bytes are hashed again each time they are read, so
//! that nothing can substitute others. Whether a bundle may be installed, or is still trusted, is
//! not checked here.

use crate::artifact::described;
use crate::bundle::{Bundle, BundleError, fetched};
use crate::digest::Digest;
use crate::envelope::{SIGSTORE, Signature, SignatureError};
use crate::index::{INDEX, OciDescriptor};
use crate::name::BundleName;
use portcullis_fs::{
    Links, ReadError, create_private_folder, open_file, open_lock_file, read_file, sync_folder,
};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The folder of all blobs.
const BLOBS: &str = "blobs";
/// The most bytes of [`BundleStore::LIST`].
const MOST_BYTES: u64 = 4 << 20;
/// The most bytes of a signature file.
const MOST_SIGNATURE: u64 = 2 << 20;

/// The folder of installed bundles.
#[derive(Debug)]
pub struct BundleStore {
    folder: PathBuf,
}

/// An installed bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledBundle {
    /// Its name; several versions may be installed side by side.
    pub name: BundleName,
    /// Its version.
    pub version: Version,
    /// Its index.
    pub index: OciDescriptor,
    /// The registry and repository that it came from; `None` for an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its signatures.
    pub signatures: Vec<OciDescriptor>,
}

/// The reasons why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleStoreError {
    /// A file in it cannot be used.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The list of installed bundles is damaged.
    #[error("`{}` is damaged ({what}); install the bundles again", path.display())]
    Damaged {
        /// The file's path.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// A bundle in it is damaged.
    #[error("the bundle `{name}`: {error}; install it again")]
    Bundle {
        /// Its name.
        name: String,
        /// The problem.
        error: Box<BundleError>,
    },
    /// A signature in it is invalid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    bundles: Vec<InstalledBundle>,
}

impl BundleStore {
    /// The file in the folder that lists the installed bundles; its bytes differ for different
    /// sets.
    pub const LIST: &str = "installed.json";

    /// Opens the folder, and creates it with access for its owner only if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn open_folder(folder: &Path) -> Result<Self, BundleStoreError> {
        let blobs = folder.join(BLOBS);
        create_private_folder(&blobs)
            .map_err(|error| BundleStoreError::File { path: blobs, error })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the installed bundles, sorted by name and version.
    ///
    /// # Errors
    /// Fails if the list of installed bundles cannot be read.
    pub fn installed(&self) -> Result<Vec<InstalledBundle>, BundleStoreError> {
        let path = self.folder.join(Self::LIST);
        let failed =
            |error: ReadError| BundleStoreError::File { path: path.clone(), error: error.into() };
        let Some(text) = read_file(&path, MOST_BYTES, Links::Follow).map_err(failed)? else {
            return Ok(Vec::new());
        };
        let document: Document = serde_json::from_slice(&text)
            .map_err(|error| BundleStoreError::Damaged { path, what: error.to_string() })?;
        Ok(document.bundles)
    }

    /// Installs a bundle in addition to the existing ones, atomically. Other versions stay until
    /// [`BundleStore::retain_bundles`], so that processes that run one of them keep it.
    ///
    /// # Errors
    /// Fails if something cannot be written; the previous state is then unchanged.
    pub fn install_bundle(
        &self,
        bundle: &Bundle,
        signatures: &[Signature],
        from: Option<String>,
    ) -> Result<(), BundleStoreError> {
        let _lock = self.lock()?;
        let mut all = self.installed()?;
        let index = described(INDEX, bundle.index().bytes(), BTreeMap::new());
        self.put(index.digest, bundle.index().bytes())?;
        for (digest, bytes) in bundle.blobs() {
            self.put(digest, bytes)?;
        }
        let mut signed = Vec::new();
        for signature in signatures {
            let descriptor = described(SIGSTORE, signature.file(), BTreeMap::new());
            self.put(descriptor.digest, signature.file())?;
            signed.push(descriptor);
        }
        let about = bundle.about();
        let new = InstalledBundle {
            name: about.name.clone(),
            version: about.version.clone(),
            index,
            from,
            signatures: signed,
        };
        all.retain(|other| other.index.digest != new.index.digest);
        all.push(new);
        all.sort_by(|a, b| {
            (&a.name, &a.version, a.index.digest).cmp(&(&b.name, &b.version, b.index.digest))
        });
        // The blobs must be durable before the list refers to them.
        self.settle(BLOBS)?;
        self.say(all)
    }

    /// Removes all bundles except the wanted ones, and returns them; their bytes are deleted by the
    /// next [`BundleStore::collect`].
    ///
    /// # Errors
    /// Fails if the list of installed bundles cannot be replaced.
    pub fn retain_bundles(
        &self,
        wanted: impl Fn(&InstalledBundle) -> bool,
    ) -> Result<Vec<InstalledBundle>, BundleStoreError> {
        let _lock = self.lock()?;
        let (kept, gone): (Vec<_>, Vec<_>) = self.installed()?.into_iter().partition(wanted);
        if !gone.is_empty() {
            self.say(kept)?;
        }
        Ok(gone)
    }

    /// Reads a bundle with its signatures; every byte is hashed.
    ///
    /// # Errors
    /// Fails if a part is missing or has changed.
    pub fn read_bundle(
        &self,
        installed: &InstalledBundle,
    ) -> Result<(Bundle, Vec<Signature>), BundleStoreError> {
        let wrong = |error| BundleStoreError::Bundle {
            name: installed.name.to_string(),
            error: Box::new(error),
        };
        let have = |wanted: &OciDescriptor| self.have(wanted);
        if installed.index.size > MOST_BYTES {
            return Err(wrong(BundleError::TooLarge(format!(
                "its index {} has {} bytes",
                installed.index.digest, installed.index.size
            ))));
        }
        let index = fetched(&installed.index, have).map_err(wrong)?;
        let bundle = Bundle::from_blobs(&index, have).map_err(wrong)?;
        let mut signatures = Vec::new();
        for wanted in &installed.signatures {
            if wanted.size > MOST_SIGNATURE {
                return Err(wrong(BundleError::TooLarge(format!(
                    "the signature {} has {} bytes",
                    wanted.digest, wanted.size
                ))));
            }
            signatures.push(Signature::parse_envelope(&fetched(wanted, have).map_err(wrong)?)?);
        }
        Ok((bundle, signatures))
    }

    /// Deletes blobs that belong to no installed bundle; returns their number.
    ///
    /// # Errors
    /// Fails if something cannot be read or deleted.
    pub fn collect(&self) -> Result<usize, BundleStoreError> {
        let _lock = self.lock()?;
        let mut used = BTreeSet::new();
        for installed in self.installed()? {
            let (bundle, _) = self.read_bundle(&installed)?;
            used.insert(installed.index.digest.hex());
            used.extend(installed.signatures.iter().map(|signature| signature.digest.hex()));
            used.extend(bundle.blobs().map(|(digest, _)| digest.hex()));
        }
        let folder = self.folder.join(BLOBS);
        let failed = |error| BundleStoreError::File { path: folder.clone(), error };
        let mut gone = 0;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_name().to_str().is_some_and(|name| used.contains(name)) {
                fs::remove_file(entry.path())
                    .map_err(|error| BundleStoreError::File { path: entry.path(), error })?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Returns the path of a blob of an installed bundle, which is not verified.
    #[must_use]
    pub fn blob_path(&self, digest: Digest) -> PathBuf {
        self.folder.join(BLOBS).join(digest.hex())
    }

    /// Reads the stated number of bytes, plus one to detect a longer file.
    fn have(&self, wanted: &OciDescriptor) -> Result<Vec<u8>, String> {
        let file = open_file(&self.blob_path(wanted.digest), Links::Follow)
            .map_err(|error| error.to_string())?;
        let open = file.ok_or("it is not there")?;
        let mut bytes = Vec::new();
        open.file
            .take(wanted.size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Writes bytes under their digest, unless they are already there.
    fn put(&self, digest: Digest, bytes: &[u8]) -> Result<(), BundleStoreError> {
        let path = self.blob_path(digest);
        // The name alone is not enough: a damaged blob is replaced.
        if fs::read(&path).is_ok_and(|found| found == bytes) {
            return Ok(());
        }
        portcullis_fs::replace_bytes(&path, 0o600, bytes)
            .map_err(|error| BundleStoreError::File { path, error })
    }

    fn say(&self, bundles: Vec<InstalledBundle>) -> Result<(), BundleStoreError> {
        let path = self.folder.join(Self::LIST);
        let failed = |error| BundleStoreError::File { path: path.clone(), error };
        let text = serde_json::to_vec_pretty(&Document { bundles })
            .map_err(|error| failed(error.into()))?;
        portcullis_fs::replace_bytes(&path, 0o600, &text).map_err(failed)?;
        self.settle("")
    }

    /// Syncs a folder, so that new names in it survive a crash of the machine.
    fn settle(&self, folder: &str) -> Result<(), BundleStoreError> {
        let path = self.folder.join(folder);
        sync_folder(&path).map_err(|error| BundleStoreError::File { path, error })
    }

    /// Takes the lock; it is released when dropped or when the process ends.
    fn lock(&self) -> Result<File, BundleStoreError> {
        let path = self.folder.join("lock");
        open_lock_file(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| BundleStoreError::File { path, error })
    }
}
