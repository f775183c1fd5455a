//! Backups of the settings files from before the installation, kept in the state folder, so that
//! `uninstall` can restore them byte for byte.
//!
//! Each file has one receipt, authenticated with a key of the home: foreign text in the folder is
//! never restored.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_fs::{
    Links, SealError, SealedDocument, create_private_folder, read_file, replace_bytes,
};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const FOLDER: &str = "backups";
const PURPOSE: &str = "portcullis 2026 settings backup";
/// The largest receipt, in bytes.
const MOST_RECEIPT: u64 = 1 << 20;
/// The largest copy, in bytes: far more than the settings that a client reads.
const MOST_COPY: u64 = 64 << 20;

/// The record of an installation in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupReceipt {
    /// The settings file.
    pub file: PathBuf,
    /// BLAKE3 of its content before; `None` if there was no file.
    pub before: Option<String>,
    /// BLAKE3 of the content that we wrote.
    pub after: String,
    /// Folders that were created for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// Containers that existed before and were empty: they stay.
    pub kept: Vec<String>,
    /// The program that our hooks in the file start; `None` for a file without any, and in receipts
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// The time, in milliseconds since 1970.
    pub at: u64,
}

/// Returns the BLAKE3 digest of bytes, as in receipts.
#[must_use]
pub fn hash_content(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Saves `before` and writes the receipt, replacing an earlier one for that file.
///
/// # Errors
/// Fails on a system error.
pub fn save_backup(home: &Home, receipt: &BackupReceipt, before: Option<&[u8]>) -> Result<PathBuf> {
    let copy = before.map(|bytes| (copy_path(home, &receipt.file), bytes));
    if let Some((path, bytes)) = &copy {
        let write = || -> std::io::Result<()> {
            create_private_folder(&home.path().join(FOLDER))?;
            replace_bytes(path, 0o600, bytes)
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let document = document(home, &receipt.file);
    document
        .write_content(receipt)
        .with_context(|| format!("cannot write `{}`", document.path().display()))?;
    Ok(copy.map_or(document.path().to_owned(), |(path, _)| path))
}

/// Returns the receipt for a settings file.
///
/// # Errors
/// Fails if there is one that this home did not write, or that cannot be read.
pub fn read_receipt(home: &Home, file: &Path) -> Result<Option<BackupReceipt>> {
    let document = document(home, file);
    let shown = document.path().display();
    match document.read_content::<BackupReceipt>() {
        // A receipt is only good for its own file, also if somebody copied it to another's place.
        Ok(Some(receipt)) if receipt.file == file => Ok(Some(receipt)),
        Ok(None) => Ok(None),
        Err(SealError::Io(error)) => Err(error).with_context(|| format!("cannot read `{shown}`")),
        Ok(Some(_)) | Err(_) => bail!(KnownFailure::Forged(format!(
            "`{shown}` was not written by this home: move it away, and only our hooks will be taken out"
        ))),
    }
}

/// Returns the receipts of all files. One that this home did not write is left out: nothing is
/// restored from it.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn list_receipts(home: &Home) -> Result<Vec<BackupReceipt>> {
    let folder = home.path().join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("cannot read `{}`", folder.display()))?,
    };
    let mut receipts = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read `{}`", folder.display()))?.path();
        if entry.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let document = SealedDocument::new(entry.clone(), home.derive_key(PURPOSE), MOST_RECEIPT);
        let read = document.read_content::<BackupReceipt>().ok().flatten();
        receipts.extend(read.filter(|receipt| path(home, &receipt.file, "json") == entry));
    }
    receipts.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(receipts)
}

/// Returns a settings file's content before the installation; `None` if there was no file.
///
/// # Errors
/// Fails if the copy is missing or was changed.
pub fn read_before(home: &Home, receipt: &BackupReceipt) -> Result<Option<Vec<u8>>> {
    let Some(expected) = &receipt.before else { return Ok(None) };
    let path = copy_path(home, &receipt.file);
    let read = || read_file(&path, MOST_COPY, Links::Refuse)?.context("it is gone");
    let bytes = read().with_context(|| format!("cannot read the backup `{}`", path.display()))?;
    if hash_content(&bytes) != *expected {
        bail!(KnownFailure::Forged(format!(
            "the backup `{}` was changed: it is not used",
            path.display()
        )));
    }
    Ok(Some(bytes))
}

/// Removes the receipt for a settings file, and its copy.
///
/// # Errors
/// Fails on a system error.
pub fn remove_backup(home: &Home, receipt: &BackupReceipt) -> Result<()> {
    for path in [copy_path(home, &receipt.file), path(home, &receipt.file, "json")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn document(home: &Home, file: &Path) -> SealedDocument {
    SealedDocument::new(path(home, file, "json"), home.derive_key(PURPOSE), MOST_RECEIPT)
}

fn copy_path(home: &Home, file: &Path) -> PathBuf {
    path(home, file, "before")
}

fn path(home: &Home, file: &Path, end: &str) -> PathBuf {
    let name = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    home.path().join(FOLDER).join(format!("{}.{end}", name.get(..32).unwrap_or(&name)))
}
