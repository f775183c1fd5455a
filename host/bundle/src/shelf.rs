//! Bundles that are installed, in a folder.
//!
//! ```text
//! blobs/HEX        every document and component, under its digest; written once, never changed
//! installed.json   which bundles are installed; replaced as a whole
//! lock             held by whoever changes something
//! ```
//!
//! To install is to write blobs, which mean nothing yet, and then to replace `installed.json`, which means all of it: a
//! process that ends between two steps leaves the old set, and blobs that [`Shelf::collect`] takes away. What is read is
//! hashed again each time, so that nothing on the way can put other bytes in. Whether a bundle may be installed, or is
//! still trusted, is not asked here.

use crate::artifact::described;
use crate::bundle::{Bundle, BundleError, fetched};
use crate::digest::Digest;
use crate::envelope::{SIGSTORE, Signature, SignatureError};
use crate::index::{Descriptor, INDEX};
use crate::name::Name;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of all bytes.
const BLOBS: &str = "blobs";
/// Bytes of [`Shelf::LIST`].
const MOST_BYTES: u64 = 4 << 20;
/// Bytes of a signature's file.
const MOST_SIGNATURE: u64 = 2 << 20;

/// The folder.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
}

/// A bundle that is installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// Its name; several versions may be there side by side.
    pub name: Name,
    /// Its version.
    pub version: Version,
    /// Its index.
    pub index: Descriptor,
    /// Where it is from; none for an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What was signed of it.
    pub signatures: Vec<Descriptor>,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// A file of it.
    #[error("`{}`: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// What it says is installed cannot be read.
    #[error("`{}` is damaged ({what}); install the bundles again", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A bundle in it.
    #[error("the bundle `{name}`: {error}; install it again")]
    Bundle {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: Box<BundleError>,
    },
    /// A signature in it.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    bundles: Vec<Installed>,
}

impl Shelf {
    /// The file in the folder that says what is installed: for another set it has other bytes.
    pub const LIST: &str = "installed.json";

