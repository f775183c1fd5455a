//! Small documents that outlive the journal: one JSON file each, in a folder of the state folder,
//! readable by the owner only.
//!
//! They are derived from the journal and are the only copy only after its records are pruned.

use anyhow::{Context, Result, bail};
use portcullis_fs::{Links, read_file};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;
const ENDING: &str = "json";

/// A folder of documents.
pub struct DocumentStore(PathBuf);

/// Everything in a document folder.
pub struct DocumentSet<T> {
    /// The readable documents, with their ids.
    pub good: Vec<(String, T)>,
    /// The files that cannot be read, each with the reason.
    pub damaged: Vec<String>,
}

impl DocumentStore {
    /// Returns the folder with that name in the state folder; it need not exist.
    pub fn in_state(state: &Path, name: &str) -> Self {
        Self(state.join(name))
    }

    /// Writes a document durably, replacing an older one.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if the id is not valid.
    pub fn put_document(&self, id: &str, document: &impl Serialize) -> Result<()> {
        let path = self.path(id)?;
        let write = || -> io::Result<()> {
            portcullis_fs::create_private_folder(&self.0)?;
            portcullis_fs::replace_bytes(
                &path,
                0o600,
                format!("{}\n", serde_json::to_string_pretty(document)?).as_bytes(),
            )
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Returns a document, or `None` if there is none.
    ///
    /// # Errors
    /// Fails if it cannot be read; the message names the file.
    pub fn get_document<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>> {
        let path = self.path(id)?;
        if path.exists() { read(&path).map(Some) } else { Ok(None) }
    }

    /// Returns all documents, in the order of their ids.
    ///
    /// # Errors
    /// Fails if the folder exists and cannot be read.
    pub fn read_all<T: DeserializeOwned>(&self) -> Result<DocumentSet<T>> {
        let mut contents = DocumentSet { good: Vec::new(), damaged: Vec::new() };
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(contents),
            entries => entries.with_context(|| format!("cannot read `{}`", self.0.display()))?,
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
            match read(&path) {
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
        Ok(self.0.join(format!("{id}.{ENDING}")))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let read = || -> Result<T> {
        let bytes = read_file(path, LARGEST, Links::Refuse)?.context("it was removed")?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    read().with_context(|| format!("`{}` cannot be read", path.display()))
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
