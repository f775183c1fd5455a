//! What a settings file held before us, kept in our state folder, so that `uninstall` can give it back to
//! the byte.
//!
//! One receipt for each file, under a key of the home: text that somebody else put there is given back to
//! nobody.

use anyhow::{Context, Result, bail};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "backups";
const PURPOSE: &str = "portcullis 2026 settings backup";

/// What is known of an installation in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The settings file.
    pub file: PathBuf,
    /// BLAKE3 of what it held before; none when there was no file.
    pub before: Option<String>,
    /// BLAKE3 of what we wrote.
    pub after: String,
    /// Folders that we made for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// Containers that were there before, empty: they stay.
    pub kept: Vec<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    receipt: Receipt,
    code: String,
}

/// BLAKE3 of bytes, as a receipt names them.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Keeps `before` and writes the receipt, in place of any earlier one for that file.
///
/// # Errors
/// The system refuses.
pub fn keep(home: &Home, receipt: &Receipt, before: Option<&[u8]>) -> Result<PathBuf> {
    let folder = home.path().join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let copy = before.map(|bytes| (copy_path(home, &receipt.file), bytes));
    if let Some((path, bytes)) = &copy {
        write(path, bytes)?;
    }
    let code = seal(home, receipt)?;
    let path = receipt_path(home, &receipt.file);
    write(&path, serde_json::to_string_pretty(&Sealed { receipt: receipt.clone(), code })?.as_bytes())?;
    Ok(copy.map_or(path, |(path, _)| path))
}

/// The receipt for a settings file.
///
/// # Errors
/// There is one that this home did not write, or it cannot be read.
pub fn receipt(home: &Home, file: &Path) -> Result<Option<Receipt>> {
    let path = receipt_path(home, file);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    };
    let sealed: Option<Sealed> = serde_json::from_str(&text).ok();
    match sealed {
        Some(sealed) if sealed.receipt.file == file && same(&sealed.code, &seal(home, &sealed.receipt)?) => Ok(Some(sealed.receipt)),
        _ => bail!("`{}` was not written by this home: move it away, and only our hooks will be taken out", path.display()),
    }
}

/// What a settings file held before us; none when there was no file.
///
/// # Errors
/// The copy is gone or was changed.
pub fn before(home: &Home, receipt: &Receipt) -> Result<Option<Vec<u8>>> {
    let Some(told) = &receipt.before else { return Ok(None) };
    let path = copy_path(home, &receipt.file);
    let bytes = fs::read(&path).with_context(|| format!("cannot read the backup `{}`", path.display()))?;
    if digest(&bytes) != *told {
        bail!("the backup `{}` was changed: it is not used", path.display());
    }
    Ok(Some(bytes))
}

/// Removes the receipt for a settings file, and the copy that it names.
///
/// # Errors
/// The system refuses.
pub fn forget(home: &Home, receipt: &Receipt) -> Result<()> {
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

fn seal(home: &Home, receipt: &Receipt) -> Result<String> {
    let text = serde_json::to_vec(receipt)?;
    Ok(blake3::keyed_hash(&home.derive_key(PURPOSE), &text).to_hex().to_string())
}

/// Takes the same time wherever the two differ.
fn same(told: &str, right: &str) -> bool {
    matches!((blake3::Hash::from_hex(told), blake3::Hash::from_hex(right)), (Ok(told), Ok(right)) if told == right)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let draft = path.with_added_extension(format!("new-{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    let written = write();
    if written.is_err() {
        // What could not be made need not be removed.
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("cannot write `{}`", path.display()))
}
