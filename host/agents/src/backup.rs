//! Backups of the settings files from before the installation, kept in the state folder, so that
//! `uninstall` can restore them byte for byte.
//!
//! Each file has one receipt, authenticated with a key of the home: foreign text in the folder is
//! never restored.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const FOLDER: &str = "backups";
const PURPOSE: &str = "portcullis 2026 settings backup";

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
    /// The time, in milliseconds since 1970.
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    receipt: BackupReceipt,
    code: String,
}

/// Returns the BLAKE3 digest of bytes, as in receipts.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Saves `before` and writes the receipt, replacing an earlier one for that file.
///
/// # Errors
/// Fails on a system error.
pub fn save_backup(home: &Home, receipt: &BackupReceipt, before: Option<&[u8]>) -> Result<PathBuf> {
    let folder = home.path().join(FOLDER);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot make `{}`", folder.display()))?;
    let copy = before.map(|bytes| (copy_path(home, &receipt.file), bytes));
    if let Some((path, bytes)) = &copy {
        write(path, bytes)?;
    }
    let code = seal(home, receipt)?;
    let path = receipt_path(home, &receipt.file);
    write(
        &path,
        serde_json::to_string_pretty(&Sealed { receipt: receipt.clone(), code })?.as_bytes(),
    )?;
    Ok(copy.map_or(path, |(path, _)| path))
}

/// Returns the receipt for a settings file.
///
/// # Errors
/// Fails if there is one that this home did not write, or that cannot be read.
pub fn receipt(home: &Home, file: &Path) -> Result<Option<BackupReceipt>> {
    let path = receipt_path(home, file);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
        }
    };
    let sealed: Option<Sealed> = serde_json::from_str(&text).ok();
    match sealed {
        Some(sealed)
            if sealed.receipt.file == file && same(&sealed.code, &seal(home, &sealed.receipt)?) =>
        {
            Ok(Some(sealed.receipt))
        }
        _ => bail!(KnownFailure::Forged(format!(
            "`{}` was not written by this home: move it away, and only our hooks will be taken out",
            path.display()
        ))),
    }
}

/// Returns a settings file's content before the installation; `None` if there was no file.
///
/// # Errors
/// Fails if the copy is missing or was changed.
pub fn before(home: &Home, receipt: &BackupReceipt) -> Result<Option<Vec<u8>>> {
    let Some(expected) = &receipt.before else { return Ok(None) };
    let path = copy_path(home, &receipt.file);
    let bytes =
        fs::read(&path).with_context(|| format!("cannot read the backup `{}`", path.display()))?;
    if digest(&bytes) != *expected {
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
    for path in [copy_path(home, &receipt.file), receipt_path(home, &receipt.file)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn receipt_path(home: &Home, file: &Path) -> PathBuf {
    path(home, file, "json")
}

fn copy_path(home: &Home, file: &Path) -> PathBuf {
    path(home, file, "before")
}

fn path(home: &Home, file: &Path, end: &str) -> PathBuf {
    let name = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    home.path().join(FOLDER).join(format!("{}.{end}", name.get(..32).unwrap_or(&name)))
}

fn seal(home: &Home, receipt: &BackupReceipt) -> Result<String> {
    let text = serde_json::to_vec(receipt)?;
    Ok(blake3::keyed_hash(&home.derive_key(PURPOSE), &text).to_hex().to_string())
}

/// Compares two digests in constant time.
fn same(left: &str, right: &str) -> bool {
    matches!((blake3::Hash::from_hex(left), blake3::Hash::from_hex(right)), (Ok(left), Ok(right)) if left == right)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    portcullis_fs::replace_bytes(path, 0o600, bytes)
        .with_context(|| format!("cannot write `{}`", path.display()))
}
