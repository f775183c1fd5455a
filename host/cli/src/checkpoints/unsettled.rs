//! Which checkpoints wait for the end of their action: a small file each, in a folder a session, beside the vault.
//!
//! The vault knows neither sessions nor agents, and reading all that it holds would cost every hook. What is
//! forgotten here stays in the vault, as one that was never settled.

use portcullis_checkpoint::Id;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder in our state.
const FOLDER: &str = "unsettled";
/// Says that the person was told of a problem in this session. No id begins with a point.
const TOLD: &str = ".told";

/// The checkpoints of a session whose actions did not end.
pub struct Unsettled {
    folder: PathBuf,
}

/// One of them.
pub struct Waiting {
    /// The checkpoint.
    pub id: Id,
    /// Whose action it is.
    pub of: Owner,
}

/// Whose action a checkpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The subagent; none for the main agent.
    pub agent: Option<String>,
    /// The client's id of the call, where it has one.
    pub call: Option<String>,
}

impl Unsettled {
    /// Those of a session.
    pub fn of(state: &Path, session: &str) -> Self {
        let name: String = blake3::hash(session.as_bytes()).to_hex().chars().take(16).collect();
        Self { folder: state.join(FOLDER).join(name) }
    }

    /// Writes one down.
    pub fn add(&self, id: &Id, of: &Owner) -> io::Result<()> {
        self.write(id.as_str(), serde_json::to_string(of)?.as_bytes())
    }

    /// All of them, by id. What cannot be read is not there.
    pub fn all(&self) -> Vec<Waiting> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let read = |path: PathBuf| {
            let id = Id::new(path.file_name()?.to_str()?).ok()?;
            Some(Waiting { id, of: serde_json::from_slice(&fs::read(&path).ok()?).ok()? })
        };
        let mut found: Vec<Waiting> = entries.filter_map(|entry| read(entry.ok()?.path())).collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    /// Forgets one.
    pub fn remove(&self, id: &Id) {
        // One that stays is settled once more, which changes nothing.
        let _ = fs::remove_file(self.folder.join(id.as_str()));
    }

    /// Whether the person is to be told of a problem: yes, once a session; each time where that cannot be remembered.
    pub fn tells(&self) -> bool {
        let first = !self.folder.join(TOLD).exists();
        if first {
            let _ = self.write(TOLD, b"");
        }
        first
    }

    /// Forgets the session.
    pub fn end(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.folder.join(name))?.write_all(bytes)
    }
}

/// Forgets sessions in which nothing happened for so long.
pub fn sweep(state: &Path, older: Duration) -> io::Result<()> {
    let entries = match fs::read_dir(state.join(FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let age = SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default();
        if age > older {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
