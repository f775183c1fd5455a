//! Small documents that outlive the journal: one file each, in a folder of the state folder, readable
//! by the owner only. A file holds JSON, encrypted with the key of its day; files of earlier versions
//! hold it as plain text.
//!
//! They are derived from the journal and are the only copy only after its records are pruned.

use anyhow::{Context, Result, bail};
use portcullis_config::clock::now_ms;
use portcullis_encryption::{DataKeys, DataKind, Day, decode_text, encode_text};
use portcullis_fs::{Links, read_file};
use portcullis_store::Home;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;
const ENDING: &str = "json";
/// The kind of keys that encrypt documents.
pub const KIND: DataKind = DataKind::Incidents;

/// A folder of documents.
pub struct DocumentStore {
    folder: PathBuf,
    keys: DataKeys,
    name: &'static str,
}

/// Everything in a document folder.
pub struct DocumentSet<T> {
    /// The readable documents, with their ids.
    pub good: Vec<(String, T)>,
    /// The files that cannot be read, each with the reason.
    pub damaged: Vec<String>,
}

impl DocumentStore {
    /// Returns the folder with that name in the home; it need not exist.
    pub fn in_home(home: &Home, name: &'static str) -> Self {
        Self { folder: home.path().join(name), keys: home.data_keys().clone(), name }
    }

    /// Writes a document durably, replacing an older one. It gets a key of today, which nobody
    /// destroys meanwhile.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if the id is not valid.
    pub fn put_document(&self, id: &str, document: &impl Serialize) -> Result<()> {
        let path = self.path(id)?;
        let write = || -> Result<()> {
            let plain = format!("{}\n", serde_json::to_string_pretty(document)?);
            let sealed = self.keys.encrypt(KIND, now_ms(), &[self.name, id], plain.as_bytes())?;
            let text = sealed.map_or(plain, |sealed| encode_text(&sealed) + "\n");
            portcullis_fs::create_private_folder(&self.folder)?;
            Ok(portcullis_fs::replace_bytes(&path, 0o600, text.as_bytes())?)
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Returns a document, or `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read; the message names the file.
    pub fn get_document<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>> {
        let path = self.path(id)?;
        if path.exists() { self.read(id, &path).map(Some) } else { Ok(None) }
    }

    /// Returns all documents, in the order of their ids.
    ///
    /// # Errors
    /// Fails if the folder exists and cannot be read.
    pub fn read_all<T: DeserializeOwned>(&self) -> Result<DocumentSet<T>> {
        let mut contents = DocumentSet { good: Vec::new(), damaged: Vec::new() };
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(contents),
            entries => {
                entries.with_context(|| format!("cannot read `{}`", self.folder.display()))?
            }
        };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        for path in paths {
            let id = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            match self.read(&id, &path) {
                Ok(document) => contents.good.push((id, document)),
                Err(error) => contents.damaged.push(format!("{error:#}")),
            }
        }
        Ok(contents)
    }

    /// Removes a document. A missing document is not an error.
    ///
    /// # Errors
    /// Fails if it cannot be removed.
    pub fn remove_document(&self, id: &str) -> Result<()> {
        let path = self.path(id)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| format!("cannot remove `{}`", path.display())),
        }
    }

    fn path(&self, id: &str) -> Result<PathBuf> {
        if id.is_empty()
            || id.len() > 64
            || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            bail!("`{}` is not a valid id", portcullis_core::text::one_line(id, 64));
        }
        Ok(self.folder.join(format!("{id}.{ENDING}")))
    }

    fn read<T: DeserializeOwned>(&self, id: &str, path: &Path) -> Result<T> {
        let read = || -> Result<T> {
            let mut bytes = read_file(path, LARGEST, Links::Refuse)?.context("it was removed")?;
            if let Some(sealed) = sealed_bytes(&bytes) {
                bytes = self.keys.decrypt(KIND, &[self.name, id], sealed)?;
            }
            Ok(serde_json::from_slice(&bytes)?)
        };
        read().with_context(|| format!("`{}` cannot be read", path.display()))
    }
}

/// Returns the encrypted bytes of a file; `None` if it is plain.
fn sealed_bytes(file: &[u8]) -> Option<Vec<u8>> {
    decode_text(std::str::from_utf8(file).ok()?.trim_end())
}

/// Destroys the keys of days whose documents were all removed; returns the number of keys.
///
/// # Errors
/// Fails if a folder cannot be read, or a key cannot be destroyed.
pub fn destroy_due_keys(home: &Home, folders: &[&str], now: u64) -> Result<u64> {
    let limit = Day::of_time(now).minus_days(1);
    if home.data_keys().keys_before(KIND, limit)?.is_empty() {
        return Ok(0);
    }
    let mut needed = BTreeSet::new();
    for folder in folders {
        let folder = home.path().join(folder);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.with_context(|| format!("cannot read `{}`", folder.display()))?,
        };
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read `{}`", folder.display()))?.path();
            // A key is needed as long as anything in a file may be a text of it, so each file is read.
            let read = read_file(&path, LARGEST, Links::Refuse);
            let read = read.with_context(|| format!("cannot read `{}`", path.display()))?;
            let Some(bytes) = read else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let texts = text.split(['"', '\n']).filter_map(decode_text);
            needed.extend(texts.filter_map(|sealed| DataKeys::key_of(&sealed)));
        }
    }
    Ok(home.data_keys().destroy_all_keys(KIND, limit, &needed)?.count)
}

/// Returns the time until which something from `at` is kept, in milliseconds since 1970; `None`,
/// for 0 days, means forever.
pub fn expiry_time(at: u64, days: u32) -> Option<u64> {
    (days > 0).then(|| at.saturating_add(u64::from(days).saturating_mul(24 * 60 * 60 * 1000)))
}

/// Returns true if something from `at` is older than its retention.
pub fn is_past(at: u64, days: u32, now: u64) -> bool {
    expiry_time(at, days).is_some_and(|until| until < now)
}