    /// The folder, made for its owner alone where it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path) -> Result<Self, ShelfError> {
        let blobs = folder.join(BLOBS);
        DirBuilder::new().recursive(true).mode(0o700).create(&blobs).map_err(|error| ShelfError::File { path: blobs, error })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// What is installed, by name and version.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn installed(&self) -> Result<Vec<Installed>, ShelfError> {
        let path = self.folder.join(Self::LIST);
        let mut text = Vec::new();
        match opened(&path) {
            Ok(file) => file.take(MOST_BYTES).read_to_end(&mut text).map_err(|error| ShelfError::File { path: path.clone(), error })?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ShelfError::File { path, error }),
        };
        let document: Document = serde_json::from_slice(&text).map_err(|error| ShelfError::Damaged { path, what: error.to_string() })?;
        Ok(document.bundles)
    }

    /// Puts a bundle in beside what is there: all of it or nothing. Other versions stay until [`Shelf::keep`], so that
    /// whoever runs one of them is never left without.
    ///
    /// # Errors
    /// Something cannot be written; what was installed still is.
    pub fn install(&self, bundle: &Bundle, signatures: &[Signature], from: Option<String>) -> Result<(), ShelfError> {
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
        let new = Installed { name: about.name.clone(), version: about.version.clone(), index, from, signatures: signed };
        all.retain(|other| other.index.digest != new.index.digest);
        all.push(new);
        all.sort_by(|a, b| (&a.name, &a.version, a.index.digest).cmp(&(&b.name, &b.version, b.index.digest)));
        // The blobs are there for good before anything says so.
        self.settle(BLOBS)?;
        self.say(all)
    }

    /// Takes out all others than these, and says which; their bytes go with the next [`Shelf::collect`].
    ///
    /// # Errors
    /// The file that says what is installed cannot be replaced.
    pub fn keep(&self, wanted: impl Fn(&Installed) -> bool) -> Result<Vec<Installed>, ShelfError> {
        let _lock = self.lock()?;
        let (kept, gone): (Vec<_>, Vec<_>) = self.installed()?.into_iter().partition(wanted);
        if !gone.is_empty() {
            self.say(kept)?;
        }
        Ok(gone)
    }

    /// Reads a bundle with what was signed of it; every byte is hashed.
    ///
    /// # Errors
    /// Something of it is gone, or is not what it was.
    pub fn read(&self, installed: &Installed) -> Result<(Bundle, Vec<Signature>), ShelfError> {
        let wrong = |error| ShelfError::Bundle { name: installed.name.to_string(), error: Box::new(error) };
        let have = |wanted: &Descriptor| self.have(wanted);
        if installed.index.size > MOST_BYTES {
            return Err(wrong(BundleError::TooLarge(format!("its index {} has {} bytes", installed.index.digest, installed.index.size))));
        }
        let index = fetched(&installed.index, have).map_err(wrong)?;
        let bundle = Bundle::open(&index, have).map_err(wrong)?;
        let mut signatures = Vec::new();
        for wanted in &installed.signatures {
            if wanted.size > MOST_SIGNATURE {
                return Err(wrong(BundleError::TooLarge(format!("the signature {} has {} bytes", wanted.digest, wanted.size))));
            }
            signatures.push(Signature::read(&fetched(wanted, have).map_err(wrong)?)?);
        }
        Ok((bundle, signatures))
    }

    /// Deletes what no installed bundle has; how many files.
    ///
    /// # Errors
    /// Something cannot be read or deleted.
    pub fn collect(&self) -> Result<usize, ShelfError> {
        let _lock = self.lock()?;
        let mut used = BTreeSet::new();
        for installed in self.installed()? {
            let (bundle, _) = self.read(&installed)?;
            used.insert(installed.index.digest.hex());
            used.extend(installed.signatures.iter().map(|signature| signature.digest.hex()));
            used.extend(bundle.blobs().map(|(digest, _)| digest.hex()));
        }
        let folder = self.folder.join(BLOBS);
        let failed = |error| ShelfError::File { path: folder.clone(), error };
        let mut gone = 0;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_name().to_str().is_some_and(|name| used.contains(name)) {
                fs::remove_file(entry.path()).map_err(|error| ShelfError::File { path: entry.path(), error })?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Where the bytes of an installed bundle lie, whether they are still those or not.
    #[must_use]
    pub fn blob(&self, digest: Digest) -> PathBuf {
        self.folder.join(BLOBS).join(digest.hex())
    }

    /// As many bytes as are told, and one more to notice that there are others.
    fn have(&self, wanted: &Descriptor) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let file = opened(&self.blob(wanted.digest)).map_err(|error| error.to_string())?;
        file.take(wanted.size.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Writes bytes under their digest, unless they stand there already.
    fn put(&self, digest: Digest, bytes: &[u8]) -> Result<(), ShelfError> {
        let path = self.blob(digest);
        if fs::read(&path).is_ok_and(|found| found == bytes) {
            return Ok(());
        }
        replace(&path, bytes).map_err(|error| ShelfError::File { path, error })
    }

    fn say(&self, bundles: Vec<Installed>) -> Result<(), ShelfError> {
        let path = self.folder.join(Self::LIST);
        let failed = |error| ShelfError::File { path: path.clone(), error };
        let text = serde_json::to_vec_pretty(&Document { bundles }).map_err(|error| failed(error.into()))?;
        replace(&path, &text).map_err(failed)?;
        self.settle("")
    }

    /// New names in a folder outlive the machine's end.
    fn settle(&self, folder: &str) -> Result<(), ShelfError> {
        let path = self.folder.join(folder);
        File::open(&path).and_then(|folder| folder.sync_all()).map_err(|error| ShelfError::File { path, error })
    }

    /// Held until it is dropped, and by the system until its process ends.
    fn lock(&self) -> Result<File, ShelfError> {
        let path = self.folder.join("lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        opened.and_then(|file| file.lock().map(|()| file)).map_err(|error| ShelfError::File { path, error })
    }
}

/// A file, and no pipe that would wait for its other side.
fn opened(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("it is not a file")) }
}

/// Whoever reads the file meanwhile, or after a crash, has the old one or the new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension(format!("{}.draft", std::process::id()));
    let put = || {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    put().inspect_err(|_| drop(fs::remove_file(&draft)))
}
