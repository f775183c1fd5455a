//! The checkpoints whose action has not ended yet: one small file each, in one folder a session,
//! next to the vault.
//!
//! The vault knows neither sessions nor agents, and reading all of it would slow down every hook. A
//! checkpoint that is forgotten here stays in the vault as one that was never settled.

use portcullis_checkpoint::Id;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder in the state folder.
const FOLDER: &str = "unsettled";
/// Marks that the person was notified of a problem in this session. No id begins with a dot.
const NOTIFIED: &str = ".told";

/// The checkpoints of a session whose actions have not ended.
pub(super) struct OpenCheckpoints {
    folder: PathBuf,
}

/// One of them.
pub(super) struct OpenCheckpoint {
    /// The checkpoint.
    pub id: Id,
    /// The owner of its action.
    pub of: Owner,
}

/// The agent and the call that an action belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The subagent; none for the main agent.
    pub agent: Option<String>,
    /// The client's id of the call, if it has one.
    pub call: Option<String>,
}

impl OpenCheckpoints {
    /// Returns the checkpoints of a session.
    pub(super) fn of(state: &Path, session: &str) -> Self {
        let name: String = blake3::hash(session.as_bytes()).to_hex().chars().take(16).collect();
        Self { folder: state.join(FOLDER).join(name) }
    }

    /// Adds a checkpoint.
    pub(super) fn add(&self, id: &Id, of: &Owner) -> io::Result<()> {
        self.write(id.as_str(), serde_json::to_string(of)?.as_bytes())
    }

    /// Returns all checkpoints by id; unreadable ones are skipped.
    pub(super) fn all(&self) -> Vec<OpenCheckpoint> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let read = |path: PathBuf| {
            let id = Id::new(path.file_name()?.to_str()?).ok()?;
            Some(OpenCheckpoint { id, of: serde_json::from_slice(&fs::read(&path).ok()?).ok()? })
        };
        let mut found: Vec<OpenCheckpoint> =
            entries.filter_map(|entry| read(entry.ok()?.path())).collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    /// Removes a checkpoint.
    pub(super) fn remove(&self, id: &Id) {
        // A checkpoint that remains is settled once more, which changes nothing.
        let _ = fs::remove_file(self.folder.join(id.as_str()));
    }

    /// Returns true if the person should be notified of a problem: once a session, or each time if
    /// that cannot be recorded.
    pub(super) fn tells(&self) -> bool {
        let first = !self.folder.join(NOTIFIED).exists();
        if first {
            let _ = self.write(NOTIFIED, b"");
        }
        first
    }

    /// Removes the session's folder.
    pub(super) fn end(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        portcullis_fs::create_private_folder(&self.folder)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.folder.join(name))?
            .write_all(bytes)
    }
}

/// Removes sessions without activity for that long.
pub fn sweep_older(state: &Path, older: Duration) -> io::Result<()> {
    let entries = match fs::read_dir(state.join(FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let age =
            SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default();
        if age > older {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
