//! Small documents that outlive the journal: a JSON file each, in a folder of our state, for its owner alone.
//!
//! The journal is where they come from; nothing here is the only place of anything until its records are pruned.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;
const ENDING: &str = "json";

/// A folder of them.
pub struct Shelf(PathBuf);

/// All that stands on a shelf.
pub struct Contents<T> {
    /// What can be read, with its id.
    pub good: Vec<(String, T)>,
    /// What cannot: the file and why.
    pub damaged: Vec<String>,
}

impl Shelf {
    /// The folder of that name in our state; it need not exist.
    pub fn of(state: &Path, name: &str) -> Self {
        Self(state.join(name))
    }

    /// Puts a document there, in place of an older one, so that it survives the machine's death.
    ///
    /// # Errors
    /// The file cannot be written, or the id is none.
    pub fn put(&self, id: &str, document: &impl Serialize) -> Result<()> {
        let path = self.path(id)?;
        let write = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let temporary = self.0.join(format!(".{id}.{}", std::process::id()));
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            let written =
                file.write_all(format!("{}\n", serde_json::to_string_pretty(document)?).as_bytes()).and_then(|()| file.sync_all());
            written.and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
            File::open(&self.0)?.sync_all()
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// A document; none where there is none.
    ///
    /// # Errors
    /// It cannot be read; the message names the file.
    pub fn get<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>> {
        let path = self.path(id)?;
        if path.exists() { read(&path).map(Some) } else { Ok(None) }
    }

    /// Everything, in the order of the ids.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn all<T: DeserializeOwned>(&self) -> Result<Contents<T>> {
        let mut contents = Contents { good: Vec::new(), damaged: Vec::new() };
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(contents),
            entries => entries.with_context(|| format!("cannot read `{}`", self.0.display()))?,
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        for path in paths {
            let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            match read(&path) {
                Ok(document) => contents.good.push((id, document)),
                Err(error) => contents.damaged.push(format!("{error:#}")),
            }
        }
        Ok(contents)
    }

    /// Takes a document away; it is no error where there is none.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, id: &str) -> Result<()> {
        let path = self.path(id)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| format!("cannot remove `{}`", path.display())),
        }
    }

    fn path(&self, id: &str) -> Result<PathBuf> {
        if id.is_empty() || id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            bail!("`{}` is no id", portcullis_core::text::one_line(id, 64));
        }
        Ok(self.0.join(format!("{id}.{ENDING}")))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let read = || -> Result<T> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_file() || found.len() > LARGEST {
            bail!("it is no file, or too large");
        }
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    };
    read().with_context(|| format!("`{}` cannot be read", path.display()))
}

/// Until when something of that time is kept, in milliseconds since 1970; none for ever, which 0 days stand for.
pub fn until(at: u64, days: u32) -> Option<u64> {
    (days > 0).then(|| at.saturating_add(u64::from(days).saturating_mul(24 * 60 * 60 * 1000)))
}

/// Whether something of that time is past its days.
pub fn is_past(at: u64, days: u32, now: u64) -> bool {
    until(at, days).is_some_and(|until| until < now)
}
